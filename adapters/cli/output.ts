import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UsageError } from './flags.js'

/**
 * Writes the result of a run. Its folder is created where it is missing, as the result is not to be
 * had again.
 *
 * @throws UsageError naming the flag
 */
export async function writeOutput(flag: string, path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${flag} cannot write ${path}: ${code}`, flag)
  }
}
