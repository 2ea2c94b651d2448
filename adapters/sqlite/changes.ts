import { performance } from 'node:perf_hooks'
import { type BatchLimits, createBatches, type Waiting } from '../shared/batches.js'
import type { Connection } from './connection.js'
import { explain } from './failures.js'

export interface ChangeOptions<Change, Answer> extends BatchLimits<Change> {
  readonly connection: Connection
  readonly path: string
  readonly timeoutMs: number
  /** Stores some changes, all or none, and returns an answer for each. */
  readonly apply: (changes: readonly Change[]) => readonly Answer[]
}

/** Changes of one kind. Those that wait at the same time are applied together. */
export interface Changes<Change, Answer> {
  /** Rejects when the lock did not become free within the time limit of this change. */
  make(change: Change): Promise<Answer>
  idle(): Promise<void>
}

export function createChanges<Change, Answer>(
  options: ChangeOptions<Change, Answer>,
): Changes<Change, Answer> {
  const { connection, path, timeoutMs, apply, ...limits } = options
  const sizeOfTimed = ({ change }: Timed<Change>) => limits.sizeOf(change)
  const batches = createBatches(settle, { ...limits, sizeOf: sizeOfTimed })
  return {
    make: change => batches.add({ change, deadline: performance.now() + timeoutMs }),
    idle: batches.idle,
  }

  function settle(batch: readonly Waiting<Timed<Change>, Answer>[]): Promise<void> | void {
    let left = batch
    return connection.run(applyAll, error => {
      const now = performance.now()
      for (const { item, reject } of left) if (item.deadline <= now) reject(explain(error, path))
      left = left.filter(({ item }) => item.deadline > now)
      return left.length === 0
    })

    function applyAll(): void {
      const answers = apply(left.map(({ item }) => item.change))
      for (const [at, { resolve }] of left.entries()) resolve(answers[at] as Answer)
    }
  }
}

interface Timed<Change> {
  readonly change: Change
  readonly deadline: number
}
