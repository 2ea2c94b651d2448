import { type Database, loadDriver } from '../../../adapters/stores/sqlite/driver.js'
import { isBusy } from '../../../adapters/stores/sqlite/failures.js'
import type { EngineOptions } from '../engine.js'
import { choicesOf } from '../random.js'
import type { SqliteSetting } from '../scenario.js'
import { type Caller, createCalls, refuseDead } from './calls.js'
import type { Counted, UsageRows } from './counts.js'
import { createFiles } from './files.js'

/** A process with the databases that it has open. */
export interface SqliteProcess extends Caller {
  readonly number: number
  readonly open: Set<OpenDatabase>
  /** Requests that its limiter has not decided, oldest first. */
  readonly asked: Set<Counted>
}

interface OpenDatabase {
  readonly name: string
  readonly real: Database
  /** Whether its commits are synced. */
  isSynced: boolean
  isInTransaction: boolean
}

/** The time limit of the storage, in ms. */
export const PATIENCE = 2_500
/** No limit, as SQLite counts pages. */
const NO_LIMIT = 1_073_741_823

export type SqliteMachine = ReturnType<typeof createSqliteMachine>

/** @param onSync called after each commit that is synced */
export function createSqliteMachine(options: EngineOptions, onSync: (name: string) => void) {
  const { seed, setting, scheduler, interrupt } = options
  const { contention, interruption } = setting.sqlite as SqliteSetting
  const open = loadDriver('SQLite')
  const files = createFiles()
  const calls = createCalls<SqliteProcess>()
  const processes = new Set<SqliteProcess>()
  const locks = new Map<string, Database>()
  let opener: SqliteProcess | undefined
  let isFull = false
  let longLocks = 0
  let [cuts, wishes, statements] = [0, 0, 0]
  let isInterrupted = false
  const putBack = replaceDriver(() => {
    const process = opener as SqliteProcess
    return path => watched(process, path)
  })

  return {
    files,
    calls,
    /** What the task opens at once, with the driver of the package, belongs to this process. */
    openFor<T>(process: SqliteProcess, task: () => T): T {
      opener = process
      return task()
    },
    end,
    /** A crash of the machine. */
    endAll(isCut: boolean): void {
      unlock()
      const remove = files.move(isCut ? choicesOf(seed, 'power cut', ++cuts) : undefined)
      for (const process of processes) end(process)
      remove()
    },
    living: () => [...processes].filter(process => process.open.size > 0),
    start(number: number): SqliteProcess {
      const process = { number, isDead: false, open: new Set(), asked: new Set() } as SqliteProcess
      processes.add(process)
      return process
    },
    setFull(full: boolean): void {
      isFull = full
      for (const process of processes) for (const { real } of process.open) limit(real)
    },
    lock,
    unlock,
    isLocked: () => locks.size > 0,
    /** How often a lock was held for so long that some of ours wait in vain. */
    longLocks: () => longLocks,
    usages,
    dispose(): void {
      unlock()
      for (const process of processes) end(process)
      putBack()
      files.remove()
    },
  }

  function end(process: SqliteProcess): void {
    process.isDead = true
    processes.delete(process)
    for (const { real } of process.open) real.close()
    process.open.clear()
  }

  function watched(process: SqliteProcess, path: string): Database {
    refuseDead(process)
    const real = open(path)
    const name = path.slice(path.lastIndexOf('/') + 1)
    const database: OpenDatabase = { name, real, isSynced: false, isInTransaction: false }
    process.open.add(database)
    if (isFull) limit(real)
    return {
      exec(sql) {
        make(sql, () => real.exec(sql))
        database.isSynced = levelOf(real) === FULL
      },
      prepare(sql) {
        refuseDead(process)
        const statement = real.prepare(sql)
        return {
          run: (...values) => make(sql, () => statement.run(...values)),
          get: (...values) => make(sql, () => statement.get(...values)),
          all: (...values) => make(sql, () => statement.all(...values)),
        }
      },
      close() {
        if (process.open.delete(database)) real.close()
      },
    }

    function make<T>(sql: string, run: () => T): T {
      interruptBefore(process)
      const isAlone = !database.isInTransaction
      const isSyncing =
        database.isSynced && (sql === 'COMMIT' || (isAlone && sql.startsWith('INSERT')))
      const before = isSyncing ? files.committed(name) : ''
      const result = calls.make(process, {
        sql,
        mayWait: isAlone || sql === 'COMMIT',
        run() {
          if (contention > 0 && isAlone && /^(BEGIN I|INSERT)/.test(sql)) contend(name)
          // On a full disk SQLite has rolled back by itself, and this fails.
          if (sql === 'ROLLBACK') database.isInTransaction = false
          const result = run()
          if (sql.startsWith('BEGIN')) database.isInTransaction = true
          if (sql === 'COMMIT') database.isInTransaction = false
          return result
        },
        rollBack() {
          if (database.isInTransaction) real.exec('ROLLBACK')
          database.isInTransaction = false
        },
      })
      // Not before: a call during which the power is cut has not synced yet.
      if (isSyncing && files.committed(name) !== before) {
        files.synced(name)
        onSync(name)
      }
      return result
    }
  }

  /** Between two statements of a process, another one may do anything that its locks allow. */
  function interruptBefore({ number }: SqliteProcess): void {
    if (isInterrupted || interruption === 0) return
    if (!choicesOf(seed, 'statement', ++statements).chance(interruption)) return
    isInterrupted = true
    try {
      interrupt(number)
    } finally {
      isInterrupted = false
    }
  }

  function limit(real: Database): void {
    // At least as many as there are.
    real.exec(`PRAGMA max_page_count = ${isFull ? 1 : NO_LIMIT}`)
  }

  function contend(name: string): void {
    const choices = choicesOf(seed, 'contention', ++wishes)
    if (choices.chance(contention)) lock(name, choices.between(1, 20))
  }

  /** Another process takes the lock of a file, and ends its transaction later. */
  function lock(name: string, ms: number): void {
    if (locks.has(name) || !files.exists(name)) return
    const database = open(files.path(name))
    try {
      database.exec('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE')
    } catch (error) {
      database.close()
      if (isBusy(error)) return
      throw error
    }
    locks.set(name, database)
    const isHeld = () => locks.get(name) === database
    scheduler.after('lock ends', ms, () => {
      if (isHeld()) release(name)
    })
    waitLong()

    function waitLong(): void {
      // Another one may have been held before it.
      scheduler.after('lock is long', PATIENCE / 2, () => {
        if (!isHeld()) return
        longLocks++
        waitLong()
      })
    }
  }

  function release(name: string): void {
    // Ends its transaction too.
    locks.get(name)?.close()
    locks.delete(name)
  }

  function unlock(): void {
    for (const name of locks.keys()) release(name)
  }

  function usages(name: string): UsageRows {
    if (!files.exists(name)) return new Map()
    const database = open(files.path(name))
    try {
      const table = database.prepare(`SELECT name FROM sqlite_schema WHERE name = 'usage'`).get()
      if (!table) return new Map()
      const rows = database
        .prepare(`SELECT partition, last_seen, minute_count, rejections, day_count, banned_until,
          ban_level FROM usage`)
        .all()
      return new Map(
        rows.map(({ partition, ...counts }) => [JSON.parse(partition), Object.values(counts)]),
      )
    } finally {
      database.close()
    }
  }
}

/** `PRAGMA synchronous`. */
const FULL = 2

function levelOf(database: Database): number {
  return database.prepare('PRAGMA synchronous').get()?.['synchronous']
}

/** Puts another driver in the place where the adapter looks for the one of Node, each time it looks. */
function replaceDriver(driver: () => (path: string) => Database): () => void {
  const real = process.getBuiltinModule
  const find = (name: string) =>
    name === 'node:sqlite' ? { DatabaseSync: constructorOf(driver()) } : real?.(name)
  Object.assign(process, { getBuiltinModule: find })
  return () => void Object.assign(process, { getBuiltinModule: real })
}

function constructorOf(open: (path: string) => Database) {
  return function DatabaseSync(path: string): Database {
    return open(path)
  }
}
