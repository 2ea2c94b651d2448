import { EXPLORE, flagOf } from '../options.js'

/** @param schedule the faults of the run; empty keeps those given */
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

/** Options for the search, for output files, and a secret; all others are part of every run. */
const LEFT_OUT: readonly string[] = [
  ...Object.keys(EXPLORE),
  ...['report', 'junit', 'record', 'har', 'apiKey'],
]

/** Quotes for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+:,./=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
