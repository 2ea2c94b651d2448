import { setMaxListeners } from 'node:events'
import { constants } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import { count } from '../../../src/lib/pluralize.js'
import type { Operation } from '../../../src/pets/specification.js'
import { readFaults } from '../../test-double/explore/explore-options.js'
import { lastRequest } from '../../test-double/explore/reason.js'
import { type Schedule, scheduleText, splitWords } from '../../test-double/explore/schedule.js'
import { type Found, type Outcome, search } from '../../test-double/explore/search.js'
import type { Fault } from '../../test-double/faults/fault.js'
import { type JUnitCase, toJUnit } from '../../verdict/junit-xml.js'
import { KINDS, kindOf } from '../../verdict/log/fault-kinds.js'
import { findingText, type Report } from '../../verdict/report.js'
import type { Call } from '../commands.js'
import { type Problem, tellGitHub } from '../github-annotations.js'
import type { ExecSettings } from '../options.js'
import { createProgress, printError } from '../print.js'
import { prettyJson, writeOutputs } from '../read-and-write-files.js'
import { readAs } from '../usage-error.js'
import { ENDING, onSignals } from './child-process.js'
import {
  isProven,
  readSetup,
  runWithStore,
  type Setup,
  type StoreRun,
  verdictText,
} from './exec.js'
import { quoted, repeatText } from './repeat-command.js'
import { type CommandFailure, type ExploredFile, withCommands } from './report-file.js'
import { skippedText } from './skip-waits.js'

interface Ran extends Outcome<CommandFailure> {
  readonly schedule: Schedule
  readonly seconds: number
  readonly text: string
}

/** @returns the exit code: 1 if a run failed, or if there was nothing to explore */
export async function main(
  settings: ExecSettings,
  { operands: words, given }: Call,
): Promise<number> {
  const read = (texts: readonly string[]) =>
    readAs('--faults', () => readFaults(texts)).flatMap(fault => restrict(fault, settings.only))
  const once = settings.skipWaits && !given.has('faults') ? read(['delay:31s', 'hang']) : []
  const faults = [...read(splitWords(settings.faults.join(','))), ...once]
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
    const ran = await reach(schedule, setup, repeat, signal)
    all.push(ran)
    if (schedule.length === 0 && !ran.failure) {
      say(`Without a fault: ${requestsOf(ran)}.`, ran.text.trimEnd())
    }
    return ran
  }
  const { depth, schedules = Number.POSITIVE_INFINITY, jobs } = settings
  try {
    const found = await search<CommandFailure>({
      ...{ faults, once, depth, schedules, jobs, run },
      onRun({ runs, left, failures, schedule }) {
        progress.show(runs, runs + left, `${failures} failed  ${schedule}`)
        if (progress.isShown || performance.now() - lastSaid < PROGRESS) return
        lastSaid = performance.now()
        say(`${runs} of at most ${runs + left} runs, ${count(failures, 'failure')}.`)
      },
    })
    const result: ExploredFile = { version: 1, command: words, ...resultOf(found, all, settings) }
    const causes = causesOf(result.failures)
    const counts = result.problem ?? countsText(result, settings)
    const passed = passedText(result)
    const open = openTexts(result, settings, faults, all[0])
    say(...causes.map(failureText), ...passed, counts, ...open)
    if (settings.skipWaits) printError(skippedText(setup.skips))
    const about = { level: 'warning', title: 'exec --explore' } as const
    const doubts = passed.map((text): Problem => ({ ...about, text, cells: [text, ''] }))
    await tellGitHub(`exec --explore: ${counts}`, [...doubts, ...causes.map(problemOf)], [])
    await writeFiles(settings, result, all)
    return result.ok ? 0 : 1
  } catch (error) {
    progress.end()
    if (!signal.aborted) throw error
    say(...causesOf(all.flatMap(({ failure }) => failure ?? [])).map(failureText))
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
): Promise<Ran> {
  const { settings } = setup
  const started = performance.now()
  const capture = { timeoutMs: settings.timeout, signal }
  for (let triesLeft = 3; ; triesLeft--) {
    const outcome = await runWithStore(setup, schedule, capture, async run => {
      const { seen, code: exitCode, report } = run
      const output = stripVTControlCharacters(run.output)
      const requests = run.double.requests()
      // A scheduled fault may replace one that the command armed itself.
      const allow = schedule.length > 0 ? [...settings.allow, 'fault.unused'] : settings.allow
      const reason = reasonOf(run, { ...settings, allow })
      const failure = reason !== undefined && {
        schedule: scheduleText(schedule),
        ...{ reason, exitCode: exitCode ?? null, output, repeat },
        report: withCommands(report, requests),
        requests: requests.slice(-MOST_REQUESTS),
      }
      return {
        schedule,
        requests: seen.requests,
        isReached: seen.isReached(),
        failure: failure || undefined,
        seconds: (performance.now() - started) / 1_000,
        text: await verdictText(run, true),
      }
    })
    if (outcome.isReached || outcome.failure || triesLeft === 1) return outcome
  }
}

const VERDICT = 'the verdict: '

/** A failure comes soon after its fault. */
const MOST_REQUESTS = 100

function reasonOf(run: StoreRun, settings: ExecSettings): string | undefined {
  const { code, report, seen } = run
  if (code === undefined) {
    return `the command took longer than ${settings.timeout / 1_000} s, ${lastRequest(seen.requests)}`
  }
  if (code !== 0) return `the command exited with ${code}`
  if (run.isRefused) return 'every request got 401'
  if (isProven(run, settings)) return undefined
  return `${VERDICT}${brokenRules(report, settings).join(', ') || 'no request for this API'}`
}

function brokenRules({ findings, notes }: Report, { strict }: ExecSettings): readonly string[] {
  const found = strict === 'notes' ? [...findings, ...notes] : findings
  return found.filter(({ allowed }) => !allowed).map(({ rule }) => rule)
}

function nameOf(schedule: string): string {
  return schedule || 'without a fault'
}

const MOST_NAMES = 10

function namesOf(all: readonly { readonly schedule: string }[]): string {
  const names = all.slice(0, MOST_NAMES).map(({ schedule }) => nameOf(schedule))
  return `${names.join(', ')}${all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : ''}`
}

function resultOf(found: Found<CommandFailure>, all: readonly Ran[], settings: ExecSettings) {
  const { failures, notes, unreached, ...counts } = found
  const problem = nothingExplored(found, all, settings)
  return {
    ok: problem === undefined && failures.length === 0,
    problem: problem ?? null,
    ...counts,
    failures: failures.map(({ failure }) => failure),
    notes: notes.map(({ schedule, note }) => ({ schedule: scheduleText(schedule), note })),
    unreached: unreached.map(scheduleText),
  }
}

function nothingExplored(
  { runs, pruned, exhausted, unreached }: Found<CommandFailure>,
  [first]: readonly Ran[],
  settings: ExecSettings,
): string | undefined {
  const NOTHING = 'Nothing was explored:'
  if (first?.failure) {
    const { reason, report } = first.failure
    const rules = reason.startsWith(VERDICT) ? brokenRules(report, settings) : []
    if (rules.length === 0) return `${NOTHING} without a fault, ${reason}.`
    return `${NOTHING} without a fault, the run already breaks ${rules.join(', ')}. Repair it, or add --allow ${rules.join()}.`
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

function restrict(fault: Fault, only: readonly Operation[] | undefined): readonly Fault[] {
  if (!only || fault.operation) return [fault]
  return only.map(operation => ({ ...fault, operation }))
}

function passedText({ problem, notes }: ExploredFile): readonly string[] {
  if (problem !== null || notes.length === 0) return []
  return [
    `Passed although a response was cut off, malformed or an error, and not asked for again: ${namesOf(notes)}`,
  ]
}

function openTexts(
  result: ExploredFile,
  settings: ExecSettings,
  faults: readonly Fault[],
  first: Ran | undefined,
): readonly string[] {
  const { problem, unreached } = result
  const lines = [...setUpHint(result, settings, first)]
  const tried = faults.map(({ kind }) => kind)
  const kinds = KINDS.filter(kind => !tried.includes(kind))
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

/** Suggests sparing requests that only prepare a test: those with failures where others have none. */
function setUpHint(
  { failures }: ExploredFile,
  { only }: ExecSettings,
  first: Ran | undefined,
): readonly string[] {
  const failed = new Set(failures.flatMap(operationsOf))
  const sent = new Set(first?.requests.flatMap(({ operation }) => operation ?? []))
  const others = [...sent].filter(operation => !failed.has(operation))
  if (failed.size === 0 || others.length === 0 || only) return []
  const setUp = [...failed].join(' and ')
  return [
    `If ${setUp} is only the set-up of your test, give no faults to it: --only ${others.join()}`,
  ]
}

function operationsOf({ schedule }: CommandFailure): readonly string[] {
  return schedule.match(/\b\w+(?=#\d)/g) ?? []
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

/** Failures with the same reason, operations, rules and last lines have the same cause. */
function causesOf(failures: readonly CommandFailure[]): readonly (readonly CommandFailure[])[] {
  const causes = new Map<string, CommandFailure[]>()
  for (const failure of failures) {
    const { reason, report } = failure
    const rules = [...report.findings, ...report.notes].map(({ rule }) => rule)
    const lines = tailOf(failure).join('\n').replace(NOISE, '')
    const cause = [reason.replace(/#\d+/g, ''), operationsOf(failure), rules, lines].join('\n')
    causes.set(cause, [...(causes.get(cause) ?? []), failure])
  }
  return [...causes.values()]
}

/** Text that differs from run to run: times, ports, ids of processes, addresses and other hexadecimal ids. */
const NOISE =
  /\d{1,20}[.,]\d{1,20}|\d{1,20}(?= ?(?:[mµn]?s|sec(?:ond)?s?)\b)|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d|\d{5,40}|0x[\da-f]{1,40}|\b(?=[a-f-]{0,36}\d)[\da-f-]{8,36}\b/gi

function problemOf(same: readonly CommandFailure[]): Problem {
  const [{ schedule, reason, repeat }] = same as [CommandFailure]
  const more = same.length === 1 ? '' : ` and ${same.length - 1} more`
  const title = `${nameOf(schedule)}${more}`
  return { level: 'error', title, text: failureText(same), cells: [reason, repeat] }
}

const TAIL_LINES = 20

/** Tracebacks of Python, and stacks of Node, often end in library code. */
function withoutLibraries(output: string): string {
  return output
    .replace(/^ +File ".*\/(?:lib\/python|(?:site|dist)-packages)[^\n]*\n(?: {4}.*\n)*/gm, '')
    .replace(/^ +at .*(?:node:|\/node_modules\/).*\n/gm, '')
}

function tailOf({ output }: CommandFailure): readonly string[] {
  const lines = output.trim() === '' ? [] : withoutLibraries(output.trimEnd()).split('\n')
  const shown = lines.slice(-TAIL_LINES)
  return [...(shown.length < lines.length ? ['…'] : []), ...shown]
}

function failureText(same: readonly CommandFailure[]): string {
  const [failure] = same as [CommandFailure]
  const { reason, report, repeat } = failure
  const found = [
    ...report.findings.map(finding => findingText(finding)),
    ...report.notes.map(note => findingText(note, ' (likely)')),
  ]
  return [
    `Failed: ${namesOf(same)}: ${reason}`,
    ...tailOf(failure).map(line => `  | ${line}`),
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
  const cases = all.map(({ schedule, failure, isReached, seconds }) => ({
    seconds,
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
