import fs from 'node:fs'
import { dirname } from 'node:path'
import {
  type FileCalls,
  isSameFile,
  MOUNTED,
  MOVED,
  refuseUnusable,
  storePathOf,
} from '../kit/durable-files.js'
import { SqliteError } from './failures.js'

/**
 * Resolves a path, so that all names of a database share one WAL. Never opens the file, as closing
 * it would free the locks that SQLite holds in this process (fcntl(2), record locks).
 */
export async function locate(path: string): Promise<string> {
  const refuse = (reason: string, options?: ErrorOptions) => new SqliteError(path, reason, options)
  if (path === '' || path === ':memory:') {
    throw refuse('is not a file; for animals in memory use memoryStorage()')
  }
  const real = await storePathOf(CALLS, path, '-wal', refuse)
  await refuseUnusable(CALLS, real, refuse)
  // The WAL would be in another file system than the database.
  if (deviceOf(real) !== deviceOf(dirname(real))) throw refuse(MOUNTED)
  // SQLite would create an empty database and delete the WAL. The WAL is checked first, because
  // a process that creates both begins with the database.
  if (sizeOf(`${real}-wal`) > 0 && sizeOf(real) === 0) {
    throw refuse(`is missing, but ${path}-wal has its last animals; restore it beside that file`)
  }
  return real
}

export type Watch = ReturnType<typeof watch>

/**
 * Watches a database, its WAL and its shared memory, without which others miss animals.
 * @param isWhole returns true if a connection without a cache can read the last animal
 */
export function watch(path: string, real: string, isWhole: () => boolean) {
  const known = new Map([['', fileAt(real)]])
  let gone: string | undefined
  let lookAt = 0

  return {
    /** Checks the files `now`, or every 100 ms at most, as that costs a tenth of an insert. */
    look(now: boolean): boolean {
      const time = performance.now()
      const looks = now || time >= lookAt
      if (looks) {
        lookAt = time + LOOK_EVERY_MS
        gone = [...known.keys()].find(end => !isInPlace(end))
      }
      if (gone !== undefined) throw new SqliteError(path + gone, MOVED)
      return looks
    },
    note(): void {
      for (const end of ['-wal', '-shm']) {
        const found = fileAt(real + end)
        if (found && isSameFile(found, known.get(end) ?? found)) known.set(end, found)
      }
    },
  }

  function isInPlace(end: string): boolean {
    const own = known.get(end)
    const found = fileAt(real + end)
    if (!found || !own || !isSameFile(found, own)) return false
    if (end === '' || found.size >= own.size) return true
    // SQLite shortens a WAL that has nothing left to copy, and begins it anew.
    return found.header !== own.header && isWhole()
  }
}

function fileAt(path: string) {
  const stats = fs.statSync(path, { throwIfNoEntry: false })
  if (!stats) return undefined
  const { dev, ino, size } = stats
  return { dev, ino, size, header: path.endsWith('-wal') ? headerOf(path) : '' }
}

/**
 * Checkpoint number and salts of a WAL (sqlite.org/fileformat2.html §4.1). SQLite holds no lock on a
 * WAL, so it may be opened and closed.
 */
function headerOf(path: string): string {
  const bytes = Buffer.alloc(32)
  const file = fs.openSync(path, 'r')
  try {
    return bytes.toString('latin1', 0, fs.readSync(file, bytes, 0, bytes.length, 0))
  } finally {
    fs.closeSync(file)
  }
}

const LOOK_EVERY_MS = 100

function deviceOf(path: string): number {
  return (fs.statSync(path, { throwIfNoEntry: false }) ?? fs.statSync(dirname(path))).dev
}

function sizeOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Synchronous inside: the first use of Node's threads takes longer than the whole opening. */
const CALLS: FileCalls = {
  stat: async (path, options) => fs.statSync(path, options),
  lstat: async path => fs.lstatSync(path),
  access: async (path, mode) => fs.accessSync(path, mode),
  realpath: async path => fs.realpathSync(path),
}
