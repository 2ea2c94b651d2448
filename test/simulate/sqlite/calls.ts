import { isBusy } from '../../../adapters/stores/sqlite/failures.js'
import { createPlannedCalls } from '../planned-calls.js'

/** A process with databases open, in the sense of the simulation. */
export interface Caller {
  isDead: boolean
}

export interface DriverFailure {
  /** How the statement begins. */
  readonly statement: 'any' | 'BEGIN' | 'COMMIT' | 'INSERT' | 'SELECT'
  readonly code: keyof typeof CODES
}

export interface DriverCall<T> {
  readonly sql: string
  /** Whether the lock of another process can hold it up: not in a transaction that has it. */
  readonly mayWait: boolean
  readonly run: () => T
  /** Ends the transaction, as SQLite does after some failures. */
  readonly rollBack: () => void
}

/** Result codes (sqlite.org/rescode.html). */
const CODES = { BUSY: 5, NOMEM: 7, IOERR: 10, FULL: 13 } as const

/** The calls to the driver of all processes, one after the other. */
export function createCalls<Process extends Caller>() {
  const planned = createPlannedCalls<'statement', DriverFailure>()
  let [all, lasting] = [0, 0]
  let isQuiet = false
  let caller: Process | undefined

  return {
    ...planned,
    /** Makes a call, unless it is to fail, or the process dies before it. */
    make<T>(process: Process, call: DriverCall<T>): T {
      if (isQuiet) return call.run()
      refuseDead(process)
      const before = caller
      caller = process
      try {
        planned.ring('statement', 'before')
        refuseDead(process)
        const result = run(call)
        planned.ring('statement', 'after')
        refuseDead(process)
        return result
      } finally {
        planned.count('statement')
        caller = before
      }
    },
    /** Without failures. */
    quietly<T>(task: () => T): T {
      isQuiet = true
      try {
        return task()
      } finally {
        isQuiet = false
      }
    },
    /** The process that makes a call now. */
    caller: () => caller,
    /** How many calls have failed, and how many of them for another reason than a lock. */
    failures: () => ({ all, lasting }),
  }

  function run<T>(call: DriverCall<T>): T {
    const failure = planned.takeFailure(failure => isMeantFor(call, failure))
    try {
      if (!failure) return call.run()
      if (failure.code === 'IOERR') call.rollBack()
      const errcode = CODES[failure.code]
      throw Object.assign(new Error(failure.code), { code: 'ERR_SQLITE_ERROR', errcode })
    } catch (error) {
      // Any other error is a mistake in a statement, or in the order of them.
      const isMistake = !failure && !isBusy(error) && !isFull(error)
      if (!isMistake) all++
      if (!isMistake && !isBusy(error)) lasting++
      throw error
    }
  }
}

/** What ends a transaction does so whatever it returns. */
function isMeantFor({ sql, mayWait }: DriverCall<unknown>, { statement, code }: DriverFailure) {
  const isNamed = statement === 'any' ? sql !== 'ROLLBACK' : sql.startsWith(statement)
  return isNamed && (code !== 'BUSY' || mayWait)
}

export function refuseDead({ isDead }: Caller): void {
  if (isDead) throw new Error('The process is dead')
}

function isFull(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === CODES.FULL
}
