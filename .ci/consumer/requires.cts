// Compiled, not run: the types of `require`, with library checks on.
import { createStore, OptionError, type Store } from 'animal-adoption-store'
import { ApiError, type Client, createClient } from 'animal-adoption-store/client'
import { type HttpServer, listen } from 'animal-adoption-store/http'
import { type JsonFileStorage, jsonFileStorage } from 'animal-adoption-store/json-file'
import { type Judge, judge } from 'animal-adoption-store/judge'
import { memoryStorage } from 'animal-adoption-store/memory'
import { createTestDouble, type TestDouble } from 'animal-adoption-store/test-double'

const double: TestDouble = createTestDouble({ time: 'running' })
const client: Client = createClient({
  baseUrl: double.baseUrl,
  apiKey: 'demo-free',
  fetch: double.fetch,
})
const judged: Judge = judge({ fetch: double.fetch, baseUrl: double.baseUrl })
const storage: JsonFileStorage = jsonFileStorage('pets.json')
const store: Store = createStore({ storage, apiKeys: {} })
const served: Promise<HttpServer> = listen(createStore({ storage: memoryStorage(), apiKeys: {} }))
export const caught = (error: unknown) =>
  error instanceof ApiError ? error.code : error instanceof OptionError && error.option
export const seen = [client, judged.report(), store, served, double.clock().toFixed()]
