// Compiled, not run: the types of the two subpaths that CommonJS can load, with library checks on.
import { ApiError, type Client, createClient } from 'animal-adoption-store/client'
import { createTestDouble, type TestDouble } from 'animal-adoption-store/test-double'

const double: TestDouble = createTestDouble({ clock: 'running' })
const client: Client = createClient({
  baseUrl: double.baseUrl,
  apiKey: 'demo-free',
  fetch: double.fetch,
})
export const seen = [client, ApiError, double.clock.now().toFixed()]
