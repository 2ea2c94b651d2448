import { realpathSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Awaitable } from '../../src/lib/async.js'
import type { ExecSettings } from './options.js'
import { UsageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

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

const INPUTS = ['seed', 'keys'] as const
const OUTPUTS = ['report', 'junit', 'record', 'har'] as const

/**
 * Refuses an output that would overwrite another one, or an input.
 *
 * @throws UsageError naming both options
 */
export function refuseSameFiles(settings: ExecSettings): void {
  const owners = new Map<string, string>()
  for (const name of [...INPUTS, ...OUTPUTS]) {
    const path = settings[name]
    if (path === undefined) continue
    const file = realPath(resolve(path))
    const owner = owners.get(file)
    if (owner !== undefined) {
      throw new UsageError(
        `${owner} and --${name} cannot both be ${withoutUrl(path)}; use two files`,
        owner,
        `--${name}`,
      )
    }
    owners.set(file, `--${name}`)
  }
}

/** Of a file that may not exist yet, nor its folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}

async function write({ flag, path, text }: Output): Promise<void> {
  if (path === undefined) return
  const content = await text()
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${flag} cannot write ${withoutUrl(path)}: ${code}`, flag)
  }
}
