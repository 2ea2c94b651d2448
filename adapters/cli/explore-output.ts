import { count } from '../../src/lib/count.js'
import { type Schedule, scheduleText } from '../test-double/explore/schedule.js'
import type { Found, Outcome, Progress } from '../test-double/explore/search.js'
import { type JUnitCase, toJUnit } from '../verdict/junit-xml.js'
import type { CommandFailure } from './explored-run.js'
import { flagOf } from './option.js'
import { EXPLORE, type ExecSettings } from './options.js'
import { writeOutputs } from './output.js'
import { createProgress } from './progress.js'

/** What `exec --explore` says on stderr and in its files. */
export interface ExploreOutput {
  /** A run has ended. */
  ran(schedule: Schedule, outcome: Outcome<CommandFailure>): void
  progress(progress: Progress): void
  /** Removes the progress bar. */
  clear(): void
  /** Says and writes the result. @returns the exit code */
  end(found: Found<CommandFailure>): Promise<number>
}

interface Ran extends Outcome<CommandFailure> {
  readonly schedule: string
}

export function createExploreOutput(
  settings: ExecSettings,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): ExploreOutput {
  const all: Ran[] = []
  let bar = createProgress(1)
  const say = (line: string) => process.stderr.write(`${line}\n`)

  return {
    ran(schedule, outcome) {
      const text = scheduleText(schedule)
      all.push({ ...outcome, schedule: text })
      bar.end()
      if (text === '' && !outcome.failure) say(`Without a fault: ${requestsOf(outcome)}.`)
      if (outcome.failure) say(failureText(outcome.failure))
    },
    progress({ runs, left, failures, schedule }) {
      bar = createProgress(runs + left)
      bar.show(runs, `${failures} failed  ${schedule}`)
    },
    clear: () => bar.end(),
    async end(found) {
      bar.end()
      const problem = nothingExplored(found, all)
      say(problem ?? summary(found, settings))
      if (found.unreached.length > 0) say(unreachedText(found.unreached))
      const [failed] = found.failures
      if (failed) say(repeatText(failed.schedule, words, given))
      await writeFiles(settings, found, all, problem)
      return problem === undefined && found.failures.length === 0 ? 0 : 1
    },
  }
}

/** Why a result without failures would prove nothing. */
function nothingExplored(
  { runs, pruned, exhausted, failures, unreached }: Found<CommandFailure>,
  [first]: readonly Ran[],
): string | undefined {
  const NOTHING = 'Nothing was explored:'
  const [failure] = failures
  if (failure?.schedule.length === 0) {
    return `${NOTHING} ${failure.failure.reason} without any fault.`
  }
  if (first?.requests.length === 0) {
    return `${NOTHING} the command sent no request. Does it use ADOPTION_STORE_BASE_URL?`
  }
  if (runs - 1 - unreached.length > 0) return undefined
  if (unreached.length > 0) return `${NOTHING} no run sent the requests of an earlier one again.`
  // Every fault was shown to change nothing.
  if (exhausted && pruned > 0) return undefined
  return `${NOTHING} no fault was tried. See --faults and --schedules.`
}

function summary(
  { runs, pruned, exhausted, failures, unreached }: Found<CommandFailure>,
  { depth, schedules = Number.POSITIVE_INFINITY }: ExecSettings,
): string {
  const counts = `${count(runs, 'run')}, ${pruned} pruned, ${count(failures.length, 'failure')}`
  const faults = count(depth, 'fault')
  if (exhausted) return `Explored every schedule of at most ${faults}: ${counts}.`
  if (unreached.length > 0 && runs < schedules) return `Explored most schedules: ${counts}.`
  return `Stopped by --schedules ${schedules} before every schedule of at most ${faults} was tried: ${counts}.`
}

function unreachedText(unreached: readonly Schedule[]): string {
  const texts = unreached.map(scheduleText).join('; ')
  return `Not tried, as the command does not always send the same requests: ${texts}`
}

const TAIL_LINES = 20

function failureText({ schedule, reason, output }: CommandFailure): string {
  const lines = output.trimEnd().split('\n')
  const tail = lines.slice(-TAIL_LINES).map(line => `  | ${line}\n`)
  const cut = lines.length > TAIL_LINES ? '  | …\n' : ''
  return `Failed: ${schedule || 'without a fault'}: ${reason}\n${cut}${output.trim() === '' ? '' : tail.join('')}`.trimEnd()
}

function repeatText(
  schedule: Schedule,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): string {
  const text = scheduleText(schedule)
  const options = [...given]
    .filter(([name]) => !OF_SEARCH.includes(name))
    .map(([name, value]) => `${flagOf(name)}${value && `=${value}`}`)
  const schedules = text === '' ? [] : ['--schedule', text]
  const all = ['exec', ...options, ...schedules, '--', ...words]
  return `To repeat: animal-adoption-store ${all.map(quoted).join(' ')}`
}

/** Options of the search and its files: all others hold for each run. */
const OF_SEARCH: readonly string[] = [...Object.keys(EXPLORE), 'report', 'junit']

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+:,./=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function requestsOf({ requests }: Outcome<unknown>): string {
  const points = requests.map(({ point }) => point)
  const shown = points.slice(0, 10).join(' ')
  return `${count(points.length, 'request')}${shown && `, ${shown}`}${points.length > 10 ? ' …' : ''}`
}

async function writeFiles(
  { report, junit }: ExecSettings,
  found: Found<CommandFailure>,
  all: readonly Ran[],
  problem: string | undefined,
): Promise<void> {
  const { runs, pruned, exhausted, failures, unreached } = found
  const result = {
    ok: problem === undefined && failures.length === 0,
    problem: problem ?? null,
    runs,
    pruned,
    exhausted,
    failures: failures.map(({ failure }) => failure),
    unreached: unreached.map(scheduleText),
  }
  await writeOutputs([
    { flag: '--report', path: report, text: () => `${JSON.stringify(result, null, 2)}\n` },
    { flag: '--junit', path: junit, text: () => junitOf(all, problem) },
  ])
}

/** A test case for each run, and one for whether there was anything to explore. */
function junitOf(all: readonly Ran[], problem: string | undefined): string {
  const wasExplored: JUnitCase = {
    group: 'explore',
    name: 'something was explored',
    failure: problem === undefined ? undefined : { message: problem },
  }
  return toJUnit('animal-adoption-store explore', [wasExplored, ...all.map(testCase)])
}

function testCase({ schedule, failure, isReached }: Ran): JUnitCase {
  const name = schedule || 'without a fault'
  if (failure) {
    const { reason: message, output: details } = failure
    return { group: 'explore', name, failure: { message, details } }
  }
  const skipped = isReached ? undefined : 'its requests did not come again'
  return { group: 'explore', name, skipped }
}
