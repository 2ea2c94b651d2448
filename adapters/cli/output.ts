import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Awaitable } from '../../src/lib/async.js'
import { UsageError } from './flags.js'

/** A result of a run, for a file that a flag names. */
export interface Output {
  readonly flag: string
  /** undefined where the flag was not given */
  readonly path: string | undefined
  readonly text: () => Awaitable<string>
}

/**
 * Writes the results of a run, each even if another fails, as a run cannot be had again. Creates missing
 * folders for the same reason.
 *
 * @throws UsageError naming every flag whose file could not be written
 */
export async function writeOutputs(outputs: readonly Output[]): Promise<void> {
  const problems: UsageError[] = []
  for (const output of outputs) await write(output).catch(problem => problems.push(problem))
  if (problems.length === 0) return
  const message = problems.map(({ message }) => message).join('; ')
  throw new UsageError(message, ...problems.flatMap(({ flags }) => flags))
}

async function write({ flag, path, text }: Output): Promise<void> {
  if (path === undefined) return
  const content = await text()
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${flag} cannot write ${path}: ${code}`, flag)
  }
}
