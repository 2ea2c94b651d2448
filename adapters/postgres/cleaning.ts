import type { Database } from './pool.js'
import type { Statements } from './statements.js'

/** Deletes expired keys in the background: call it with the time of an insert. */
export interface Cleaning {
  (now: number): void
  /** Resolves when nothing is being deleted. */
  idle(): Promise<void>
}

/**
 * There is no timer: inserts with keys start it, at most once per minute of their clock. It deletes a few
 * at a time, and none that another process is deleting, so no insert waits for it for long.
 */
export function createCleaning(database: Database, { clean }: Statements): Cleaning {
  let next = Number.NEGATIVE_INFINITY
  let working: Promise<void> | undefined

  return Object.assign(start, { idle: async () => working })

  function start(now: number): void {
    if (now < next || working) return
    next = now + INTERVAL
    working = deleteExpired(now).finally(() => {
      working = undefined
    })
  }

  async function deleteExpired(now: number): Promise<void> {
    try {
      while ((await database.query(clean, [now, LIMIT])).length === LIMIT);
    } catch {
      // The keys are expired anyway: the next minute deletes them.
    }
  }
}

const INTERVAL = 60_000
const LIMIT = 1_000
