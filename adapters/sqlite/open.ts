import { isOneOf, isTimeout, optional, type Rules, readOptions } from '../../src/lib/options.js'
import { type Connection, connect } from './connection.js'
import { DRIVERS, type DriverName } from './driver.js'
import { createStorage, type SqliteStorage } from './storage.js'

export interface SqliteOptions {
  /**
   * The SQLite driver: `'node:sqlite'` or `'better-sqlite3'`.
   * @default `'node:sqlite'` where Node has it, else `'better-sqlite3'`
   */
  readonly driver?: DriverName
  /**
   * How long an operation waits for the lock of another process, in ms.
   * @default 2_500
   */
  readonly timeoutMs?: number
}

/**
 * Stores pets in a SQLite file, for any number of processes on one machine. Memory and the time to
 * open it do not depend on the number of pets. A missing file is created.
 *
 * @throws OptionError
 * @throws SqliteError when the file cannot be used: one line that names the fix
 */
export async function sqliteStorage(
  path: string,
  options: SqliteOptions = {},
): Promise<SqliteStorage> {
  return openStorage(path, readOptions(options, DEFAULTS, RULES), true)
}

/**
 * The same for a file to read. One that is empty is refused, and stays empty.
 *
 * @throws SqliteError
 */
export async function existingStorage(path: string): Promise<SqliteStorage> {
  return openStorage(path, DEFAULTS, false)
}

async function openStorage(
  path: string,
  { driver, timeoutMs }: SqliteOptions & typeof DEFAULTS,
  create: boolean,
): Promise<SqliteStorage> {
  const open = <T>(use: (connection: Connection) => T) =>
    connect(path, { driver, timeoutMs, synced: true, create }, use)
  return open(connection => createStorage(connection, path, timeoutMs, open))
}

const DEFAULTS = { timeoutMs: 2_500 }

const RULES: Rules<SqliteOptions> = {
  driver: optional(isOneOf(DRIVERS)),
  timeoutMs: isTimeout,
}
