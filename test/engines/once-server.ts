import { listen } from '../../adapters/http/index.js'
import { createStore } from '../../src/store.js'
import { openAgain } from './open-again.js'

/** Forked by a test: serves the API with idempotency keys over a PostgreSQL until it is killed. */
const [, , url] = process.argv
if (url) {
  const store = createStore({
    storage: await openAgain({ url, schema: 'once', timeoutMs: 3_000 }),
    rateLimit: false,
    apiKeys: { secret: { id: 'web', plan: 'free' } },
    idempotency: { ttlMs: 86_400_000 },
  })
  const server = await listen(store, { port: 0, keepAliveTimeout: 600_000 })
  process.send?.(server.url)
}
