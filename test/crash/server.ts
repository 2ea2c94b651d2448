import fs from 'node:fs'
import { listen } from '../../adapters/http/index.js'
import { jsonFileStorage } from '../../adapters/stores/json-file/index.js'
import { sqliteStorage } from '../../adapters/stores/sqlite/index.js'
import { createStore } from '../../src/store.js'
import { watchedDisk } from '../stores/json-file/disk-faults.js'

/**
 * Forked by the driver: serves a file until it is killed. With a JSON file, it kills itself at the nth call to
 * the disk, and compacts as if it were idle after some commits. When its parent disconnects, it closes.
 */
const [, , path, compactEvery, dieAt, mark] = process.argv
if (path !== undefined) {
  if (mark !== undefined) process.on('exit', () => fs.writeFileSync(mark, ''))
  const storage = path.endsWith('.sqlite') ? sqliteStorage(path) : jsonFile(path)
  await storage.ready()
  const apiKeys = { crash: { id: 'crash', plan: 'free' } } as const
  const idempotency = { ttl: 86_400_000 }
  const store = createStore({
    storage,
    apiKeys,
    rateLimiting: false,
    pagination: true,
    idempotency,
  })
  // A busy driver can be late by more than the usual limits, and takes an error for the end of its server.
  const limits = { keepAliveTimeout: 600_000, requestTimeout: 600_000 }
  const server = await listen(store, { port: 0, ...limits })
  process.on('disconnect', async () => {
    await server.close()
    await storage.close()
  })
  process.send?.(server.port)
}

function jsonFile(path: string) {
  let calls = 0
  const disk = watchedDisk(() => {
    if (++calls === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
  })
  let commits = 0
  const whenIdle = (compact: () => void) => {
    if (++commits % Number(compactEvery) === 0) compact()
    return () => {}
  }
  return jsonFileStorage(path, { disk, whenIdle })
}
