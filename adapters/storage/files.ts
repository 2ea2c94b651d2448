import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The file system calls that finding a file needs. */
export interface FileCalls {
  stat(path: string, options: { bigint: true }): Promise<Stats>
  lstat(path: string): Promise<unknown>
  access(path: string, mode: number): Promise<void>
  realpath(path: string): Promise<string>
}

interface Stats {
  readonly nlink: bigint
  isFile(): boolean
  isDirectory(): boolean
}

/** Makes the error of a reason such as 'is a folder; name a file in it'. */
type Refuse = (reason: string, options?: ErrorOptions) => Error

/**
 * The real path of a file that may not exist yet, so that all its names share what lies beside it.
 *
 * @throws what `refuse` makes when there can be no such file
 */
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

/** @throws what `refuse` makes when an existing file cannot be read, written and replaced */
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

/** What is wrong with a path that stat answers with ELOOP. */
export const LOOP = 'is in a loop of symbolic links; remove the link'
export const MOUNTED = 'is mounted by itself and cannot be replaced; mount its folder instead'
/** The reason why a file is not used: what is written to it would be gone with this process. */
export const MOVED = 'was moved, removed or replaced while open; put it back, or restart'

/** What tells files of one machine apart, as `stat` gives it. */
interface FileId {
  readonly dev: number | bigint
  readonly ino: number | bigint
}

export function isSameFile(found: FileId | undefined, known: FileId): boolean {
  return found?.ino === known.ino && found.dev === known.dev
}

/** The answer, or undefined when there is no such file. */
export function ifPresent<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}
