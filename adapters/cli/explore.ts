import { setMaxListeners } from 'node:events'
import { constants } from 'node:os'
import { count } from '../../src/lib/count.js'
import type { OptionError } from '../../src/lib/options.js'
import { FAULT_KINDS, kindOf } from '../exchanges/fault-kinds.js'
import type { JournalEntry } from '../exchanges/recorder.js'
import { readFaults } from '../test-double/explore/options.js'
import { lastRequest, unnoticed } from '../test-double/explore/reason.js'
import { type Schedule, scheduleText, splitWords } from '../test-double/explore/schedule.js'
import { type Found, type Outcome, type Progress, search } from '../test-double/explore/search.js'
import type { Fault } from '../test-double/faults/fault.js'
import { type JUnitCase, toJUnit } from '../verdict/junit-xml.js'
import { findingText, type Report } from '../verdict/report.js'
import { ENDING, onSignals } from './child.js'
import { usageError } from './errors.js'
import { isProven, readSetup, runWithStore, type Setup, type StoreRun } from './exec.js'
import { writeOutputs } from './files.js'
import { EXPLORE, type ExecSettings, flagOf } from './options.js'
import { createProgress } from './output.js'

/** A run of the command that has failed. */
interface CommandFailure {
  readonly schedule: string
  readonly reason: string
  /** Undefined where it took too long. */
  readonly exitCode: number | undefined
  /** The end of what it has printed. */
  readonly output: string
  readonly report: Report
  readonly requests: readonly JournalEntry[]
}

/**
 * Runs a command again and again, each time next to a private store and with other faults, until
 * every schedule that runs have shown to be possible has been tried.
 *
 * @param given the options as they were written, for a command that repeats a run
 * @returns the exit code: 1 when a run has failed, or when there was nothing to explore
 * @throws UsageError
 */
export async function explore(
  settings: ExecSettings,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): Promise<number> {
  const faults = faultsOf(settings)
  const setup = await readSetup(settings, words)
  const interruption = listenToSignals()
  const all: Ran[] = []
  const tell = (failures: Found<CommandFailure>['failures']) => {
    for (const failed of causesOf(failures)) {
      say(failureText(failed, settings))
      say(repeatText(failed[0].schedule, words, given))
    }
  }
  let bar = createProgress(1)
  let lastSaid = performance.now()
  const say = (line: string) => {
    bar.end()
    process.stderr.write(`${line}\n`)
  }
  const run = async (schedule: Schedule) => {
    const outcome = await reach(schedule, setup, interruption.signal)
    all.push({ ...outcome, schedule })
    if (schedule.length === 0 && !outcome.failure) say(`Without a fault: ${requestsOf(outcome)}.`)
    return outcome
  }
  const onProgress = ({ runs, left, failures, schedule }: Progress) => {
    bar = createProgress(runs + left)
    bar.show(runs, `${failures} failed  ${schedule}`)
    if (bar.isShown || performance.now() - lastSaid < PROGRESS) return
    lastSaid = performance.now()
    say(`${runs} of at most ${runs + left} runs, ${count(failures, 'failure')}.`)
  }
  const { depth, schedules = Number.POSITIVE_INFINITY, jobs } = settings
  try {
    const options = { faults, depth, schedules, jobs, run, onProgress }
    const found = await search<CommandFailure>(options)
    const problem = nothingExplored(found, all)
    tell(found.failures)
    say(problem ?? summary(found, settings))
    if (!problem) for (const line of hints(found, all, settings, faults)) say(line)
    if (found.unreached.length > 0) {
      const texts = found.unreached.map(scheduleText).join('; ')
      say(`Not tried, as the command does not always send the same requests: ${texts}`)
    }
    await writeFiles(settings, found, all, problem)
    return problem === undefined && found.failures.length === 0 ? 0 : 1
  } catch (error) {
    bar.end()
    const code = interruption.code()
    if (code === undefined) throw error
    tell(all.flatMap(({ schedule, failure }) => (failure ? [{ schedule, failure }] : [])))
    return code
  } finally {
    interruption.end()
  }
}

/** In ms: how often it says off a terminal how far it is. */
const PROGRESS = 10_000

/** A run that has ended. */
interface Ran extends Outcome<CommandFailure> {
  readonly schedule: Schedule
}

/** Runs the command with these faults, several times where its requests come in another order than before. */
async function reach(
  schedule: Schedule,
  setup: Setup,
  signal: AbortSignal,
): Promise<Outcome<CommandFailure>> {
  const { settings } = setup
  const capture = { timeoutMs: settings.timeout, signal }
  for (let triesLeft = 3; ; triesLeft--) {
    const outcome = await runWithStore(setup, { schedule, capture }, async () => async run => {
      const { seen, code, output, report, double } = run
      const reason = reasonOf(run, settings)
      const failure = reason && {
        schedule: scheduleText(schedule),
        reason,
        exitCode: code,
        output,
        report,
        requests: double.requests(),
      }
      const note = unnoticed(double.requests())
      const isReached = seen.isReached()
      return { requests: seen.requests, isReached, failure: failure || undefined, note }
    })
    if (outcome.isReached || outcome.failure || triesLeft === 1) return outcome
  }
}

function reasonOf(
  { code, report, wasCalled, seen }: StoreRun,
  settings: ExecSettings,
): string | undefined {
  if (code === undefined) {
    return `the command took longer than ${settings.timeout / 1_000} s, ${lastRequest(seen.requests)}`
  }
  if (code !== 0) return `the command exited with ${code}`
  if (isProven(report, settings, wasCalled)) return undefined
  const found = [...report.findings, ...report.notes].filter(({ allowed }) => !allowed)
  return `the verdict: ${found.map(({ rule }) => rule).join(', ') || 'no request for this API'}`
}

/** @throws UsageError */
function faultsOf({ faults }: ExecSettings): readonly Fault[] {
  try {
    return readFaults(splitWords(faults.join(',')))
  } catch (error) {
    throw usageError(error as OptionError, '--faults')
  }
}

/** The first signal ends all runs. */
function listenToSignals() {
  const controller = new AbortController()
  // Every run listens to it.
  setMaxListeners(0, controller.signal)
  let code: number | undefined
  const end = onSignals(ENDING, name => {
    code ??= 128 + constants.signals[name]
    controller.abort()
  })
  return { signal: controller.signal, code: () => code, end }
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

/** What the search has left open, each in one line. */
function hints(
  { failures, notes }: Found<CommandFailure>,
  [first]: readonly Ran[],
  { faults: given }: ExecSettings,
  faults: readonly Fault[],
): readonly string[] {
  const lines: string[] = []
  const points = failures.flatMap(({ schedule }) => schedule.map(({ point }) => point))
  const failed = new Set(points.map(point => point.replace(/#.*/, '')))
  const sent = new Set(first?.requests.flatMap(({ operation }) => operation ?? []))
  const others = [...sent].filter(operation => !failed.has(operation))
  if (failed.size > 0 && others.length > 0) {
    const scoped = others.map(operation => `reset${JSON.stringify({ operation })}`)
    const setUp = [...failed].join(' and ')
    const option = `--faults ${quoted(scoped.join())}`
    lines.push(`If ${setUp} is only the set-up of your test, give no faults to it: ${option}`)
  }
  if (notes.length > 0) {
    const runs = notes.map(({ schedule }) => scheduleText(schedule)).join(', ')
    lines.push(
      `Passed although a response was cut off, malformed or an error, and not asked for again: ${runs}`,
    )
  }
  const tried = faults.map(({ kind }) => kind)
  const kinds = (Object.keys(FAULT_KINDS) as Fault['kind'][]).filter(kind => !tried.includes(kind))
  const more = kinds.map(kind => kindOf(kind).text?.examples[0] ?? kind)
  const option = `--faults ${quoted([...given, ...more].join())}`
  if (kinds.length > 0) lines.push(`Not tried: ${kinds.join(', ')}; add them: ${option}`)
  return lines
}

type Failed = [Failure, ...Failure[]]
type Failure = Found<CommandFailure>['failures'][number]

/** Failures with the same reason and rules, and faults at the same requests, have one cause. */
function causesOf(failures: readonly Failure[]): Iterable<Failed> {
  const causes = new Map<string, Failed>()
  for (const one of failures) {
    const { reason, report } = one.failure
    const rules = [...report.findings, ...report.notes].map(({ rule }) => rule)
    const cause = [reason, ...one.schedule.map(({ point }) => point), ...rules].join()
    const known = causes.get(cause)
    if (known) known.push(one)
    else causes.set(cause, [one])
  }
  return causes.values()
}

const TAIL_LINES = 20

function failureText(failed: Failed, { idempotency }: ExecSettings): string {
  const { reason, output, report } = failed[0].failure
  const lines = output.trim() === '' ? [] : output.trimEnd().split('\n')
  const shown = lines.slice(-TAIL_LINES)
  const tail = [...(shown.length < lines.length ? ['…'] : []), ...shown]
  const found = [
    ...report.findings.map(finding => findingText(finding)),
    ...report.notes.map(note => findingText(note, ' (likely)')),
  ]
  const isKeyless = report.notes.some(({ rule }) => rule === 'create.repeated') && !idempotency
  return [
    `Failed: ${failed.map(one => scheduleText(one.schedule) || 'without a fault').join(', ')}: ${reason}`,
    ...tail.map(line => `  | ${line}`),
    ...found.map(text => text.trimEnd()),
    ...(isKeyless ? ['    here, --idempotency enables it'] : []),
  ].join('\n')
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
  return `To repeat: npx animal-adoption-store ${all.map(quoted).join(' ')}`
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
  const { runs, pruned, exhausted, failures, notes, unreached } = found
  const result = {
    ok: problem === undefined && failures.length === 0,
    problem: problem ?? null,
    runs,
    pruned,
    exhausted,
    failures: failures.map(({ failure }) => failure),
    notes: notes.map(({ schedule, note }) => ({ schedule: scheduleText(schedule), note })),
    unreached: unreached.map(scheduleText),
  }
  const wasExplored = testCase('something was explored', problem && { message: problem })
  const cases = all.map(({ schedule, failure, isReached }) => {
    const problem = failure && { message: failure.reason, details: failure.output }
    const skipped = isReached || failure ? undefined : 'its requests did not come again'
    return testCase(scheduleText(schedule) || 'without a fault', problem, skipped)
  })
  const xml = () => toJUnit('animal-adoption-store explore', [wasExplored, ...cases])
  await writeOutputs([
    { flag: '--report', path: report, text: () => `${JSON.stringify(result, null, 2)}\n` },
    { flag: '--junit', path: junit, text: xml },
  ])
}

function testCase(name: string, failure: JUnitCase['failure'] | '', skipped?: string): JUnitCase {
  return { group: 'explore', name, failure: failure || undefined, skipped }
}
