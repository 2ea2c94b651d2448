import { listen } from '../../../dist/adapters/http/index.js'
import { redisRateLimits } from '../../../dist/adapters/redis/index.js'
import { memoryStorage } from '../../../dist/adapters/stores/memory.js'
import { postgresStorage } from '../../../dist/adapters/stores/postgres/index.js'
import { sqliteRateLimits, sqliteStorage } from '../../../dist/adapters/stores/sqlite/index.js'
import { createStore } from '../../../dist/src/index.js'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'

/**
 * The package over the engines that are given; '' leaves animals, or counters, in memory. A SQLite
 * file has both.
 */
export async function serve(postgresUrl, redisUrl, file) {
  const storage = await openStorage(postgresUrl, file)
  const rateLimits = await openLimits(redisUrl, file)
  const apiKeys = { [API_KEY]: { id: 'bench', plan: 'enterprise', limits: LIMITS } }
  const { port } = await listen(createStore({ storage, rateLimits, apiKeys }), { port: 0 })
  return port
}

async function openStorage(postgresUrl, file) {
  const first = { pets: animals(1_000), nextId: 1_001 }
  if (!postgresUrl && !file) return memoryStorage(first)
  const storage = await (postgresUrl ? postgresStorage({ url: postgresUrl }) : sqliteStorage(file))
  await storage.seed(first)
  return storage
}

async function openLimits(redisUrl, file) {
  if (redisUrl) return redisRateLimits({ url: redisUrl })
  return file ? sqliteRateLimits(`${file}-limits`) : undefined
}
