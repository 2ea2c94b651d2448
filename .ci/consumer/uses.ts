// Compiled, not run: the published types as a NodeNext user sees them, with library checks on.
import type { test as nodeTest } from 'node:test'
import { ApiError, createStore, type Pet, type Pets, type StoreEvents } from 'animal-adoption-store'
import { createClient } from 'animal-adoption-store/client'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { listen } from 'animal-adoption-store/http'
import { indexedDbRateLimitStore, indexedDbStorage } from 'animal-adoption-store/indexeddb'
import { jsonFileStorage } from 'animal-adoption-store/json-file'
import { type JudgeReport, judge } from 'animal-adoption-store/judge'
import { memoryStorage } from 'animal-adoption-store/memory'
import { postgresStorage } from 'animal-adoption-store/postgres'
import { redisRateLimitStore } from 'animal-adoption-store/redis'
import { createTestDouble } from 'animal-adoption-store/test-double'
import { type CheckResult, verify, verifySuite } from 'animal-adoption-store/verify'

const store = createStore({
  storage: memoryStorage(),
  apiKeys: { secret: { id: 'me', plan: 'pro' } },
})
const inProcess: Pets = store
const remote: Pets = createClient({ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'secret' })
const pet: Pet = await inProcess.createPet({ name: 'Ada', categoryId: 2n ** 62n, status: 'sold' })
const categoryId: number | bigint = pet.categoryId
store.events.on('key.banned', (event: StoreEvents['key.banned']) => event.bannedUntil.toFixed())
const server = await listen(store, { port: 0 })
const answer: Response = await toFetchHandler(store)(new Request(server.url))
await using double = createTestDouble()
export const seen = [remote, categoryId, answer, jsonFileStorage, double, ApiError]
export const verified = async (): Promise<readonly CheckResult[]> => {
  const report = await verify({ baseUrl: server.url, apiKey: 'secret', only: ['auth'] })
  return report.results
}
export const register = (test: typeof nodeTest) =>
  verifySuite(test, { baseUrl: server.url, apiKey: 'secret' })
export const judged = (): JudgeReport => judge({ fetch, baseUrl: server.url }).report()
export const overEngines = () =>
  createStore({
    storage: postgresStorage({ url: 'postgres://127.0.0.1/adoption' }),
    rateLimitStore: redisRateLimitStore({ url: 'redis://127.0.0.1' }),
    apiKeys: {},
  })
export const inBrowser = () =>
  createStore({
    storage: indexedDbStorage('adoption'),
    rateLimitStore: indexedDbRateLimitStore('adoption'),
    apiKeys: {},
  })
