import fs from 'node:fs'
import { dirname } from 'node:path'
import {
  type FileCalls,
  isSameFile,
  MOUNTED,
  MOVED,
  realPathOf,
  refuseUnusable,
} from '../storage/files.js'
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
  const real = await realPathOf(CALLS, path, refuse)
  await refuseUnusable(CALLS, real, refuse)
  // The WAL would be in another file system than the database.
  if (deviceOf(real) !== deviceOf(dirname(real))) throw refuse(MOUNTED)
  // SQLite would create an empty database and delete the WAL. The WAL is looked at first, as another
  // process that creates both begins with the database.
  if (sizeOf(`${real}-wal`) > 0 && sizeOf(real) === 0) {
    throw refuse(`is missing, but ${path}-wal has its last animals; restore it beside that file`)
  }
  return real
}

/**
 * Notes which file is at a real path. The returned function throws once that is another one or none: what
 * is written to it would be gone with this process. It looks every 100 ms at most, as that costs a tenth of
 * an insert.
 *
 * @throws SqliteError
 */
export function watch(path: string, real: string): (now: boolean) => void {
  const opened = fs.statSync(real)
  let isInPlace = true
  let lookAt = 0

  return now => {
    const time = performance.now()
    if (now || time >= lookAt) {
      lookAt = time + LOOK_EVERY
      isInPlace = isSameFile(fs.statSync(real, { throwIfNoEntry: false }), opened)
    }
    if (!isInPlace) throw new SqliteError(path, MOVED)
  }
}

/** In ms. */
const LOOK_EVERY = 100

/** That of its folder, for a missing file. */
function deviceOf(path: string): number {
  return (fs.statSync(path, { throwIfNoEntry: false }) ?? fs.statSync(dirname(path))).dev
}

/** 0 for a missing file. */
function sizeOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Synchronous inside: the first use of Node's threads takes longer than all of the opening. */
const CALLS: FileCalls = {
  stat: async (path, options) => fs.statSync(path, options),
  lstat: async path => fs.lstatSync(path),
  access: async (path, mode) => fs.accessSync(path, mode),
  realpath: async path => fs.realpathSync(path),
}
