import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Awaitable } from '../../../src/lib/async.js'
import { type Database, loadDriver, type Value } from './driver.js'
import { explain, IGNORED, isBusy, SqliteError } from './failures.js'
import { locate, type Watch, watch } from './locate.js'
import { prepareTables } from './schema.js'

export type Connection = ReturnType<typeof createConnection>

export type TransactionKind = 'reading' | 'writing'

export interface ConnectionOptions {
  readonly timeoutMs: number
  /** Commits survive a power cut too. */
  readonly synced: boolean
  /** @default true */
  readonly create?: boolean
}

/** Opens a file for `use`, which is called again while another process holds the lock. */
export async function connect<T>(
  path: string,
  options: ConnectionOptions,
  use: (connection: Connection) => T,
): Promise<T> {
  const open = loadDriver(path)
  let database: Database | undefined
  let files: Watch | undefined
  try {
    const real = await locate(path)
    const giveUp = deadline(options.timeoutMs)
    return await untilFree(() => {
      database ??= open(real)
      const own = database
      files ??= watch(path, real, () => isWhole(own, open(real)))
      // The WAL may have been replaced by another file's.
      files.look(true)
      prepareFile(database, path, options)
      files.note()
      return use(createConnection(path, database, options.timeoutMs, files))
    }, giveUp)
  } catch (error) {
    database?.close()
    const explained = explain(error, path)
    if (explained instanceof SqliteError) throw explained
    const reason = `cannot be opened: ${(error as Error).message}`
    throw new SqliteError(path, reason, { cause: error })
  }
}

function prepareFile(database: Database, path: string, { synced, create }: ConnectionOptions) {
  // SQLite would block the process while it waits for a lock; `run` does not.
  database.exec(`PRAGMA busy_timeout = 0; PRAGMA synchronous = ${synced ? 'FULL' : 'NORMAL'}`)
  const { run } = transactionsOf(database)
  prepareTables(database, path, task => run('writing', task), create)
  if (synced && !database.prepare('SELECT 1 FROM pet_ids').get()) {
    run('writing', () => database.exec('INSERT OR IGNORE INTO pet_ids VALUES (1, 1, 0)'))
  }
  database.exec(`PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA journal_size_limit = ${LONGEST_WAL};
    PRAGMA trusted_schema = OFF`)
}

const CACHE_KIB = 16_384
/** In bytes, when a WAL starts over. */
const LONGEST_WAL = 64 * 1_048_576

/** The last animal that a connection knows can be read anew. */
function isWhole(own: Database, anew: Database): boolean {
  const lastIn = (database: Database) =>
    database.prepare('SELECT max(id) AS id FROM pets').get()?.['id'] ?? 0
  try {
    return lastIn(anew) >= lastIn(own)
  } catch {
    return false
  } finally {
    anew.close()
  }
}

/** Its methods throw a SqliteError, also after `close` and once the file was replaced. */
function createConnection(path: string, database: Database, timeoutMs: number, files: Watch) {
  const transactions = transactionsOf(database)
  let isClosed = false
  return {
    path,
    prepare: (sql: string) => database.prepare(sql),
    /** The insert returns the rowid, and throws if a trigger ignores it. */
    prepareInsert(sql: string) {
      const statement = database.prepare(sql)
      return (...values: readonly Value[]): number => {
        const { changes, lastInsertRowid } = statement.run(...values)
        if (Number(changes) !== 1) throw new SqliteError(path, IGNORED)
        return Number(lastInsertRowid)
      }
    },
    /** Runs a task at once; undefined while another process holds the lock. */
    attempt<T>(task: () => T): T | undefined {
      try {
        return use(task, false)
      } catch (error) {
        if (isBusy(error)) return undefined
        throw explain(error, path)
      }
    },
    run,
    reading: <T>(part: () => T) => transactions.run('reading', part),
    writing: <T>(part: () => T) => transactions.run('writing', part),
    /** Runs a long part on its own connection. @param mayBegin throws to end the wait */
    async during<T>(kind: TransactionKind, mayBegin: () => void, part: () => Promise<T>) {
      const { begin, commit, undo } = transactions
      await run(() => {
        mayBegin()
        begin[kind].run()
      })
      try {
        const result = await part()
        await run(() => commit.run())
        return result
      } catch (error) {
        undo()
        throw explain(error, path)
      }
    },
    sync: () => void database.exec('PRAGMA synchronous = FULL'),
    /** Throws if the file cannot be used. Other methods check the file every 100 ms at most. */
    look: () => use(() => {}, true),
    close() {
      isClosed = true
      database.close()
    },
  }

  /** Runs a task, again while another process holds the lock. */
  function run<T>(task: () => T, giveUp?: () => boolean): Awaitable<T> {
    try {
      return use(task, false)
    } catch (error) {
      if (!isBusy(error)) throw explain(error, path)
      return untilFree(() => use(task, true), giveUp ?? deadline(timeoutMs), error).catch(last => {
        throw explain(last, path)
      })
    }
  }

  function use<T>(task: () => T, now: boolean): T {
    if (isClosed) throw new SqliteError(path, 'is closed')
    const hasLooked = files.look(now)
    const result = task()
    // The WAL may have grown.
    if (hasLooked) files.note()
    return result
  }
}

function transactionsOf(database: Database) {
  const begin = { reading: database.prepare('BEGIN'), writing: database.prepare('BEGIN IMMEDIATE') }
  const commit = database.prepare('COMMIT')
  const rollback = database.prepare('ROLLBACK')
  return { begin, commit, undo, run }

  function run<T>(kind: TransactionKind, part: () => T): T {
    begin[kind].run()
    try {
      const result = part()
      commit.run()
      return result
    } catch (error) {
      undo()
      throw error
    }
  }

  function undo(): void {
    try {
      rollback.run()
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }
}

async function untilFree<T>(task: () => T, giveUp: () => boolean, first?: unknown): Promise<T> {
  if (first !== undefined && giveUp()) throw first
  for (let wait = first === undefined ? 0 : 1; ; wait = Math.min(wait + 1, LONGEST_WAIT)) {
    if (wait > 0) await pause(wait)
    try {
      return task()
    } catch (error) {
      if (!isBusy(error) || giveUp()) throw error
    }
  }
}

/** In ms. Short, because a process that inserts all the time frees the lock only for moments. */
const LONGEST_WAIT = 5

function deadline(timeoutMs: number): () => boolean {
  const end = performance.now() + timeoutMs
  return () => performance.now() >= end
}
