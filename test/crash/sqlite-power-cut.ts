import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqliteStorage } from '../../adapters/stores/sqlite/index.js'
import { createRandom } from './random.js'
import { checkStates, type Mark, namesIn, type PowerCutCounts } from './simulate.js'
import { traceDisk } from './traced-disk.js'

/**
 * Runs a random workload over a SQLite file, and opens what a power cut may leave of it after each
 * sync: the calls to the disk are the real ones, seen by strace, and the disk is simulated.
 *
 * @param limit the combinations to try between two syncs
 * @param failingSync the number of a sync that fails, while requests are counted in the same file
 */
export async function cutPower(
  seed: number,
  limit: number,
  failingSync?: number,
): Promise<PowerCutCounts> {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sqlite-power-')))
  const folder = join(root, 'data')
  fs.mkdirSync(folder)
  const program = fileURLToPath(new URL('sqlite-workload.js', import.meta.url))
  const counts = failingSync === undefined ? '' : 'counts'
  const words = [program, folder, String(seed), counts]
  const log = traceDisk<Mark>(folder, NAMES, words, failingSync)
  const random = createRandom(seed)
  let states = 0
  const result = await checkStates(log, random, limit, async state => {
    const place = join(root, `state-${states++}`)
    fs.mkdirSync(place)
    for (const [name, content] of Object.entries(state)) {
      fs.writeFileSync(join(place, name), content)
    }
    const storage = sqliteStorage(join(place, 'pets.sqlite'))
    const damage = await storage.check()
    if (damage.length > 0) throw new Error(damage.join(', '))
    const names = await namesIn(storage)
    await storage.insert({ name: 'next', categoryId: 1 })
    await storage.close()
    fs.rmSync(place, { recursive: true })
    return { before: names, after: names, unanswered: [] }
  })
  fs.rmSync(root, { recursive: true })
  return result
}

const NAMES = ['pets.sqlite', 'pets.sqlite-wal', 'pets.sqlite-journal']
