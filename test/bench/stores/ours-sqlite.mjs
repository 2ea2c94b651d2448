import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStorage } from '../../../dist/adapters/sqlite/index.js'

/** On disk, with a sync per create; the storage alone, as in `memory`. */
export async function open(animals) {
  const folder = mkdtempSync(join(tmpdir(), 'ours-sqlite-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  const storage = await sqliteStorage(join(folder, 'animals.sqlite'))
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  return {
    list: status => storage.list({ status, limit: 20 }),
    get: id => storage.find(id),
    create: animal => storage.insert(animal),
  }
}
