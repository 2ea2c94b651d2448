import { EXPLORE, flagOf } from '../options.js'

/**
 * The command that runs another one again.
 *
 * @param given the options as they were written
 * @param schedule the faults of the run; empty for those that were given
 */
export function repeatText(
  words: readonly string[],
  given: ReadonlyMap<string, string>,
  schedule = '',
): string {
  const options = [...given]
    .filter(([name]) => !LEFT_OUT.includes(name))
    .map(([name, value]) => `${flagOf(name)}${value && `=${value}`}`)
  const schedules = schedule === '' ? [] : ['--schedule', schedule]
  const all = ['exec', ...options, ...schedules, '--', ...words]
  return `npx animal-adoption-store ${all.map(quoted).join(' ')}`
}

/** Options of the search, files to write, and a secret. All others belong to every run. */
const LEFT_OUT: readonly string[] = [
  ...Object.keys(EXPLORE),
  ...['report', 'junit', 'record', 'har', 'apiKey'],
]

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+:,./=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
