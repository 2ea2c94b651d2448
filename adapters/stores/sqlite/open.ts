import {
  isTimeout,
  type OptionsOf,
  type SettingsOf,
  settingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import { type Connection, connect } from './connection.js'
import { createStorage, type SqliteStorage } from './storage.js'

export const SQLITE_OPTIONS = {
  /**
   * How long an operation waits for the lock of another process, in ms.
   * @default 2_500
   */
  timeoutMs: withDefault(isTimeout, 2_500),
}
export interface SqliteOptions extends OptionsOf<typeof SQLITE_OPTIONS> {}

/**
 * Stores pets in a SQLite file, for any number of processes on one machine. Memory and the time to
 * open it do not depend on the number of pets. A missing file is created.
 *
 * @throws OptionError
 * @throws SqliteError when the file cannot be used: one line that names the fix
 */
export async function sqliteStorage(path: string, options?: SqliteOptions): Promise<SqliteStorage> {
  return openStorage(path, settingsOf(SQLITE_OPTIONS, options), true)
}

/**
 * The same for a file to read. One that is empty is refused, and stays empty.
 *
 * @throws SqliteError
 */
export async function existingStorage(path: string): Promise<SqliteStorage> {
  return openStorage(path, settingsOf(SQLITE_OPTIONS, undefined), false)
}

async function openStorage(
  path: string,
  { timeoutMs }: SettingsOf<typeof SQLITE_OPTIONS>,
  create: boolean,
): Promise<SqliteStorage> {
  const open = <T>(use: (connection: Connection) => T) =>
    connect(path, { timeoutMs, synced: true, create }, use)
  return open(connection => createStorage(connection, timeoutMs, open))
}
