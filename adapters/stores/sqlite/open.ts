import {
  check,
  isText,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import { isTimeout } from '../../../src/lib/time.js'
import { durableStorage } from '../kit/durable-storage.js'
import { openAtUse } from '../kit/open-at-use.js'
import { type Connection, connect } from './connection.js'
import { SqliteError } from './failures.js'
import { createStorage, type SqliteStorage } from './storage.js'

export const SQLITE_OPTIONS = {
  /** Longest wait of an operation for the lock of another process. @default '2.5s' */
  timeout: withDefault(isTimeout, '2.5s'),
}
/**
 * @example
 * import { sqliteStorage } from 'animal-adoption-store/sqlite'
 *
 * const storage = sqliteStorage('pets.db', { timeout: '5s' })
 * await storage.close()
 */
export interface SqliteOptions extends OptionsOf<typeof SQLITE_OPTIONS> {}

/**
 * Stores pets in a SQLite file, for any number of processes on one machine. The first call opens it,
 * and creates a missing file. While it cannot be used, calls reject with a `SqliteError`.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { sqliteStorage } from 'animal-adoption-store/sqlite'
 *
 * const storage = sqliteStorage('pets.db')
 * await createStore({ storage, apiKeys: {} }).createPet({ name: 'Rex', categoryId: 1 })
 * await storage.close()
 */
export function sqliteStorage(path: string, options?: SqliteOptions): SqliteStorage {
  return openStorage(path, options)
}

/** Refuses an empty file, and leaves it empty. */
export function existingStorage(path: string): SqliteStorage {
  return openStorage(path, undefined, false)
}

function openStorage(path: string, options?: SqliteOptions, create = true): SqliteStorage {
  const { timeout: timeoutMs } = settingsOf(SQLITE_OPTIONS, options)
  check('path', path, isText)
  const connectAgain = <T>(use: (connection: Connection) => T) =>
    connect(path, { timeoutMs, synced: true, create }, use)
  const open = () => connectAgain(connection => createStorage(connection, timeoutMs, connectAgain))
  const opening = openAtUse(open, () => new SqliteError(path, 'is closed'))
  const { use, methods } = opening
  return {
    ...durableStorage(opening),
    ...methods('count', 'check'),
    stream: async read => use(storage => storage.stream(read)),
  }
}
