import assert from 'node:assert/strict'
import type { PetStorage } from '../../src/ports.js'

/** What became of the animals that some callers asked for; an animal is known by its name. */
export interface Load {
  /** Names that were acknowledged, with their ids. */
  readonly acknowledged: ReadonlyMap<string, number>
  /** Names whose insert failed; they may have been stored nevertheless. */
  readonly failed: ReadonlySet<string>
  /** Resolves once that many were acknowledged, or failed, from now on. */
  acknowledge(count: number): Promise<void>
  fail(count: number): Promise<void>
  /** Lets the callers finish their last insert. */
  stop(): Promise<void>
}

/** Inserts over these storages by as many callers as given, each one animal after the other. */
export function startLoad(storages: readonly PetStorage[], callers: number): Load {
  const acknowledged = new Map<string, number>()
  const failed = new Set<string>()
  const watchers = new Set<() => void>()
  let stopping = false
  const running = Array.from({ length: callers }, (_, caller) => run(caller))

  return {
    acknowledged,
    failed,
    acknowledge: count => growth(acknowledged, count),
    fail: count => growth(failed, count),
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }

  async function run(caller: number): Promise<void> {
    const storage = storages[caller % storages.length] as PetStorage
    for (let n = 0; !stopping; n++) {
      const name = `${caller}-${n}`
      try {
        const { id } = await storage.insert({ name, categoryId: 1, status: 'available' })
        acknowledged.set(name, id)
      } catch {
        failed.add(name)
      }
      for (const check of watchers) check()
    }
  }

  function growth(group: { readonly size: number }, count: number): Promise<void> {
    const end = group.size + count
    return new Promise(resolve => {
      const check = () => {
        if (group.size < end) return
        watchers.delete(check)
        resolve()
      }
      watchers.add(check)
    })
  }
}

/** Compares what was acknowledged with what is stored: nothing lost, doubled or skipped. */
export async function checkLoad(
  load: Pick<Load, 'acknowledged' | 'failed'>,
  storage: PetStorage,
): Promise<void> {
  const { pets, nextId } = await storage.dump()
  assert.deepEqual(
    pets.map(pet => pet.id),
    Array.from({ length: nextId - 1 }, (_, at) => at + 1),
    'ids have no gaps',
  )
  const stored = new Map(pets.map(pet => [pet.name, pet.id]))
  assert.equal(stored.size, pets.length, 'no animal is stored twice')
  for (const [name, id] of load.acknowledged) assert.equal(stored.get(name), id, `${name} is lost`)
  const unasked = pets.filter(({ name }) => !load.acknowledged.has(name) && !load.failed.has(name))
  assert.deepEqual(unasked, [])
}
