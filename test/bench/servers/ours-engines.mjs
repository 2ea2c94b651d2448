import { listen } from '../../../dist/adapters/http/index.js'
import { redisRateLimitStore } from '../../../dist/adapters/redis/index.js'
import { postgresStorage } from '../../../dist/adapters/stores/postgres/index.js'
import { createStore } from '../../../dist/src/index.js'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'

export async function serve(postgresUrl, redisUrl) {
  const storage = postgresStorage({ url: postgresUrl })
  await storage.restoreIfNew({ pets: animals(1_000), nextId: 1_001 })
  const rateLimitStore = redisRateLimitStore({ url: redisUrl })
  await rateLimitStore.ready()
  const apiKeys = { [API_KEY]: { id: 'bench', plan: 'enterprise', limits: LIMITS } }
  const options = { pagination: true, idempotency: { ttl: '24h' } }
  const store = createStore({ storage, rateLimitStore, apiKeys, ...options })
  return (await listen(store, { port: 0 })).port
}
