import { setMaxListeners } from 'node:events'
import { constants } from 'node:os'
import { count } from '../../../src/lib/pluralize.js'
import { readFaults } from '../../test-double/explore/explore-options.js'
import { lastRequest, unnoticed } from '../../test-double/explore/reason.js'
import { type Schedule, scheduleText, splitWords } from '../../test-double/explore/schedule.js'
import { type Found, type Outcome, search } from '../../test-double/explore/search.js'
import type { Fault } from '../../test-double/faults/fault.js'
import { type JUnitCase, toJUnit } from '../../verdict/junit-xml.js'
import { FAULT_KINDS, kindOf } from '../../verdict/log/fault-kinds.js'
import { findingText } from '../../verdict/report.js'
import { type Problem, tellGitHub } from '../github-annotations.js'
import type { ExecSettings } from '../options.js'
import { createProgress, printError } from '../print.js'
import { writeOutputs } from '../read-and-write-files.js'
import { readAs } from '../usage-error.js'
import { ENDING, onSignals } from './child-process.js'
import { isProven, prettyJson, readSetup, runWithStore, type Setup, type StoreRun } from './exec.js'
import { quoted, repeatText } from './repeat-command.js'
import { type CommandFailure, type ExploredFile, withCommands } from './report-file.js'

interface Ran extends Outcome<CommandFailure> {
  readonly schedule: Schedule
}

/**
 * Runs a command repeatedly, each time next to a private store and with other faults, until every
 * schedule that runs revealed has been tried.
 * @param given options as they were written, for the repeat commands
 * @returns the exit code: 1 if a run failed, or if there was nothing to explore
 * @throws UsageError
 */
export async function explore(
  settings: ExecSettings,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): Promise<number> {
  const faults = readAs('--faults', () => readFaults(splitWords(settings.faults.join(','))))
  const setup = await readSetup(settings, words)
  const interruption = new AbortController()
  const { signal } = interruption
  // Every run adds a listener.
  setMaxListeners(0, signal)
  const stopListening = onSignals(ENDING, name => interruption.abort(128 + constants.signals[name]))
  const all: Ran[] = []
  const progress = createProgress()
  let lastSaid = performance.now()
  const say = (...lines: readonly string[]) => {
    progress.end()
    printError(lines.map(line => `${line}\n`).join(''))
  }
  const run = async (schedule: Schedule) => {
    const repeat = repeatText(words, given, scheduleText(schedule))
    const outcome = await reach(schedule, setup, repeat, signal)
    all.push({ ...outcome, schedule })
    if (schedule.length === 0 && !outcome.failure) say(`Without a fault: ${requestsOf(outcome)}.`)
    return outcome
  }
  const { depth, schedules = Number.POSITIVE_INFINITY, jobs } = settings
  try {
    const found = await search<CommandFailure>({
      ...{ faults, depth, schedules, jobs, run },
      onRun({ runs, left, failures, schedule }) {
        progress.show(runs, runs + left, `${failures} failed  ${schedule}`)
        if (progress.isShown || performance.now() - lastSaid < PROGRESS) return
        lastSaid = performance.now()
        say(`${runs} of at most ${runs + left} runs, ${count(failures, 'failure')}.`)
      },
    })
    const result: ExploredFile = { version: 1, command: words, ...resultOf(found, all) }
    const texts = summary(result, settings, faults, all[0])
    say(...failureTexts(result.failures), ...texts)
    await tellGitHub(`exec --explore: ${texts[0]}`, result.failures.map(problemOf), [])
    await writeFiles(settings, result, all)
    return result.ok ? 0 : 1
  } catch (error) {
    progress.end()
    if (!signal.aborted) throw error
    say(...failureTexts(all.flatMap(({ failure }) => failure ?? [])))
    return signal.reason
  } finally {
    stopListening()
  }
}

/** Interval in ms between progress reports off a terminal. */
const PROGRESS = 10_000

/** Runs the command with these faults, several times if the order of its requests varies. */
async function reach(
  schedule: Schedule,
  setup: Setup,
  repeat: string,
  signal: AbortSignal,
): Promise<Outcome<CommandFailure>> {
  const { settings } = setup
  const capture = { timeoutMs: settings.timeout, signal }
  for (let triesLeft = 3; ; triesLeft--) {
    const outcome = await runWithStore(setup, schedule, capture, async run => {
      const { seen, code: exitCode, output, report } = run
      const requests = run.double.requests()
      // A scheduled fault may replace one that the command armed itself.
      const allow = schedule.length > 0 ? [...settings.allow, 'fault.unused'] : settings.allow
      const reason = reasonOf(run, { ...settings, allow })
      const failure = reason !== undefined && {
        schedule: scheduleText(schedule),
        ...{ reason, exitCode: exitCode ?? null, output, repeat },
        ...{ report: withCommands(report, requests), requests },
      }
      return {
        requests: seen.requests,
        isReached: seen.isReached(),
        failure: failure || undefined,
        note: unnoticed(requests),
      }
    })
    if (outcome.isReached || outcome.failure || triesLeft === 1) return outcome
  }
}

function reasonOf(run: StoreRun, settings: ExecSettings): string | undefined {
  const { code, report, seen } = run
  if (code === undefined) {
    return `the command took longer than ${settings.timeout / 1_000} s, ${lastRequest(seen.requests)}`
  }
  if (code !== 0) return `the command exited with ${code}`
  if (run.isRefused) return 'every request got 401'
  if (isProven(run, settings)) return undefined
  const found = [...report.findings, ...report.notes].filter(({ allowed }) => !allowed)
  return `the verdict: ${found.map(({ rule }) => rule).join(', ') || 'no request for this API'}`
}

function nameOf(schedule: string): string {
  return schedule || 'without a fault'
}

function resultOf(found: Found<CommandFailure>, all: readonly Ran[]) {
  const { runs, pruned, exhausted, failures, notes, unreached } = found
  const problem = nothingExplored(found, all)
  return {
    ok: problem === undefined && failures.length === 0,
    problem: problem ?? null,
    runs,
    pruned,
    exhausted,
    failures: failures.map(({ failure }) => failure),
    notes: notes.map(({ schedule, note }) => ({ schedule: scheduleText(schedule), note })),
    unreached: unreached.map(scheduleText),
  }
}

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
  // Every fault was proven to change nothing.
  if (exhausted && pruned > 0) return undefined
  return `${NOTHING} no fault was tried. See --faults and --schedules.`
}

/** One line each for the result and for what the search left open. */
function summary(
  result: ExploredFile,
  settings: ExecSettings,
  faults: readonly Fault[],
  first: Ran | undefined,
): readonly string[] {
  const { problem, notes, unreached } = result
  const lines = [problem ?? countsText(result, settings), ...setUpHint(result, first)]
  if (problem === null && notes.length > 0) {
    const runs = notes.map(({ schedule }) => nameOf(schedule)).join(', ')
    lines.push(
      `Passed although a response was cut off, malformed or an error, and not asked for again: ${runs}`,
    )
  }
  const tried = faults.map(({ kind }) => kind)
  const kinds = (Object.keys(FAULT_KINDS) as Fault['kind'][]).filter(kind => !tried.includes(kind))
  if (problem === null && kinds.length > 0) {
    const more = kinds.map(kind => kindOf(kind).text?.examples[0] ?? kind)
    const option = `--faults ${quoted([...settings.faults, ...more].join())}`
    lines.push(`Not tried: ${kinds.join(', ')}; add them: ${option}`)
  }
  if (unreached.length > 0) {
    const texts = unreached.join('; ')
    lines.push(`Not tried, as the command does not always send the same requests: ${texts}`)
  }
  return lines
}

/**
 * Suggests sparing requests that only prepare a test: those with failures where others have none.
 */
function setUpHint({ failures }: ExploredFile, first: Ran | undefined): readonly string[] {
  const points = failures.flatMap(({ schedule }) => schedule.match(/\b\w+(?=#)/g) ?? [])
  const failed = new Set<string>(points)
  const sent = new Set(first?.requests.flatMap(({ operation }) => operation ?? []))
  const others = [...sent].filter(operation => !failed.has(operation))
  if (failed.size === 0 || others.length === 0) return []
  const scoped = others.map(operation => `reset${JSON.stringify({ operation })}`).join()
  const setUp = [...failed].join(' and ')
  const option = `--faults ${quoted(scoped)}`
  return [`If ${setUp} is only the set-up of your test, give no faults to it: ${option}`]
}

function countsText(
  { runs, pruned, exhausted, failures, unreached }: ExploredFile,
  { depth, schedules = Number.POSITIVE_INFINITY }: ExecSettings,
): string {
  const counts = `${count(runs, 'run')}, ${pruned} pruned, ${count(failures.length, 'failure')}`
  const faults = count(depth, 'fault')
  if (exhausted) return `Explored every schedule of at most ${faults}: ${counts}.`
  if (unreached.length > 0 && runs < schedules) return `Explored most schedules: ${counts}.`
  return `Stopped by --schedules ${schedules} before every schedule of at most ${faults} was tried: ${counts}.`
}

/** Prints failures as one if they have the same reason, rules and faulted requests. */
function failureTexts(failures: readonly CommandFailure[]): readonly string[] {
  const causes = new Map<string, CommandFailure[]>()
  for (const failure of failures) {
    const { reason, report, schedule } = failure
    const points = schedule.split(' ').map(step => step.replace(/=.*/, ''))
    const rules = [...report.findings, ...report.notes].map(({ rule }) => rule)
    const cause = [reason, ...points, ...rules].join()
    causes.set(cause, [...(causes.get(cause) ?? []), failure])
  }
  return [...causes.values()].map(failureText)
}

function problemOf(failure: CommandFailure): Problem {
  const { schedule, reason, repeat } = failure
  const title = nameOf(schedule)
  return { level: 'error', title, text: failureText([failure]), cells: [reason, repeat] }
}

const TAIL_LINES = 20

/** Tracebacks of Python, and stacks of Node, often end in library code. */
function withoutLibraries(output: string): string {
  return output
    .replace(/^ +File ".*\/(?:lib\/python|(?:site|dist)-packages)[^\n]*\n(?: {4}.*\n)*/gm, '')
    .replace(/^ +at .*(?:node:|\/node_modules\/).*\n/gm, '')
}

function failureText(same: readonly CommandFailure[]): string {
  const [{ reason, output, report, repeat }] = same as [CommandFailure]
  const lines = output.trim() === '' ? [] : withoutLibraries(output.trimEnd()).split('\n')
  const shown = lines.slice(-TAIL_LINES)
  const tail = [...(shown.length < lines.length ? ['…'] : []), ...shown]
  const found = [
    ...report.findings.map(finding => findingText(finding)),
    ...report.notes.map(note => findingText(note, ' (likely)')),
  ]
  return [
    `Failed: ${same.map(({ schedule }) => nameOf(schedule)).join(', ')}: ${reason}`,
    ...tail.map(line => `  | ${line}`),
    ...found.map(text => text.trimEnd()),
    `To repeat: ${repeat}`,
  ].join('\n')
}

function requestsOf({ requests }: Outcome<unknown>): string {
  const points = requests.map(({ point }) => point)
  const shown = points.slice(0, 10).join(' ')
  return `${count(points.length, 'request')}${shown && `, ${shown}`}${points.length > 10 ? ' …' : ''}`
}

async function writeFiles(
  { report, junit }: ExecSettings,
  result: ExploredFile,
  all: readonly Ran[],
): Promise<void> {
  const wasExplored = testCase('something was explored', result.problem)
  const cases = all.map(({ schedule, failure, isReached }) => ({
    ...testCase(nameOf(scheduleText(schedule)), failure?.reason, failure?.output),
    skipped: isReached || failure ? undefined : 'its requests did not come again',
  }))
  const xml = () => toJUnit('animal-adoption-store explore', [wasExplored, ...cases])
  await writeOutputs([
    { flag: '--report', path: report, text: () => prettyJson(result) },
    { flag: '--junit', path: junit, text: xml },
  ])
}

function testCase(name: string, message: string | null = null, details?: string): JUnitCase {
  const failure = message === null ? undefined : { message, ...(details && { details }) }
  return { group: 'explore', name, failure }
}
