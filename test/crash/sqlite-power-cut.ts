import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqliteStorage } from '../../adapters/sqlite/index.js'
import { type State, statesAfter } from './power-cut.js'
import { createRandom } from './random.js'
import { type Mark, type PowerCutCounts, type World, worldsOf } from './simulate.js'
import { traceDisk } from './traced-disk.js'

/**
 * Runs a random workload over a SQLite file, and opens what a power cut may leave of it after each
 * sync: the calls to the disk are the real ones, seen by strace, and the disk is simulated.
 *
 * @param limit the combinations to try between two syncs
 */
export async function cutPower(seed: number, limit: number): Promise<PowerCutCounts> {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'sqlite-power-')))
  const folder = join(root, 'data')
  fs.mkdirSync(folder)
  const program = fileURLToPath(new URL('sqlite-workload.js', import.meta.url))
  const log = traceDisk<Mark>(folder, NAMES, [program, folder, String(seed)])
  const random = createRandom(seed)
  const counts = {
    states: 0,
    acknowledged: 0,
    lost: 0,
    doubled: 0,
    missing: 0,
    refused: 0,
    problems: [],
  }
  for (let length = 1; length <= log.length; length++) {
    // Until the next sync every change only adds states, and leaves all earlier ones possible.
    const next = log[length]
    if (next && next.kind !== 'sync') continue
    const entries = log.slice(0, length)
    const worlds = worldsOf(entries.flatMap(entry => (entry.kind === 'mark' ? [entry.mark] : [])))
    for (const state of statesAfter(entries, random, limit)) {
      const place = join(root, `state-${counts.states}`)
      await check(place, state, worlds, counts)
      fs.rmSync(place, { recursive: true })
    }
  }
  fs.rmSync(root, { recursive: true })
  return counts
}

const NAMES = ['pets.sqlite', 'pets.sqlite-wal', 'pets.sqlite-journal']

async function check(
  place: string,
  state: State,
  worlds: readonly World[],
  counts: PowerCutCounts,
): Promise<void> {
  counts.states++
  counts.acknowledged += worlds[0]?.certain.size ?? 0
  fs.mkdirSync(place)
  for (const [name, content] of Object.entries(state)) fs.writeFileSync(join(place, name), content)
  try {
    const storage = await sqliteStorage(join(place, 'pets.sqlite'))
    const damage = await storage.check()
    const names = (await storage.dump()).pets.map(({ name }) => name)
    await storage.insert({ name: 'next', categoryId: 1 })
    await storage.close()
    const lost = Math.min(
      ...worlds.map(({ certain, possible }) =>
        names.every(name => possible.has(name))
          ? [...certain].filter(name => !names.includes(name)).length
          : Number.POSITIVE_INFINITY,
      ),
    )
    const doubled = names.length - new Set(names).size
    counts.lost += lost
    counts.doubled += doubled
    if (lost > 0 || doubled > 0) report(`${lost} lost, ${doubled} doubled: ${names.join(', ')}`)
    if (damage.length > 0) report(damage.join(', '))
  } catch (error) {
    counts.refused++
    report(`refused: ${(error as Error).message}`)
  }

  function report(problem: string): void {
    const files = Object.entries(state).map(([name, { length }]) => `${name} (${length})`)
    if (counts.problems.length < 10) counts.problems.push(`${problem}; in ${files.join(', ')}`)
  }
}
