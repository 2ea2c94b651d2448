import fs from 'node:fs'
import { listen } from '../../adapters/http/index.js'
import { sqliteStorage } from '../../adapters/sqlite/index.js'
import { createStore } from '../../src/store.js'

/** Forked by the driver: serves the file until it is killed. When its parent disconnects, it closes. */
const [, , path, , , mark] = process.argv
if (path !== undefined && mark !== undefined) {
  process.on('exit', () => fs.writeFileSync(mark, ''))
  const storage = await sqliteStorage(path)
  const apiKeys = { crash: { id: 'crash', plan: 'free' } } as const
  const idempotency = { ttlMs: 86_400_000 }
  const store = createStore({ storage, apiKeys, rateLimit: false, pagination: true, idempotency })
  // A busy driver can be late by more than the usual limits, and takes an error for the end of its server.
  const limits = { keepAliveTimeout: 600_000, requestTimeout: 600_000 }
  const server = await listen(store, { port: 0, ...limits })
  process.on('disconnect', async () => {
    await server.close()
    await storage.close()
  })
  process.send?.(server.port)
}
