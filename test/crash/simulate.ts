import { createHash } from 'node:crypto'
import { type JsonFileStorage, jsonFileStorage } from '../../adapters/stores/json-file/index.js'
import type { Once, PetStorage } from '../../src/ports.js'
import { type State, statesAfter } from './power-cut.js'
import { createRandom, type Random } from './random.js'
import { type Entry, type SimulatedDisk, simulatedDisk } from './simulated-disk.js'

export interface PowerCutCounts {
  /** Different states of the disk after a power cut that were opened. */
  states: number
  /** Inserts that were acknowledged before the power cut, in all states. */
  acknowledged: number
  /** Of them, those missing afterwards. */
  lost: number
  doubled: number
  /** Inserts with a key that were repeated after the power cut, and are not stored. */
  missing: number
  /** States that could not be opened. */
  refused: number
  problems: string[]
}

/** An event before a power cut; animals are identified by name. */
export type Mark =
  | { readonly kind: 'sent'; readonly name: string }
  | { readonly kind: 'acknowledged'; readonly name: string }
  | { readonly kind: 'restoring'; readonly names: readonly string[] }
  | { readonly kind: 'restored' }

/** Animals that must be found (`certain`), and those that may be (`possible`). */
export interface World {
  readonly certain: Set<string>
  readonly possible: Set<string>
}

/**
 * Runs a random workload of inserts, compactions, restores, restarts and lock hand-overs on a
 * simulated disk, and opens what a power cut may leave after each of its changes.
 *
 * @param limit the combinations to try after each change
 * @param retries whether inserts have keys, and those without an answer are repeated afterwards
 */
export async function simulate(
  seed: number,
  limit: number,
  retries = false,
): Promise<PowerCutCounts> {
  const random = createRandom(seed)
  const disk = simulatedDisk<Mark>({}, random)
  await runWorkload(disk, random, retries)
  const seen = new Set<string>()
  return checkStates(disk.log, random, limit, async (state, worlds) => {
    const key = keyOf(state, worlds)
    if (seen.has(key)) return undefined
    seen.add(key)
    const { storage } = await open(simulatedDisk<Mark>(state, random), NO_PROCESS)
    const before = await namesIn(storage)
    const unanswered = retries ? await repeat(storage, worlds) : []
    return { before, after: await namesIn(storage), unanswered }
  })
}

/** The names in a state before and after unanswered creates were repeated. */
interface Found {
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly unanswered: readonly string[]
}

/**
 * Opens every state that a power cut may leave after these entries, and counts what is lost or doubled.
 *
 * @param open resolves with what it found; undefined for a state that it has seen
 */
export async function checkStates(
  log: readonly Entry<Mark>[],
  random: Random,
  limit: number,
  open: (state: State, worlds: readonly World[]) => Promise<Found | undefined>,
): Promise<PowerCutCounts> {
  const counts = { states: 0, acknowledged: 0, lost: 0, doubled: 0, missing: 0, refused: 0 }
  const problems: string[] = []
  for (let length = 1; length <= log.length; length++) {
    // Until the next sync every change only adds states, and leaves all earlier ones possible.
    const next = log[length]
    if (next && next.kind !== 'sync') continue
    const entries = log.slice(0, length)
    const worlds = worldsOf(entries.flatMap(entry => (entry.kind === 'mark' ? [entry.mark] : [])))
    for (const state of statesAfter(entries, random, limit)) {
      const files = Object.entries(state).map(([name, { length }]) => `${name} (${length})`)
      try {
        const found = await open(state, worlds)
        if (!found) continue
        count(
          worlds,
          found,
          `; found ${found.after.map(numberOf).join(', ')} in ${files.join(', ')}`,
        )
      } catch (error) {
        counts.refused++
        problems.push(`refused: ${(error as Error).message}; in ${files.join(', ')}`)
      }
      counts.states++
      counts.acknowledged += worlds[0]?.certain.size ?? 0
    }
  }
  return { ...counts, problems: problems.slice(0, 10) }

  function count(worlds: readonly World[], { before, after, unanswered }: Found, where: string) {
    const losses = worlds.map(({ certain, possible }) =>
      before.every(name => possible.has(name))
        ? [...certain].filter(name => !before.includes(name)).length
        : Number.POSITIVE_INFINITY,
    )
    const lost = Math.min(...losses)
    const doubled = after.length - new Set(after).size
    const missing = unanswered.filter(name => !after.includes(name)).length
    counts.lost += lost
    counts.doubled += doubled
    counts.missing += missing
    for (const [what, number] of Object.entries({ lost, doubled, missing })) {
      if (number > 0) problems.push(`${number} ${what}${where}`)
    }
  }
}

/** Repeats what was not answered; in the old world, if a restore was not. */
async function repeat(storage: JsonFileStorage, worlds: readonly World[]): Promise<string[]> {
  const [{ certain, possible }] = worlds as [World]
  if (worlds.length > 1) return []
  const unanswered = [...possible].filter(name => !certain.has(name))
  const insert = (name: string) => storage.insertOnce({ name, categoryId: 1 }, onceOf(name), 0)
  await Promise.all(unanswered.map(insert))
  return unanswered
}

export async function namesIn(storage: PetStorage): Promise<string[]> {
  return (await storage.dump()).pets.map(({ name }) => name)
}

async function runWorkload(
  disk: SimulatedDisk<Mark>,
  random: Random,
  retries: boolean,
): Promise<void> {
  let pid = NO_PROCESS
  let names = 0
  let { storage, compact } = await open(disk, ++pid)
  for (let step = 0; step < 12; step++) {
    const inserts = insert(1 + random(9))
    const what = random(7)
    if (what === 0) await inserts
    else if (what < 3) compact()
    else if (what < 4) ({ storage, compact } = await open(disk, ++pid))
    else if (what < 5) {
      await inserts
      await restore()
    } else if (what < 6) {
      await inserts
      await storage.close()
      ;({ storage, compact } = await open(disk, ++pid))
    }
    await inserts
  }
  await storage.close()

  async function insert(count: number): Promise<void> {
    const inserting = Array.from({ length: count }, async () => {
      const name = `${names++} ${'x'.repeat(random(4) * 200)}`
      disk.mark({ kind: 'sent', name })
      const pet = { name, categoryId: 1 }
      const inserting = retries ? storage.insertOnce(pet, onceOf(name), 0) : storage.insert(pet)
      const inserted = await inserting.catch(() => undefined)
      if (inserted) disk.mark({ kind: 'acknowledged', name })
    })
    await Promise.all(inserting)
  }

  async function restore(): Promise<void> {
    const pets = [4, 9].map(id => ({ id, name: `${names++} restored`, categoryId: 1 }))
    disk.mark({ kind: 'restoring', names: pets.map(({ name }) => name) })
    await storage.restore({ pets, nextId: 10 + random(3) })
    disk.mark({ kind: 'restored' })
  }
}

async function open(disk: SimulatedDisk<Mark>, pid: number) {
  let compact = () => {}
  const whenIdle = (task: () => void) => {
    compact = task
    return () => {}
  }
  const storage = jsonFileStorage(PATH, { disk: disk.as(pid), whenIdle, onError() {} })
  await storage.ready()
  return { storage, compact: () => compact() }
}

/** The world before a restore and the one after it are both possible until it resolves. */
function worldsOf(marks: readonly Mark[]): World[] {
  let worlds: World[] = [{ certain: new Set(), possible: new Set() }]
  for (const mark of marks) {
    const world = worlds[0] as World
    if (mark.kind === 'sent') world.possible.add(mark.name)
    else if (mark.kind === 'acknowledged') world.certain.add(mark.name)
    else if (mark.kind === 'restored') worlds = worlds.slice(1)
    else worlds.push({ certain: new Set(mark.names), possible: new Set(mark.names) })
  }
  return worlds
}

/** Names begin with one. */
function numberOf(name: string): string {
  return name.split(' ', 1)[0] as string
}

function onceOf(name: string): Once {
  return { scope: 'crash', idempotencyKey: numberOf(name), fingerprint: '', expiresAt: 1 }
}

function keyOf(state: State, worlds: readonly World[]): string {
  const hash = createHash('sha1')
  for (const [name, content] of Object.entries(state).sort()) hash.update(name).update(content)
  for (const { certain } of worlds) hash.update(`${certain.size} `)
  return hash.digest('base64')
}

const PATH = '/data/pets.json'
/** Above every pid that a system gives. */
const NO_PROCESS = 5_000_000
