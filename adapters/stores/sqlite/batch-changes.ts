import { storageOverloaded } from '../../../src/api-error.js'
import type { Awaitable } from '../../../src/lib/async.js'
import type { IsGone } from '../../../src/ports.js'
import { type BatchLimits, createBatches, stillWaited, type Waiting } from '../kit/batches.js'
import type { Connection } from './connection.js'
import { LOCKED, SqliteError } from './failures.js'

interface ChangeOptions<Change, Answer> extends Omit<BatchLimits<Change>, 'queue'> {
  readonly timeoutMs: number
  readonly apply: (changes: readonly Change[]) => readonly Answer[]
}

/** Changes that wait at the same time are applied together. */
export function createChanges<Change, Answer>(
  connection: Connection,
  { timeoutMs, apply, ...limits }: ChangeOptions<Change, Answer>,
) {
  const late = () => new SqliteError(connection.path, LOCKED)
  const queue = { timeoutMs, items: QUEUE, late, full: storageOverloaded }
  const batches = createBatches(settle, { ...limits, queue })
  return {
    /** Rejects if the lock stays taken for the time limit. */
    make(change: Change, isGone?: IsGone): Awaitable<Answer> {
      const answers = batches.mayGoFirst() && connection.attempt(() => apply([change]))
      return answers ? (answers[0] as Answer) : batches.add(change, isGone)
    },
    close: () => batches.idle().then(connection.close),
  }

  function settle(batch: readonly Waiting<Change, Answer>[]): Promise<void> | void {
    return connection.run(applyAll, () => stillWaited(batch).length === 0)

    function applyAll(): void {
      const left = stillWaited(batch)
      const answers = apply(left.map(({ item }) => item))
      for (const [at, { resolve }] of left.entries()) resolve(answers[at] as Answer)
    }
  }
}

const QUEUE = 10_000
