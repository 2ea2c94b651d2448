import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Awaitable } from '../../src/lib/async.js'
import { type Database, type DriverName, loadDriver, type Statement } from './driver.js'
import { explain, isBusy, SqliteError } from './failures.js'
import { locate, watch } from './locate.js'
import { migrate } from './schema.js'

/** One open file. */
export interface Connection {
  readonly path: string
  prepare(sql: string): Statement
  /**
   * Runs a task at once. While another process holds the lock, it is repeated until `giveUp` returns
   * true, by default after the time limit, and refused once the file is closed or another one.
   *
   * @throws SqliteError
   */
  run<T>(task: () => T, giveUp?: (error: unknown) => boolean): Awaitable<T>
  /**
   * Runs a task at once; undefined while another process holds the lock.
   *
   * @throws SqliteError
   */
  try<T>(task: () => T): T | undefined
  /** A part of a task that sees one state of the file. */
  reading<T>(part: () => T): T
  /** A part of a task that holds the lock: all of it is stored, or nothing. */
  writing<T>(part: () => T): T
  /** The same for a part that takes its time: it needs a connection of its own. */
  during<T>(kind: 'reading' | 'writing', part: () => Promise<T>): Promise<T>
  /**
   * The error of everything that is still asked for after `close`, or once the file at the path is another one.
   *
   * @param now looks at the file even if that was done a moment ago
   */
  refuseUnusable(now?: boolean): void
  /** @param last waits for what is in progress */
  close(last?: () => Promise<void>): Promise<void>
}

export interface ConnectionOptions {
  readonly driver?: DriverName | undefined
  readonly timeoutMs: number
  /** Whether a commit is synced, so that it survives a power cut too. */
  readonly synced: boolean
  /** Whether an empty file becomes a database; by default, it does. */
  readonly create?: boolean
}

/**
 * Opens a file for what `use` makes of the connection.
 *
 * @param use may be called again while another process holds the lock; if it throws, the file is closed
 * @throws SqliteError in one line, for a file that cannot be used
 */
export async function connect<T>(
  path: string,
  options: ConnectionOptions,
  use: (connection: Connection) => T,
): Promise<T> {
  let database: Database | undefined
  let refuseReplaced: ((now: boolean) => void) | undefined
  try {
    const open = await loadDriver(path, options.driver)
    const real = await locate(path)
    const giveUp = timer(options.timeoutMs)
    return await untilFree(() => {
      database ??= open(real)
      refuseReplaced ??= watch(path, real)
      // While this waited, the WAL may have become that of another file.
      refuseReplaced(true)
      prepareFile(database, path, options)
      return use(createConnection(path, database, options.timeoutMs, refuseReplaced))
    }, giveUp)
  } catch (error) {
    database?.close()
    const explained = explain(error, path)
    if (explained instanceof SqliteError) throw explained
    const reason = `cannot be opened: ${(error as Error).message}`
    throw new SqliteError(path, reason, { cause: error })
  }
}

function prepareFile(
  database: Database,
  path: string,
  { synced, create }: ConnectionOptions,
): void {
  // A driver that waits blocks the process; `run` waits without that.
  database.exec(`PRAGMA busy_timeout = 0; PRAGMA synchronous = ${synced ? 'FULL' : 'NORMAL'}`)
  migrate(database, path, transactionsOf(database).writing, create)
  database.exec(`PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA journal_size_limit = ${LONGEST_WAL};
    PRAGMA trusted_schema = OFF`)
}

/** The most memory for pages of the file. */
const CACHE_KIB = 16_384
/** The length in bytes that the WAL keeps when it starts over. */
const LONGEST_WAL = 64 * 1_048_576

function createConnection(
  path: string,
  database: Database,
  timeoutMs: number,
  refuseReplaced: (now: boolean) => void,
): Connection {
  let closing: Promise<void> | undefined
  let isClosed = false
  return {
    path,
    prepare: sql => database.prepare(sql),
    run,
    try(task) {
      try {
        return task()
      } catch (error) {
        if (isBusy(error)) return undefined
        throw explain(error, path)
      }
    },
    ...transactionsOf(database),
    async during(kind, part) {
      const { first, commit, rollback } = boundsOf(database)[kind]
      await run(() => first.run())
      try {
        const result = await part()
        await run(() => commit.run())
        return result
      } catch (error) {
        undo(rollback)
        throw explain(error, path)
      }
    },
    refuseUnusable(now = false) {
      refuse(closing !== undefined, now)
    },
    close(last = async () => {}) {
      closing ??= last().then(() => {
        isClosed = true
        database.close()
      })
      return closing
    },
  }

  function run<T>(task: () => T, giveUp?: (error: unknown) => boolean): Awaitable<T> {
    try {
      refuse(isClosed, false)
      return task()
    } catch (error) {
      if (!isBusy(error)) throw explain(error, path)
      return untilFree(again, giveUp ?? timer(timeoutMs), error).catch(reason => {
        throw explain(reason, path)
      })
    }

    function again(): T {
      refuse(isClosed, true)
      return task()
    }
  }

  function refuse(isOver: boolean, now: boolean): void {
    if (isOver) throw new SqliteError(path, 'is closed')
    refuseReplaced(now)
  }
}

function transactionsOf(database: Database): Pick<Connection, 'reading' | 'writing'> {
  const bounds = boundsOf(database)
  return {
    reading: part => between(bounds.reading, part),
    writing: part => between(bounds.writing, part),
  }
}

/** The statements around a transaction. */
interface Bounds {
  readonly first: Statement
  readonly commit: Statement
  readonly rollback: Statement
}

function boundsOf(database: Database): Record<'reading' | 'writing', Bounds> {
  const ends = { commit: database.prepare('COMMIT'), rollback: database.prepare('ROLLBACK') }
  return {
    reading: { first: database.prepare('BEGIN'), ...ends },
    writing: { first: database.prepare('BEGIN IMMEDIATE'), ...ends },
  }
}

function between<T>({ first, commit, rollback }: Bounds, part: () => T): T {
  first.run()
  try {
    const result = part()
    commit.run()
    return result
  } catch (error) {
    undo(rollback)
    throw error
  }
}

function undo(rollback: Statement): void {
  try {
    rollback.run()
  } catch {
    // SQLite has rolled back by itself, as it does when the disk is full.
  }
}

/** Repeats a task while another process holds the lock. */
async function untilFree<T>(
  task: () => T,
  giveUp: (error: unknown) => boolean,
  first?: unknown,
): Promise<T> {
  if (first !== undefined && giveUp(first)) throw first
  for (let wait = first === undefined ? 0 : 1; ; wait = Math.min(wait + 1, LONGEST_WAIT)) {
    if (wait > 0) await pause(wait)
    try {
      return task()
    } catch (error) {
      if (!isBusy(error) || giveUp(error)) throw error
    }
  }
}

/** In ms. Short, because a process that inserts all the time frees the lock for moments only. */
const LONGEST_WAIT = 5

function timer(timeoutMs: number): () => boolean {
  const deadline = performance.now() + timeoutMs
  return () => performance.now() >= deadline
}
