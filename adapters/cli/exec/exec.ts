import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { nearestFirst } from '../../../src/lib/did-you-mean.js'
import { count } from '../../../src/lib/pluralize.js'
import { isInstant } from '../../../src/lib/time.js'
import { BASE_PATH, PAGE_SIZE } from '../../../src/pets/specification.js'
import { DIGEST } from '../../../src/protocol/api-keys.js'
import type { JudgedDouble } from '../../test-double/double.js'
import { parseSchedule, type Schedule } from '../../test-double/explore/schedule.js'
import { type Watched, watchRequests } from '../../test-double/explore/watch-requests.js'
import { problemsOf } from '../../verdict/annotations.js'
import { verdictJUnit } from '../../verdict/junit.js'
import { type HarSource, harOf } from '../../verdict/log/har.js'
import type { JournalEntry } from '../../verdict/log/recorder.js'
import {
  type Finding,
  findingText,
  type Report,
  reportText,
  resultText,
} from '../../verdict/report.js'
import { RULES } from '../../verdict/rules/index.js'
import type { Call } from '../commands.js'
import { type Problem, tellGitHub } from '../github-annotations.js'
import type { ExecSettings, VerdictSettings } from '../options.js'
import { note, printError } from '../print.js'
import { type Output, prettyJson, writeOutputs } from '../read-and-write-files.js'
import { openControlled } from '../serve/controlled-store.js'
import { describedBy, withDocsOnDemand } from '../serve/docs-on-demand.js'
import { listenOn } from '../serve/listen-on-port.js'
import { controlToken, readApiKeys, readInitial } from '../serve/served-store.js'
import { withStops } from '../shutdown.js'
import { readAs, UsageError, withoutSecrets } from '../usage-error.js'
import { type Capture, type ChildRun, runChild } from './child-process.js'
import { repeatText } from './repeat-command.js'
import { type VerdictFile, withCommands } from './report-file.js'
import { createVirtualTime, skippedText, skipWaits } from './skip-waits.js'

export interface Result {
  readonly report: Report
  /** Why nothing was checked; undefined if something was. */
  readonly untested: string | undefined
  /** Requests after the end of the command, which are not in the report. */
  readonly late: number
}

/** @returns the command's exit code, or 1 if `--strict`, `--require-faults` or `--schedule` fails */
export async function main(
  settings: ExecSettings,
  { operands: words, given }: Pick<Call, 'operands' | 'given'>,
): Promise<number> {
  const setup = await readSetup(settings, words)
  const schedule = readAs('--schedule', () => parseSchedule(settings.schedule ?? ''))
  return runWithStore(setup, schedule, undefined, async run => {
    const { report, recording, exchanges, double } = run
    const { findings } = report
    const withoutEffect = faultsWithoutEffect(run.seen)
    printError(await verdictText(run, schedule.length > 0))
    if (settings.skipWaits) printError(skippedText(setup.skips))
    printError(lateText(run))
    if (recording?.isFull) printError(`Recording: ${settings.record} ends after 100,000 steps.\n`)
    for (const line of withoutEffect) printError(`--schedule: ${line}\n`)
    const isMissing = settings.requireFaults && findings.some(isRequired)
    return conclude(run, {
      ...{ settings, words, given },
      isFine: withoutEffect.length === 0 && !isMissing,
      journal: double.requests(),
      outputs: [
        { flag: '--har', path: settings.har, text: () => prettyJson(harOf(exchanges)) },
        { flag: '--record', path: settings.record, text: () => recording?.json() ?? '' },
      ],
    })
  })
}

function lateText({ late }: Pick<Result, 'late'>): string {
  const LATE = 'after the command had ended, from a process that it left running'
  return late === 0 ? '' : `${count(late, 'request')} came ${LATE}: they are not in the verdict.\n`
}

/** The verdict, and of a clean run what it did not exercise. */
export async function verdictText(
  { code, report, untested, double }: StoreRun,
  hasFaults: boolean,
): Promise<string> {
  const isClean = code === 0 && report.findings.length + report.notes.length === 0
  const untried = isClean && untested === undefined ? await untriedText(double, hasFaults) : ''
  return resultText(report, untested) + untried
}

async function untriedText(
  { requests, inspect }: JudgedDouble,
  hasFaults: boolean,
): Promise<string> {
  const stored = await inspect.animals({ limit: PAGE_SIZE.maximum, after: 0 })
  const sent = requests()
  const lists = sent
    .filter(({ operation, status }) => operation === 'listPets' && status === 200)
    // A fault, or a redacted number, may have made the body invalid JSON.
    .map(({ body }) => body?.match(/\{"id":/g)?.length ?? 0)
  const parts = [
    !hasFaults && sent.every(({ fault }) => !fault) && 'faults (add --explore)',
    lists.length > 0 &&
      stored.every(({ categoryId }) => typeof categoryId === 'number') &&
      `lists with ${Math.max(...lists) === 0 ? 'animals and ' : ''}64-bit integers (add --seed edge, and let a test compare categoryId: nothing else sees what a client reads)`,
    stored.length > PAGE_SIZE.default &&
      lists.includes(PAGE_SIZE.default) &&
      'animals beyond the first 20 (limit)',
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `Not tried: ${parts.join(', ')}.\n`
}

export type Setup = Awaited<ReturnType<typeof readSetup>>

export async function readSetup(settings: ExecSettings, words: readonly string[]) {
  checkCommand(settings, words)
  const apiKeys = await readApiKeys(settings)
  const now = settings.time ?? Date.now()
  // The key for the command: in plain text, and valid now.
  const [apiKey] =
    Object.entries(apiKeys).find(
      ([key, { expiresAt }]) =>
        !key.startsWith(DIGEST) && (expiresAt === undefined || now < isInstant.read(expiresAt)),
    ) ?? []
  if (apiKey === undefined) {
    throw new UsageError(
      `exec has no key to pass on: --keys ${settings.keys} holds only digests and expired keys; add a valid key in plain text`,
    )
  }
  const initial = await readInitial({ ...settings, empty: settings.seed === undefined })
  const skips = { ms: 0, hasStranger: false }
  return { settings, words, apiKeys, apiKey, initial, skips }
}

export function checkCommand({ allow }: VerdictSettings, words: readonly string[]): void {
  if (!words[0]) throw new UsageError('exec needs a command: exec -- <command>')
  const rules: readonly string[] = RULES.map(({ id }) => id)
  const unknown = allow.find(rule => !rules.includes(rule))
  if (unknown === undefined) return
  const known = nearestFirst(unknown, rules).join(', ')
  const got = `got '${withoutSecrets(unknown)}'; expected one of ${known}`
  throw new UsageError(`--allow takes a rule of the verdict, ${got}`)
}

export interface StoreRun extends ChildRun, Result {
  readonly double: JudgedDouble
  readonly seen: Watched
  readonly isRefused: boolean
  readonly recording: Awaited<ReturnType<JudgedDouble['record']>> | undefined
  /** Only with `--har`. */
  readonly exchanges: readonly HarSource[]
}

/** Runs the command next to its own store and server, which are closed after `use`. */
export function runWithStore<T>(
  { settings, words, apiKeys, apiKey, initial, skips }: Setup,
  schedule: Schedule,
  capture: Capture | undefined,
  use: (run: StoreRun) => Promise<T>,
): Promise<T> {
  return withStops(async stops => {
    const seen = watchRequests(schedule, Number.POSITIVE_INFINITY)
    const token = controlToken()
    const time = settings.skipWaits ? createVirtualTime() : undefined
    const { handler, double, doubles } = await openControlled(
      ...[settings, apiKeys, initial, token, seen.watch, time?.now],
    )
    const documented = withDocsOnDemand(handler, describedBy(settings))
    const { host, advertise } = settings
    const server = await listenOn(documented, { host, port: 0 }, 'port')
    const origin = advertise ? `http://${advertise}:${server.port}` : server.origin
    const baseUrl = origin + handler.basePath
    stops.push(server.close, () => double.close())
    const tooLong = new AbortController()
    const waits = { port: server.port, doubles, longest: capture?.timeoutMs, tooLong }
    const skipping = time && (await skipWaits({ time, ...waits }))
    if (skipping) stops.push(skipping.close)
    const recording = settings.record === undefined ? undefined : await double.record()
    const exchanges: HarSource[] = []
    const calls = new Set<number>()
    let refused = 0
    double.events.listeners.add(({ act }) => {
      if (act.do === 'send' && act.operation !== undefined) calls.add(act.id)
      if (act.do === 'answer' && act.response.status === 401 && calls.has(act.id)) refused++
      // Taken immediately: a key may be revoked, or a world deleted, before the run ends.
      if (act.do === 'answer' && settings.har !== undefined) exchanges.push(act.source())
    })
    const variables = {
      ...environmentFor(baseUrl),
      ADOPTION_STORE_API_KEY: apiKey,
      ADOPTION_STORE_CONTROL_URL: `${origin}/_control/${token}`,
      ...skipping?.variables,
    }
    const quiet = capture ? () => {} : announce(baseUrl, () => calls.size)
    const limited = capture && { ...capture, late: tooLong.signal }
    const ended = await runChild(words, variables, limited).finally(quiet)
    skips.ms += time?.skipped ?? 0
    skips.hasStranger ||= skipping?.hasStranger() ?? false
    const found = double.report({ since: 'start' })
    const report = settings.requireFaults ? withRequired(found) : found
    const untested =
      calls.size === refused ? untestedText(double, refused, words.join(' ')) : undefined
    const before = calls.size
    if (!capture) await whileOthersSend(settings, baseUrl)
    const late = calls.size - before
    const isRefused = refused > 0 && untested !== undefined
    return use({ ...ended, double, report, untested, isRefused, seen, late, recording, exchanges })
  })
}

/** The environment of a command, whose requests to this address go through no proxy. */
export function environmentFor(baseUrl: string): NodeJS.ProcessEnv {
  const { NO_PROXY, no_proxy = NO_PROXY } = process.env
  const direct = [no_proxy, new URL(baseUrl).hostname].filter(Boolean).join()
  return {
    ...process.env,
    ...{ ADOPTION_STORE_BASE_URL: baseUrl, NO_PROXY: direct, no_proxy: direct },
    // That of an exec around this one.
    ADOPTION_STORE_VIRTUAL_TIME: undefined,
  }
}

/** In ms: how long to look for a process that goes on sending, and where `--strict` knows of one. */
const GRACE = { usual: 100, strict: 1_000 }

export async function whileOthersSend({ strict }: VerdictSettings, baseUrl: string): Promise<void> {
  const isRunning = strict !== undefined && (await hasLeftRunning(baseUrl))
  await setTimeout(isRunning ? GRACE.strict : GRACE.usual)
}

/** True if another process has this base URL in its environment, which only Linux shows. */
async function hasLeftRunning(baseUrl: string): Promise<boolean> {
  const ids = (await readdir('/proc').catch(() => [])).filter(name => /^\d+$/.test(name))
  const environments = ids.map(id => readFile(`/proc/${id}/environ`, 'utf8').catch(() => ''))
  const variable = `ADOPTION_STORE_BASE_URL=${baseUrl}\0`
  return (await Promise.all(environments)).some(text => text.includes(variable))
}

function announce(url: string, calls: () => number): () => void {
  if (!process.stderr.isTTY) return () => {}
  note(`exec sets ADOPTION_STORE_BASE_URL=${url}, ADOPTION_STORE_API_KEY and …_CONTROL_URL`)
  const timer = setInterval(() => note(`${count(calls(), 'request')} so far`), 5_000)
  return () => clearInterval(timer)
}

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

/** With `--require-faults`, an unused fault is a finding, not a note. */
function withRequired(report: Report): Report {
  const findings = [...report.findings, ...report.notes.filter(isRequired)]
  const notes = report.notes.filter(note => !isRequired(note))
  return { ...report, ok: report.ok && findings.every(({ allowed }) => allowed), findings, notes }
}

function isRequired({ rule, allowed }: Finding): boolean {
  return rule === 'fault.unused' && !allowed
}

function untestedText({ requests }: JudgedDouble, refused: number, command: string): string {
  const [first] = requests()
  if (!first) return nothingArrived(command)
  if (refused > 0) {
    return 'Verdict: every request got 401, so nothing else was checked. Does the client send ADOPTION_STORE_API_KEY, as Authorization: Bearer <key>?'
  }
  return `Verdict: no request was for an operation of this API, so nothing was checked. The first request was ${first.method} ${first.url}. Append /pets to ADOPTION_STORE_BASE_URL, which ends in ${BASE_PATH}.`
}

export function nothingArrived(command: string): string {
  const [, cause = OTHERWISE] = CAUSES.find(([tool]) => tool.test(command)) ?? []
  return `Verdict: no requests arrived, so nothing was checked. ${cause}`
}

const OTHERWISE =
  'Does the client use ADOPTION_STORE_BASE_URL? A cached test result, a tool that passes no variables on, or a proxy can be the cause, too.'

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/\bgo test\b/, 'go test repeats cached results: add -count=1.'],
  [
    /\b(turbo|nx)\b/,
    'It repeats cached results and hides variables: force the run (--force, --skip-nx-cache), and pass ADOPTION_STORE_* on.',
  ],
  [/\btox\b/, 'tox hides variables: set pass_env = ADOPTION_STORE_*.'],
  [
    /\b(env -i|sudo|docker|podman)\b/,
    'This command passes no variables on: name ADOPTION_STORE_*.',
  ],
]

/** True if the result satisfies `--strict`, or `--strict` was not given. */
export function isProven(
  { report, untested, late }: Result,
  { strict, allow }: VerdictSettings,
): boolean {
  if (strict === undefined) return true
  const isClean = strict !== 'notes' || report.notes.every(({ rule }) => allow.includes(rule))
  return untested === undefined && late === 0 && report.ok && isClean
}

interface Circumstances {
  readonly settings: ExecSettings
  readonly words: readonly string[]
  readonly given: ReadonlyMap<string, string>
  /** False if a fault had no effect. @default true */
  readonly isFine?: boolean
  readonly journal?: readonly JournalEntry[]
  readonly outputs?: readonly Output[]
}

/** @returns the command's exit code, or 1 @throws UsageError for a file that cannot be written */
export async function conclude(
  result: Result & Pick<ChildRun, 'code'>,
  { settings, words, given, isFine = true, journal = [], outputs = [] }: Circumstances,
): Promise<number> {
  const { report, untested, code = 1 } = result
  const exitCode = code === 0 && !(isFine && isProven(result, settings)) ? 1 : code
  const repeat = repeatText(words, given)
  const open = settings.record && `To see it: npx animal-adoption-store replay ${settings.record}`
  await tellVerdict(result, [`To repeat: ${repeat}`, ...(open ? [open] : [])])
  const file = (): VerdictFile => ({
    ...{ version: 1, command: words, exitCode, repeat, untested: untested ?? null },
    ...withCommands(report, journal),
    ok: report.ok && untested === undefined,
  })
  await writeOutputs([
    { flag: '--report', path: settings.report, text: () => prettyJson(file()) },
    { flag: '--junit', path: settings.junit, text: () => verdictJUnit(report, untested) },
    ...outputs,
  ])
  return exitCode
}

async function tellVerdict({ report, untested }: Result, hints: readonly string[]): Promise<void> {
  const [headline = ''] = (untested ?? reportText(report)).split('\n')
  const problems = problemsOf(report).map(([level, finding]): Problem => {
    const { rule, seen, fix } = finding
    return { level, title: rule, text: findingText(finding), cells: [seen, fix] }
  })
  if (untested !== undefined) {
    problems.push({ level: 'warning', title: 'exec', text: headline, cells: [headline, ''] })
  }
  await tellGitHub(headline, problems, hints)
}
