import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Awaitable } from '../../src/lib/async.js'
import { UsageError, unreadable, withoutSecrets } from './usage-error.js'

/** Reads the file that a flag names. @throws UsageError for one that cannot be read */
export async function readBytes(path: string, ...flag: readonly string[]): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const name = [...flag, withoutSecrets(path)].join(' ')
    throw new UsageError(`${name} ${unreadable(error)}`)
  }
}

export interface Output {
  readonly flag: string
  readonly path: string | undefined
  readonly text: () => Awaitable<string | Iterable<string>>
}

/** Writes each even if another fails, as a run cannot be repeated exactly. @throws UsageError */
export async function writeOutputs(outputs: readonly Output[]): Promise<void> {
  const problems: string[] = []
  for (const { flag, path, text } of outputs) {
    if (path === undefined) continue
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, await text())
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      problems.push(`${flag} cannot write ${withoutSecrets(path)}: ${code ?? message}`)
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('; '))
}

/** As `JSON.stringify(value, null, 2)`, in pieces, as an archive may be longer than a string can be. */
export function* prettyJson(value: object): Generator<string> {
  yield* piecesOf(value, '\n')
  yield '\n'
}

function* piecesOf(value: unknown, indent: string): Generator<string> {
  // Below that, as in an entry of an archive, one string is enough.
  const isWhole = indent.length > 6 || typeof value !== 'object' || value === null
  const fields = isWhole ? [] : Object.entries(value).filter(([, field]) => field !== undefined)
  if (fields.length === 0) return yield JSON.stringify(value, null, 2).replaceAll('\n', indent)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  for (const [at, [name, field]] of fields.entries()) {
    yield `${at === 0 ? open : ','}${indent}  ${open === '{' ? `${JSON.stringify(name)}: ` : ''}`
    yield* piecesOf(field, `${indent}  `)
  }
  yield `${indent}${close}`
}
