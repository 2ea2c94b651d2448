// Compiled, not run: the types of the subpaths that CommonJS can load, with library checks on.
import { ApiError, type Client, createClient } from 'animal-adoption-store/client'
import { type Judge, judge } from 'animal-adoption-store/judge'
import { createTestDouble, type TestDouble } from 'animal-adoption-store/test-double'

const double: TestDouble = createTestDouble({ clock: 'running' })
const client: Client = createClient({
  baseUrl: double.baseUrl,
  apiKey: 'demo-free',
  fetch: double.fetch,
})
const judged: Judge = judge({ fetch: double.fetch, baseUrl: double.baseUrl })
export const seen = [client, judged.report(), ApiError, double.clock.now().toFixed()]
