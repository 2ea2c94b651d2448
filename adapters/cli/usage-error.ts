import { describeProblem, type OptionProblem } from '../../src/lib/options.js'
import { withoutUrl } from './without-secrets.js'

/** Invalid usage or input file: exit code 2. The message says how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The options to correct, such as `--port`. */
  readonly flags: readonly string[]

  constructor(message: string, ...flags: readonly string[]) {
    super(message)
    this.flags = flags
  }
}

/** The problem of an option in a program, with the option as it is on the command line. */
export function usageError(problem: OptionProblem, flag: string): UsageError {
  const { option, expected, got } = problem
  const shown = got === undefined ? undefined : withoutUrl(got)
  return new UsageError(describeProblem({ option, expected, got: shown }, flag), flag)
}
