import { isBusy } from '../../../adapters/sqlite/failures.js'

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
  let calls = 0
  let [all, lasting] = [0, 0]
  let isQuiet = false
  let caller: Process | undefined
  let failures: DriverFailure[] = []
  let alarms: Alarm[] = []

  return {
    /** Makes a call, unless it is to fail, or the process dies before it. */
    make<T>(process: Process, call: DriverCall<T>): T {
      if (isQuiet) return call.run()
      refuseDead(process)
      calls++
      const before = caller
      caller = process
      try {
        ring('before')
        refuseDead(process)
        const result = run(call)
        ring('after')
        refuseDead(process)
        return result
      } finally {
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
    /** Calls back before or after the call of that number, counted from now on. */
    atCall: (count: number, when: Alarm['when'], task: () => void) =>
      void alarms.push({ at: calls + count + 1, when, task }),
    /** The next such call fails. */
    failNext: (failure: DriverFailure) => void failures.push(failure),
    /** Ends all failures, also those that are still to come. */
    heal(): void {
      failures = []
      alarms = []
    },
    /** The process that makes a call now. */
    caller: () => caller,
    /** How many calls have failed, and how many of them for another reason than a lock. */
    failures: () => ({ all, lasting }),
  }

  function run<T>(call: DriverCall<T>): T {
    const { run, rollBack } = call
    const failure = takeFailure(call)
    if (failure) {
      count(failure.code)
      if (failure.code === 'IOERR') rollBack()
      throw errorOf(failure)
    }
    try {
      return run()
    } catch (error) {
      // Any other error is a mistake in a statement, or in the order of them.
      if (isBusy(error)) count('BUSY')
      if (isFull(error)) count('FULL')
      throw error
    }
  }

  function count(code: DriverFailure['code']): void {
    all++
    if (code !== 'BUSY') lasting++
  }

  function takeFailure({ sql, mayWait }: DriverCall<unknown>): DriverFailure | undefined {
    // It ends the transaction, whatever it returns.
    if (sql === 'ROLLBACK') return undefined
    const next = failures.find(
      ({ statement, code }) =>
        (statement === 'any' || sql.startsWith(statement)) && (code !== 'BUSY' || mayWait),
    )
    if (next) failures = failures.filter(other => other !== next)
    return next
  }

  function ring(now: Alarm['when']): void {
    const isDue = ({ at, when }: Alarm) => at < calls || (at === calls && when === now)
    const due = alarms.filter(isDue)
    if (due.length === 0) return
    alarms = alarms.filter(alarm => !isDue(alarm))
    for (const { task } of due) task()
  }
}

interface Alarm {
  readonly at: number
  readonly when: 'before' | 'after'
  readonly task: () => void
}

export function refuseDead({ isDead }: Caller): void {
  if (isDead) throw new Error('The process is dead')
}

function isFull(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === CODES.FULL
}

function errorOf({ code }: DriverFailure): Error {
  return Object.assign(new Error(code), { code: 'ERR_SQLITE_ERROR', errcode: CODES[code] })
}
