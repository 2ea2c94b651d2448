import fs from 'node:fs'
import { join } from 'node:path'
import { sqliteStorage } from '../../adapters/sqlite/index.js'
import { createRandom } from './random.js'
import type { Mark } from './simulate.js'

/**
 * Run under strace: random inserts, restores and restarts over a file of a folder. What it sent and
 * what was acknowledged goes into the file `marks`, so that strace sees both in order.
 */
const [, , folder, seed] = process.argv
if (folder !== undefined) {
  const random = createRandom(Number(seed))
  const marks = fs.openSync(join(folder, 'marks'), 'w')
  const mark = (mark: Mark) => void fs.writeSync(marks, JSON.stringify(mark))
  const path = join(folder, 'pets.sqlite')
  let storage = await sqliteStorage(path)
  let names = 0
  const insert = async () => {
    const name = `${names++} ${'x'.repeat(random(4) * 700)}`
    mark({ kind: 'sent', name })
    await storage.insert({ name, categoryId: 1, status: 'sold' })
    mark({ kind: 'acknowledged', name })
  }
  for (let step = 0; step < 8; step++) {
    await Promise.all(Array.from({ length: 1 + random(6) }, insert))
    const what = random(4)
    if (what === 0) {
      const pets = [4, 9].map(id => ({ id, name: `${names++} restored`, categoryId: 1 }))
      mark({ kind: 'restoring', names: pets.map(({ name }) => name) })
      await storage.restore({ pets, nextId: 10 + random(3) })
      mark({ kind: 'restored' })
    } else if (what === 1) {
      await storage.close()
      storage = await sqliteStorage(path)
    }
  }
  await storage.close()
}
