import { listen } from '../../adapters/http/index.js'
import { redisRateLimitStore } from '../../adapters/redis/index.js'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import { createStore } from '../../src/store.js'

/** Forked by a test: serves the API over a PostgreSQL and a Redis until it is killed. */
const [, , postgresUrl, redisUrl, name, perDay] = process.argv
if (postgresUrl && redisUrl && name) {
  const limits = {
    perMinute: 1_000_000_000,
    perDay: Number(perDay),
    banAfterRejections: 1_000_000_000,
  }
  const storage = postgresStorage({ url: postgresUrl, schema: name, timeout: 60_000 })
  const rateLimitStore = redisRateLimitStore({ url: redisUrl, connectTimeout: 60_000 })
  await Promise.all([storage.ready(), rateLimitStore.ready()])
  const store = createStore({
    storage,
    rateLimitStore,
    rateLimitStoreTimeout: 20_000,
    apiKeys: { secret: { id: name, plan: 'enterprise', limits } },
    idempotency: { ttl: 86_400_000 },
    pagination: true,
  })
  const { url } = await listen(store, { port: 0, keepAliveTimeout: 600_000 })
  process.send?.(url)
}
