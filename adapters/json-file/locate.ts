import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Disk, type FileStats, ifPresent } from './disk.js'
import { JsonFileError } from './json-file-error.js'

/**
 * The real path of a document, so that all its names share one lock.
 *
 * @throws JsonFileError when the document cannot be read, written and replaced
 */
export async function locate(disk: Disk, path: string): Promise<string> {
  const real = await ifPresent(disk.realpath(path))
  if (real === undefined) {
    if (await ifPresent(disk.lstat(path))) {
      throw new JsonFileError(path, 'is a symbolic link to a missing file; remove the link')
    }
    const folder = await ifPresent(disk.realpath(dirname(path)))
    if (folder === undefined) {
      const missing = `${dirname(path)} does not exist; create that folder first`
      throw new JsonFileError(path, `cannot be created: ${missing}`)
    }
    return join(folder, basename(path))
  }
  const reason = refusal(await disk.stat(real, { bigint: true }))
  if (reason !== undefined) throw new JsonFileError(path, reason)
  await disk.access(real, constants.R_OK | constants.W_OK).catch(cause => {
    throw new JsonFileError(path, 'must be readable and writable; change its permissions', {
      cause,
    })
  })
  if (await isMountPoint(disk, real)) {
    throw new JsonFileError(
      path,
      'is mounted by itself and cannot be replaced; mount its folder instead',
    )
  }
  return real
}

function refusal(stats: FileStats): string | undefined {
  if (stats.isDirectory()) return 'is a folder; name a file in it'
  if (!stats.isFile()) return 'is not a regular file'
  if (stats.nlink === 1n) return undefined
  return `has ${stats.nlink} hard links, of which only one could be updated; use a copy of it`
}

/** Whether a file is a bind mount, as by `docker -v pets.json:/data/pets.json`: proc(5), mountinfo. */
async function isMountPoint(disk: Disk, path: string): Promise<boolean> {
  const mounts = await disk.readFile('/proc/self/mountinfo').catch(() => '')
  return String(mounts)
    .split('\n')
    .some(line => line.split(' ')[4]?.replace(/\\(\d{3})/g, unescapeOctal) === path)
}

function unescapeOctal(_: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8))
}
