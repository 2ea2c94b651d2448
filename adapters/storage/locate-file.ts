import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifPresent } from './missing-file.js'

/** The file system calls that this needs. */
export interface FileCalls {
  stat(path: string, options: { bigint: true }): Promise<Stats>
  lstat(path: string): Promise<unknown>
  access(path: string, mode: number): Promise<void>
  realpath(path: string): Promise<string>
  readFile(path: string): Promise<Buffer>
}

interface Stats {
  readonly nlink: bigint
  isFile(): boolean
  isDirectory(): boolean
}

/**
 * The real path of a file that may not exist yet, so that all its names share what lies beside it.
 *
 * @param refuse makes the error of a reason such as 'is a folder; name a file in it'
 * @throws what `refuse` makes when the file cannot be read, written and replaced
 */
export async function locateFile(
  disk: FileCalls,
  path: string,
  refuse: (reason: string, options?: ErrorOptions) => Error,
): Promise<string> {
  const real = await ifPresent(disk.realpath(path)).catch(cause => {
    throw cause.code === 'ELOOP' ? refuse(LOOP, { cause }) : cause
  })
  if (real === undefined) {
    if (await ifPresent(disk.lstat(path))) {
      // Another process may have created it meanwhile.
      if (await ifPresent(disk.realpath(path))) return locateFile(disk, path, refuse)
      throw refuse('is a symbolic link to a missing file; remove the link')
    }
    const folder = await ifPresent(disk.realpath(dirname(path)))
    if (folder === undefined) {
      const missing = `${dirname(path)} does not exist; create that folder first`
      throw refuse(`cannot be created: ${missing}`)
    }
    return join(folder, basename(path))
  }
  const reason = unusable(await disk.stat(real, { bigint: true }))
  if (reason !== undefined) throw refuse(reason)
  await disk.access(real, constants.R_OK | constants.W_OK).catch(cause => {
    throw refuse('must be readable and writable; change its permissions', { cause })
  })
  if (await isMountPoint(disk, real)) {
    throw refuse('is mounted by itself and cannot be replaced; mount its folder instead')
  }
  return real
}

/** What is wrong with a path that stat answers with ELOOP. */
export const LOOP = 'is in a loop of symbolic links; remove the link'

function unusable(stats: Stats): string | undefined {
  if (stats.isDirectory()) return 'is a folder; name a file in it'
  if (!stats.isFile()) return 'is not a regular file'
  if (stats.nlink === 1n) return undefined
  return `has ${stats.nlink} hard links, of which only one could be updated; use a copy of it`
}

/** Whether a file is a bind mount, as by `docker -v pets.json:/data/pets.json`: proc(5), mountinfo. */
async function isMountPoint(disk: FileCalls, path: string): Promise<boolean> {
  const mounts = await disk.readFile('/proc/self/mountinfo').catch(() => '')
  return String(mounts)
    .split('\n')
    .some(line => line.split(' ')[4]?.replace(/\\(\d{3})/g, unescapeOctal) === path)
}

function unescapeOctal(_: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8))
}
