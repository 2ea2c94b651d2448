import { EventEmitter, once } from 'node:events'
import type { Pet } from '../../../src/index.js'
import { createRandom } from '../../crash/random.js'
import type { Progress, Task } from './creates.js'

export interface Outcome {
  readonly acknowledged: number
  /** Creates that were sent again with their key. */
  readonly repeated: number
  readonly lost: number
  readonly doubled: number
  /** Ids that no animal has, below the last one. */
  readonly gaps: number
}

export type Record = ReturnType<typeof createRecord>

/** Creates of killed programs: planned, acknowledged, and without an answer. */
export function createRecord(seed: number) {
  const random = createRandom(seed)
  const acknowledged = new Map<number, string>()
  const pending = new Map<string, Progress>()
  const counts = new Map<string, number>()
  const keyed = new Set<string>()
  const again: string[] = []
  const progress = new EventEmitter()
  let owners = 0
  let repeated = 0
  let reused = 0

  return {
    random,
    /** For half of them with keys: those begin with what nobody acknowledged. */
    newTask(): Task {
      const owner = `owner ${owners++}`
      const isKeyed = random(2) === 0
      if (!isKeyed) return { owner, isKeyed, again: [] }
      keyed.add(owner)
      const names = again.splice(0)
      repeated += names.length
      return { owner, isKeyed, again: names }
    },
    note(line: string): void {
      const { owner, name, id }: Progress = JSON.parse(line)
      if (id === undefined) {
        pending.set(name, { owner, name })
        return
      }
      if ((acknowledged.get(id) ?? name) !== name) reused++
      acknowledged.set(id, name)
      pending.delete(name)
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
      progress.emit(owner)
    },
    /** Resolves once an owner was acknowledged so many animals. */
    async reaches(owner: string, count: number): Promise<void> {
      while ((counts.get(owner) ?? 0) < count) await once(progress, owner)
    },
    /** An owner was killed. */
    bury(owner: string): void {
      for (const one of [...pending.values()].filter(one => one.owner === owner)) {
        pending.delete(one.name)
        if (keyed.has(owner)) again.push(one.name)
      }
    },
    /** Every animal is gone. Returns whether any was acknowledged. */
    forget(): boolean {
      const wasAny = acknowledged.size > 0
      acknowledged.clear()
      return wasAny
    },
    compare(pets: readonly Pet[]): Outcome {
      const stored = new Map(pets.map(({ id, name }) => [id, name]))
      return {
        acknowledged: acknowledged.size,
        repeated,
        lost: [...acknowledged].filter(([id, name]) => stored.get(id) !== name).length,
        doubled: reused + pets.length - new Set(stored.values()).size,
        gaps: (pets.at(-1)?.id ?? 0) - pets.length,
      }
    },
  }
}
