import { describeProblem, OptionError, type OptionProblem } from '../../src/lib/check-options.js'
import { LOOP } from '../stores/kit/durable-files.js'

/** Invalid usage or input file: exit code 2. The message says how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function usageError(problem: OptionProblem, flag: string): UsageError {
  const { option, expected, got } = problem
  const shown = got === undefined ? undefined : withoutSecrets(got)
  return new UsageError(describeProblem({ option, expected, got: shown }, flag))
}

export function readAs<T>(flag: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof OptionError ? usageError(error, flag) : error
  }
}

/** Hides the password of a URL, for messages. Paths such as `C:\pets` or `h:80` stay. */
export function withoutSecrets(text: string): string {
  const start = /:\/\//.exec(text) ?? (text.includes('@') ? /:|\/\//.exec(text) : null)
  if (!start) return text
  return `${text.slice(0, start.index)}${start[0]}…${text.endsWith("'") ? "'" : ''}`
}

export function unreadable(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  return UNREADABLE[code] ?? `cannot be read: ${code}`
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  ELOOP: LOOP,
  EISDIR: 'is a folder; name a file in it',
  EACCES: 'is not readable; change its permissions',
}
