import { listen } from '../../../dist/adapters/http/index.js'
import { memoryStorage } from '../../../dist/adapters/memory.js'
import { postgresStorage } from '../../../dist/adapters/postgres/index.js'
import { redisRateLimits } from '../../../dist/adapters/redis/index.js'
import { createStore } from '../../../dist/src/index.js'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'

/** The package over the engines that are given; '' leaves animals, or counters, in memory. */
export async function serve(postgresUrl, redisUrl) {
  const first = { pets: animals(1_000), nextId: 1_001 }
  const storage = postgresUrl ? await postgresStorage({ url: postgresUrl }) : memoryStorage(first)
  if (postgresUrl) await storage.seed(first)
  const rateLimits = redisUrl ? await redisRateLimits({ url: redisUrl }) : undefined
  const apiKeys = { [API_KEY]: { id: 'bench', plan: 'enterprise', limits: LIMITS } }
  const { port } = await listen(createStore({ storage, rateLimits, apiKeys }), { port: 0 })
  return port
}
