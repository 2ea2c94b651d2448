import { setTimeout } from 'node:timers/promises'
import { count } from '../../src/lib/count.js'
import { nearestFirst } from '../../src/lib/nearest.js'
import type { OptionError } from '../../src/lib/options.js'
import { BASE_PATH, PAGE_SIZE } from '../../src/pets/specification.js'
import { DIGEST } from '../../src/protocol/api-keys.js'
import { type HarSource, harOf } from '../exchanges/har.js'
import type { JournalEntry } from '../exchanges/recorder.js'
import { listen } from '../http/listen.js'
import type { JudgedDouble } from '../test-double/double.js'
import { parseSchedule, type Schedule } from '../test-double/explore/schedule.js'
import { type Watched, watchRequests } from '../test-double/explore/watch.js'
import { problemsOf } from '../verdict/annotations.js'
import { verdictJUnit } from '../verdict/junit.js'
import { type Finding, findingText, type Report, reportText } from '../verdict/report.js'
import { RULES } from '../verdict/rules/index.js'
import { type Capture, type ChildRun, runChild } from './child.js'
import { openControlled } from './controlled.js'
import { describedBy, withDocsOnDemand } from './docs.js'
import { controlToken, type Initial, type Keys, readApiKeys, readInitial } from './environment.js'
import { UsageError, usageError, withoutSecrets } from './errors.js'
import { type Output, writeOutputs } from './files.js'
import { type Problem, tellGitHub } from './github.js'
import type { ExecSettings, VerdictSettings } from './options.js'
import { note } from './output.js'
import { repeatText } from './repeat.js'
import { type VerdictFile, withCommands } from './report-file.js'
import { withStops } from './stops.js'

/** What a run has shown, as data: its text, its files and the exit code are made from it. */
export interface Result {
  readonly report: Report
  /** Why nothing was checked; undefined where something was. */
  readonly untested: string | undefined
}

/**
 * Runs a command next to a private store, and prints the verdict on everything it sent.
 *
 * @param given the options as they were written, for a command that repeats the run
 * @returns the exit code: the command's own, or 1 when `--strict`, `--require-faults` or `--schedule` fails
 * @throws UsageError
 */
export async function exec(
  settings: ExecSettings,
  words: readonly string[],
  given: ReadonlyMap<string, string>,
): Promise<number> {
  const setup = await readSetup(settings, words)
  const schedule = readSchedule(settings)
  return runWithStore(setup, { schedule }, async run => {
    const { code = 1, recording, exchanges } = run
    const result = withRequired(run, settings)
    const { findings, notes } = result.report
    const isClean = code === 0 && findings.length + notes.length === 0
    const withoutEffect = faultsWithoutEffect(run.seen)
    say(resultText(result))
    if (isClean && result.untested === undefined) say(await untriedText(run.double, schedule))
    if (run.late > 0) say(`${count(run.late, 'request')} ${LATE}\n`)
    const isMissing = settings.requireFaults && findings.some(isRequired)
    const isFine = isProven(result, settings) && !isMissing && withoutEffect.length === 0
    const exitCode = code === 0 && !isFine ? 1 : code
    const told = { command: words, exitCode, repeat: repeatText(words, given) }
    await tellVerdict(result, told, settings.record)
    await writeOutputs([
      ...reports(settings, result, told, run.double.requests()),
      { flag: '--har', path: settings.har, text: () => prettyJson(harOf(exchanges)) },
      { flag: '--record', path: settings.record, text: () => recording?.json() ?? '' },
    ])
    if (recording?.isFull) say(`Recording: ${settings.record} ends after 100,000 steps.\n`)
    for (const line of withoutEffect) say(`--schedule: ${line}\n`)
    return exitCode
  })
}

function resultText({ report, untested }: Result): string {
  const text = reportText(report, { withRequests: true })
  if (untested === undefined || report.requests === 0) return text
  const isEmpty = report.findings.length + report.notes.length === 0
  return `${isEmpty ? '' : text}${untested}\n`
}

const LATE =
  'came after the command had ended, from a process that it left running: they are not in the verdict.'

/** What a clean run says nothing about, in one line. */
async function untriedText(
  { requests, inspect }: JudgedDouble,
  schedule: Schedule,
): Promise<string> {
  const stored = await inspect.animals({ limit: PAGE_SIZE.maximum, after: 0 })
  const sent = requests()
  const lists = sent
    .filter(({ operation, status }) => operation === 'listPets' && status === 200)
    // A fault, or a redacted number, may have left something else than JSON.
    .map(({ body }) => body?.match(/\{"id":/g)?.length ?? 0)
  const parts = [
    schedule.length === 0 && sent.every(({ fault }) => !fault) && 'faults (add --explore)',
    lists.length > 0 && Math.max(...lists) === 0 && 'lists with animals (add --seed <file.json>)',
    stored.length > PAGE_SIZE.default &&
      lists.includes(PAGE_SIZE.default) &&
      'animals beyond the first 20 (limit)',
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `Not tried: ${parts.join(', ')}.\n`
}

function say(text: string): void {
  process.stderr.write(text)
}

/** What `exec` needs before it can run its command. */
export interface Setup {
  readonly settings: ExecSettings
  readonly words: readonly string[]
  readonly apiKeys: Keys
  /** The one that is passed on. */
  readonly apiKey: string
  readonly initial: Initial
}

/** @throws UsageError */
export async function readSetup(settings: ExecSettings, words: readonly string[]): Promise<Setup> {
  checkCommand(settings, words)
  const apiKeys = await readApiKeys(settings)
  const apiKey = firstKey(apiKeys, settings.clock ?? Date.now())
  if (apiKey === undefined) {
    throw new UsageError(
      `exec has no key to pass on: --keys ${settings.keys} holds only digests and expired keys; add a valid key in plain text`,
    )
  }
  const initial = await readInitial({ ...settings, empty: settings.seed === undefined })
  return { settings, words, apiKeys, apiKey, initial }
}

/** In plain text, and valid at this time. */
function firstKey(apiKeys: Keys, now: number): string | undefined {
  const usable = Object.entries(apiKeys).find(
    ([key, { expires = Number.POSITIVE_INFINITY }]) => !key.startsWith(DIGEST) && now < expires,
  )
  return usable?.[0]
}

/** What every kind of `exec` needs. @throws UsageError */
export function checkCommand({ allow }: VerdictSettings, words: readonly string[]): void {
  if (!words[0]) throw new UsageError('exec needs a command: exec -- <command>')
  const rules: readonly string[] = RULES.map(({ id }) => id)
  const unknown = allow.find(rule => !rules.includes(rule))
  if (unknown === undefined) return
  const got = `got '${withoutSecrets(unknown)}'; expected one of ${nearestFirst(unknown, rules).join(', ')}`
  throw new UsageError(`--allow takes a rule of the verdict, ${got}`)
}

/** A run of the command, and what it did to the store. */
export interface StoreRun extends ChildRun, Result {
  readonly double: JudgedDouble
  readonly seen: Watched
  /** How many requests came after its end. */
  readonly late: number
  /** With `--record`. */
  readonly recording: Awaited<ReturnType<JudgedDouble['record']>> | undefined
  /** With `--har`. */
  readonly exchanges: readonly HarSource[]
}

export interface RunOptions {
  readonly schedule: Schedule
  readonly capture?: Capture
}

/** Runs the command next to a store and a server of its own, which are closed after `use`. */
export function runWithStore<T>(
  { settings, words, apiKeys, apiKey, initial }: Setup,
  { schedule, capture }: RunOptions,
  use: (run: StoreRun) => Promise<T>,
): Promise<T> {
  return withStops(async stops => {
    const seen = watchRequests(schedule, Number.POSITIVE_INFINITY)
    const token = controlToken()
    const { handler, double } = await openControlled(settings, apiKeys, initial, token, seen.watch)
    const server = await listen(withDocsOnDemand(handler, describedBy(settings)), { port: 0 })
    stops.push(server.close, () => double.close())
    const recording = settings.record === undefined ? undefined : await double.record()
    const exchanges: HarSource[] = []
    let calls = 0
    double.events.listeners.add(({ act }) => {
      if (act.do === 'send' && act.operation !== undefined) calls++
      // At once: a key may be revoked, or a world deleted, before the run ends.
      if (act.do === 'answer' && settings.har !== undefined) exchanges.push(act.source())
    })
    const variables = {
      ...process.env,
      ADOPTION_STORE_BASE_URL: server.url,
      ADOPTION_STORE_API_KEY: apiKey,
      ADOPTION_STORE_CONTROL_URL: `${server.origin}/_control/${token}`,
    }
    const quiet = capture ? () => {} : announce(server.url, () => calls)
    const ended = await runChild(words, variables, capture).finally(quiet)
    const report = double.report({ since: 'start' })
    const untested = calls > 0 ? undefined : untestedText(double)
    const before = calls
    if (!capture && calls > 0) await setTimeout(GRACE)
    const late = calls - before
    return use({ ...ended, double, report, untested, seen, late, recording, exchanges })
  })
}

/** In ms: how long to look for a process that goes on sending. */
const GRACE = 100

/** On a terminal: what the command finds in its environment, and from time to time how far it is. */
function announce(url: string, calls: () => number): () => void {
  if (!process.stderr.isTTY) return () => {}
  note(`exec sets ADOPTION_STORE_BASE_URL=${url}, ADOPTION_STORE_API_KEY and …_CONTROL_URL`)
  const timer = setInterval(() => note(`${count(calls(), 'request')} so far`), 5_000)
  return () => clearInterval(timer)
}

/** The faults of `--schedule`. @throws UsageError */
function readSchedule({ schedule }: ExecSettings): Schedule {
  try {
    return schedule === undefined ? [] : parseSchedule(schedule)
  } catch (error) {
    throw usageError(error as OptionError, '--schedule')
  }
}

/** What to say of each fault of the schedule that has not happened. */
function faultsWithoutEffect({ missing, unaffected, requests }: Watched): readonly string[] {
  const never = missing().join(', ')
  const sent = requests.map(({ point }) => point).join(', ') || 'nothing'
  const missed = never === '' ? [] : [`${never} never came; the command sent ${sent}`]
  const refused = unaffected().map(
    ({ point, status = 'no response' }) =>
      `${point} came, but got ${status}: its fault had no effect`,
  )
  return [...missed, ...refused]
}

/** With `--require-faults`, a fault that never fired is certain to be wrong. */
function withRequired({ report, untested }: Result, { requireFaults }: ExecSettings): Result {
  if (!requireFaults) return { report, untested }
  const findings = [...report.findings, ...report.notes.filter(isRequired)]
  const notes = report.notes.filter(note => !isRequired(note))
  const ok = findings.every(({ allowed }) => allowed)
  return { report: { ...report, ok, findings, notes }, untested }
}

function isRequired({ rule, allowed }: Finding): boolean {
  return rule === 'fault.unused' && !allowed
}

function untestedText({ requests }: JudgedDouble): string {
  const [first] = requests()
  const shown = first ? ` The first request was ${first.method} ${first.url}.` : ''
  return `Verdict: no request was for an operation of this API, so nothing was checked.${shown} Append /pets to ADOPTION_STORE_BASE_URL, which ends in ${BASE_PATH}.`
}

/** Whether `--strict`, if given, is content. */
export function isProven(
  { report, untested }: Result,
  { strict, allow }: VerdictSettings,
): boolean {
  if (strict === undefined) return true
  const isClean = strict !== 'notes' || report.notes.every(({ rule }) => allow.includes(rule))
  return untested === undefined && report.ok && isClean
}

/** How a command was run, and how it ended. */
type Told = Pick<VerdictFile, 'command' | 'exitCode' | 'repeat'>

/** The files of `--report` and `--junit`. */
export function reports(
  { report: json, junit }: VerdictSettings,
  { report, untested }: Result,
  told: Told,
  journal: readonly JournalEntry[],
): readonly Output[] {
  const file = (): VerdictFile => ({
    ...{ version: 1, ...told, untested: untested ?? null },
    ...withCommands(report, journal),
  })
  return [
    { flag: '--report', path: json, text: () => prettyJson(file()) },
    { flag: '--junit', path: junit, text: () => verdictJUnit(report, untested) },
  ]
}

/** On GitHub, beside the code. @param record the file of the recording */
export async function tellVerdict(
  { report, untested }: Result,
  { repeat }: Told,
  record?: string,
): Promise<void> {
  const [headline = ''] = (untested ?? reportText(report)).split('\n')
  const problems = problemsOf(report).map(([level, finding]): Problem => {
    const { rule, seen, fix } = finding
    return { level, title: rule, text: findingText(finding), cells: [seen, fix] }
  })
  if (untested !== undefined) {
    problems.push({ level: 'warning', title: 'exec', text: headline, cells: [headline, ''] })
  }
  const open = record && `To see it: npx animal-adoption-store replay ${record}`
  await tellGitHub(headline, problems, [`To repeat: ${repeat}`, ...(open ? [open] : [])])
}

export function prettyJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
