import type { Stats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { unreadable } from './unreadable.js'
import { UsageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

/**
 * What a file holds.
 *
 * @param flag the option that names it
 * @throws UsageError for a file that cannot be read, or has no end
 */
export async function readBytes(path: string, ...flag: readonly string[]): Promise<Buffer> {
  const name = [...flag, withoutUrl(path)].join(' ')
  const stats = await stat(path).catch(() => undefined)
  if (stats && mayWaitForever(path, stats)) {
    throw new UsageError(`${name} is not a regular file`, ...flag)
  }
  try {
    return await readFile(path)
  } catch (error) {
    throw new UsageError(`${name} ${unreadable(error)}`, ...flag)
  }
}

/** A pipe or a device; but not what a shell passes, as in `--keys <(print-keys)`, or `--keys /dev/stdin`. */
function mayWaitForever(path: string, stats: Stats): boolean {
  if (stats.isFIFO()) return !/^\/dev\/(stdin|fd\/\d+)$/.test(path)
  return !stats.isFile() && !stats.isDirectory()
}
