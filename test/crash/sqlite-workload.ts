import fs from 'node:fs'
import { join } from 'node:path'
import { sqliteRateLimitStore, sqliteStorage } from '../../adapters/stores/sqlite/index.js'
import { createRandom } from './random.js'
import type { Mark } from './simulate.js'

/**
 * Run under strace: random inserts, restores and restarts over a file of a folder. What it sent and
 * what was acknowledged goes into the file `marks`, so that strace sees both in order.
 */
const [, , folder, seed, counts] = process.argv
if (folder !== undefined) {
  const random = createRandom(Number(seed))
  const marks = fs.openSync(join(folder, 'marks'), 'w')
  const mark = (mark: Mark) => void fs.writeSync(marks, JSON.stringify(mark))
  const path = join(folder, 'pets.sqlite')
  let storage = sqliteStorage(path)
  const limits = counts ? sqliteRateLimitStore(path) : undefined
  await storage.ready()
  await limits?.ready()
  const policy = { perMinute: 1_000, perDay: 1_000 }
  let names = 0
  const insert = async () => {
    const name = `${names++} ${'x'.repeat(random(4) * 700)}`
    mark({ kind: 'sent', name })
    const inserted = storage.insert({ name, categoryId: 1, status: 'sold' })
    // A sync may fail.
    await inserted.then(() => mark({ kind: 'acknowledged', name })).catch(refuseOthers)
  }
  for (let step = 0; step < 8; step++) {
    await limits?.consume(`key ${step}`, policy, 0)
    await Promise.all(Array.from({ length: 1 + random(6) }, insert))
    // A restore that fails is another matter.
    const what = limits ? 2 : random(4)
    if (what === 0) {
      const pets = [4, 9].map(id => ({ id, name: `${names++} restored`, categoryId: 1 }))
      mark({ kind: 'restoring', names: pets.map(({ name }) => name) })
      await storage.restore({ pets, nextId: 10 + random(3) })
      mark({ kind: 'restored' })
    } else if (what === 1) {
      await storage.close()
      storage = sqliteStorage(path)
    }
  }
  await limits?.close()
  await storage.close()
}

function refuseOthers(error: Error): void {
  if (!error.message.includes('the disk failed')) throw error
}
