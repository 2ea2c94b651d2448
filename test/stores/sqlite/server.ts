import { listen } from '../../../adapters/http/index.js'
import { sqliteRateLimitStore, sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import { createStore } from '../../../src/store.js'

/**
 * Forked by a test: serves animals and counters of one file until it is killed. When its parent
 * disconnects, it closes.
 */
const [, , path, perDay] = process.argv
if (path !== undefined) {
  const limits = {
    perMinute: 1_000_000_000,
    perDay: Number(perDay),
    banAfterRejections: 1_000_000_000,
  }
  // Far above what a busy machine takes, so that each request is counted in the file.
  const options = { timeout: 60_000 }
  const storage = sqliteStorage(path, options)
  const rateLimitStore = sqliteRateLimitStore(path, options)
  await Promise.all([storage.ready(), rateLimitStore.ready()])
  const store = createStore({
    storage,
    rateLimitStore,
    rateLimitStoreTimeout: 60_000,
    pagination: true,
    apiKeys: { secret: { id: 'shared', plan: 'enterprise', limits } },
  })
  const server = await listen(store, { port: 0, keepAliveTimeout: 600_000 })
  process.on('disconnect', async () => {
    await server.close()
    await rateLimitStore.close()
    await storage.close()
  })
  process.send?.(server.url)
}
