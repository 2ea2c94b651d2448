import { constants } from 'node:fs'
import fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { locateFile } from '../shared/locate-file.js'
import { ifPresent } from '../shared/missing-file.js'
import { SqliteError } from './failures.js'

/**
 * The real path of a database, so that all its names share one WAL. The file is never opened here:
 * closing it would free the locks that SQLite holds in this process (fcntl(2), record locks).
 *
 * @throws SqliteError when SQLite could not use it, or would lose something
 */
export async function locate(path: string): Promise<string> {
  const refuse = (reason: string, options?: ErrorOptions) => new SqliteError(path, reason, options)
  if (path === '' || path === ':memory:') {
    throw refuse('is not a file; for animals in memory use memoryStorage()')
  }
  const real = await locateFile(fs, path, refuse)
  await fs.access(dirname(real), constants.W_OK | constants.X_OK).catch(cause => {
    const folder = dirname(path)
    throw refuse(`needs a folder that this process can write to; change ${folder}`, { cause })
  })
  const size = (await ifPresent(fs.stat(real)))?.size ?? 0
  // SQLite would create an empty database and delete the WAL.
  const wal = (await ifPresent(fs.stat(`${real}-wal`)))?.size ?? 0
  if (size === 0 && wal > 0) {
    throw refuse(
      `is missing, but not ${path}-wal with its last animals; restore it beside that file`,
    )
  }
  return real
}
