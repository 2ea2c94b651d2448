import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Awaitable } from '../../../src/lib/async.js'
import type { Disk, FileStats } from './disk.js'

export type FileCalls = Pick<Disk, 'stat' | 'lstat' | 'access' | 'realpath'>

type Refuse = (reason: string, options?: ErrorOptions) => Error

/** Resolves a path that may not exist yet, so that all names of a file share its neighbors. */
export async function realPathOf(disk: FileCalls, path: string, refuse: Refuse): Promise<string> {
  const real = await ifPresent(disk.realpath(path)).catch(cause => {
    throw cause.code === 'ELOOP' ? refuse(LOOP, { cause }) : cause
  })
  if (real !== undefined) return real
  if (await ifPresent(disk.lstat(path))) {
    // Another process may have created it meanwhile.
    if (await ifPresent(disk.realpath(path))) return realPathOf(disk, path, refuse)
    throw refuse('is a symbolic link to a missing file; remove the link')
  }
  const folder = await ifPresent(disk.realpath(dirname(path)))
  if (folder !== undefined) return join(folder, basename(path))
  const missing = `${dirname(path)} does not exist; create that folder first`
  throw refuse(`cannot be created: ${missing}`)
}

/** Resolves a file with a journal beside it, unless a link hides that. @param end of its name */
export async function storePathOf(
  disk: FileCalls,
  path: string,
  end: string,
  refuse: Refuse,
): Promise<string> {
  const real = await realPathOf(disk, path, refuse)
  const journal = await ifPresent(disk.realpath(path + end))
  if (journal === undefined || journal === real + end) return real
  const fix = 'move that beside the file, or remove it to lose its animals'
  throw refuse(`is a link to ${real}, but ${path}${end} is beside the link; ${fix}`)
}

export async function refuseUnusable(disk: FileCalls, real: string, refuse: Refuse): Promise<void> {
  const stats = await ifPresent(disk.stat(real, { bigint: true }))
  if (!stats) return
  if (stats.isDirectory()) throw refuse('is a folder; name a file in it')
  if (!stats.isFile()) throw refuse('is not a regular file')
  if (stats.nlink > 1n) {
    throw refuse(
      `has ${stats.nlink} hard links, of which only one could be updated; use a copy of it`,
    )
  }
  await disk.access(real, constants.R_OK | constants.W_OK).catch(cause => {
    throw refuse('must be readable and writable; change its permissions', { cause })
  })
}

export const LOOP = 'is in a loop of symbolic links; remove the link'
export const MOUNTED = 'is mounted by itself and cannot be replaced; mount its folder instead'
/** The reason to stop using a file: further writes would be lost with this process. */
export const MOVED = 'was moved, removed or replaced while open; put it back, or restart'

export interface FileId {
  readonly dev: number | bigint
  readonly ino: number | bigint
}

export function isSameFile(found: FileId | undefined, known: FileId): boolean {
  return found?.ino === known.ino && found.dev === known.dev
}

export function ifPresent<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}

export interface Replacement {
  /** In the same file system. */
  readonly temporary: string
  /** With `wx`, the temporary file is a lock. @default 'w' */
  readonly flags?: 'w' | 'wx'
  /** @default 0o666, less the umask */
  readonly mode?: number
  readonly content: () => Awaitable<Iterable<string | Uint8Array>>
  /** If it rejects, the file stays as it is. */
  readonly beforeRename?: () => Promise<void>
}

/**
 * Replaces a file in one step: readers and a crash find the old content or the new, and a call that
 * rejects has changed nothing. The new file is synced; its name is durable after `syncFolder`.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  { temporary, flags = 'w', mode, content, beforeRename }: Replacement,
): Promise<FileStats> {
  const file = await disk.open(temporary, flags, mode)
  try {
    const written = await write(disk, file, path, content).finally(() => disk.close(file))
    await beforeRename?.()
    await disk.rename(temporary, path).catch(error => {
      // A failed call may have done its work.
      const found = disk.statSync(path, { bigint: true, throwIfNoEntry: false })
      if (!isSameFile(found, written)) throw error
    })
    return written
  } catch (error) {
    await disk.unlink(temporary).catch(() => {})
    throw error
  }
}

async function write(
  disk: Disk,
  file: number,
  path: string,
  content: Replacement['content'],
): Promise<FileStats> {
  await keepOwner(disk, file, path)
  let position = 0
  for (const piece of await content()) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    for (let done = 0; done < bytes.length; ) {
      const left = bytes.length - done
      done += (await disk.write(file, bytes, done, left, position + done)).bytesWritten
    }
    position += bytes.length
  }
  await disk.fsync(file)
  return disk.fstat(file, { bigint: true })
}

/** Copies mode and owner of an existing file to a new one. Only root can give a file away. */
export async function keepOwner(disk: Disk, file: number, path: string): Promise<void> {
  const like = await ifPresent(disk.stat(path, { bigint: true }))
  if (!like) return
  const { uid, gid } = await disk.fstat(file, { bigint: true })
  if (uid !== like.uid || gid !== like.gid) {
    await disk.fchown(file, Number(like.uid), Number(like.gid)).catch(error => {
      if (error.code !== 'EPERM') throw error
    })
  }
  await disk.fchmod(file, Number(like.mode) & 0o7777)
}

/** Makes a created, renamed or removed name durable. Windows has no such call. */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await disk.open(dirname(path), 'r')
  try {
    await disk.fsync(folder)
  } finally {
    await disk.close(folder)
  }
}
