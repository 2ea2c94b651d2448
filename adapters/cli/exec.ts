import { setTimeout } from 'node:timers/promises'
import { chain } from '../../src/lib/async.js'
import { count } from '../../src/lib/count.js'
import { nearestFirst } from '../../src/lib/nearest.js'
import type { OptionError } from '../../src/lib/options.js'
import { BASE_PATH, PAGE_SIZE } from '../../src/pets/specification.js'
import type { ApiHandler, ApiRequest } from '../../src/protocol/api.js'
import { DIGEST } from '../../src/protocol/api-keys.js'
import { type HarSource, harOf } from '../exchanges/har.js'
import { listen } from '../http/listen.js'
import type { JudgedDouble } from '../test-double/double.js'
import { parseSchedule, type Schedule } from '../test-double/explore/schedule.js'
import { type Watched, watchRequests } from '../test-double/explore/watch.js'
import { verdictJUnit } from '../verdict/junit.js'
import { type Finding, type Report, reportText } from '../verdict/report.js'
import { RULES } from '../verdict/rules/index.js'
import { type Capture, type ChildRun, runChild } from './child.js'
import { openControlled } from './controlled.js'
import { controlToken, type Initial, type Keys, readApiKeys, readInitial } from './environment.js'
import { UsageError, usageError, withoutSecrets } from './errors.js'
import { type Output, writeOutputs } from './files.js'
import type { ExecSettings, VerdictSettings } from './options.js'
import { note } from './output.js'
import { withStops } from './stops.js'

/**
 * Runs a command next to a private store, and prints the verdict on everything it sent.
 *
 * @returns the exit code: the command's own, or 1 when `--strict`, `--require-faults` or `--schedule` fails
 * @throws UsageError
 */
export async function exec(settings: ExecSettings, words: readonly string[]): Promise<number> {
  const setup = await readSetup(settings, words)
  const schedule = readSchedule(settings)
  return runWithStore(setup, { schedule }, async double => {
    const recording = settings.record === undefined ? undefined : await double.record()
    const exchanges = settings.har === undefined ? [] : collectExchanges(double)
    let isTried = schedule.length > 0
    double.events.listeners.add(({ act }) => {
      isTried ||= act.do === 'arm'
    })
    return async ({ code = 1, wasCalled, seen, late, ...run }) => {
      const report = withRequired(run.report, settings)
      const { requests, findings, notes } = report
      const untested = wasCalled ? undefined : UNTESTED
      const isEmpty = findings.length + notes.length === 0
      const isSilent = untested !== undefined && isEmpty && requests > 0
      if (!isSilent) say(reportText(report, { withRequests: true }))
      if (untested && requests > 0) say(`${untested}\n`)
      if (wasCalled && isEmpty && code === 0) say(await untriedText(double, isTried))
      if (late > 0) say(`${count(late, 'request')} ${LATE}\n`)
      const har = () => `${JSON.stringify(harOf(exchanges), null, 2)}\n`
      await writeOutputs([
        ...reports(settings, report, untested),
        { flag: '--har', path: settings.har, text: har },
        { flag: '--record', path: settings.record, text: () => recording?.json() ?? '' },
      ])
      if (recording?.isFull) say(`Recording: ${settings.record} ends after 100,000 steps.\n`)
      const withoutEffect = faultsWithoutEffect(seen)
      for (const line of withoutEffect) say(`--schedule: ${line}\n`)
      const isMissing = settings.requireFaults && report.findings.some(isRequired)
      const isFine = isProven(report, settings, wasCalled) && !isMissing
      return code === 0 && !(isFine && withoutEffect.length === 0) ? 1 : code
    }
  })
}

const LATE =
  'came after the command had ended, from a process that it left running: they are not in the verdict.'

/** What a clean run says nothing about, in one line. */
async function untriedText({ requests, inspect }: JudgedDouble, isTried: boolean): Promise<string> {
  const stored = (await inspect.animals({ limit: PAGE_SIZE.maximum, after: 0 })).length
  const lists = requests()
    .filter(({ operation, status }) => operation === 'listPets' && status === 200)
    // A fault, or a redacted number, may have left something else than JSON.
    .map(({ body }) => body?.match(/\{"id":/g)?.length ?? 0)
  const parts = [
    !isTried && 'faults (add --explore)',
    lists.length > 0 && Math.max(...lists) === 0 && 'lists with animals (add --seed <file.json>)',
    stored > PAGE_SIZE.default &&
      lists.includes(PAGE_SIZE.default) &&
      'animals beyond the first 20 (limit)',
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `Not tried: ${parts.join(', ')}.\n`
}

/** At once: a key may be revoked, or a world deleted, before the run ends. */
function collectExchanges({ events }: JudgedDouble): readonly HarSource[] {
  const exchanges: HarSource[] = []
  events.listeners.add(({ act }) => {
    if (act.do === 'answer') exchanges.push(act.source())
  })
  return exchanges
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
      '--keys',
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
  throw new UsageError(`--allow takes a rule of the verdict, ${got}`, '--allow')
}

/** A run of the command, and what it did to the store. */
export interface StoreRun extends ChildRun {
  readonly double: JudgedDouble
  readonly report: Report
  /** Whether any request was for the API to decide on. */
  readonly wasCalled: boolean
  readonly seen: Watched
  /** How many requests came after its end. */
  readonly late: number
}

export interface RunOptions {
  readonly schedule: Schedule
  readonly capture?: Capture
}

/**
 * Runs the command, next to a store and a server of its own.
 *
 * @param prepare is called before, and returns what makes the result of the run
 */
export function runWithStore<T>(
  { settings, words, apiKeys, apiKey, initial }: Setup,
  { schedule, capture }: RunOptions,
  prepare: (double: JudgedDouble) => Promise<(run: StoreRun) => Promise<T>>,
): Promise<T> {
  return withStops(async stops => {
    const seen = watchRequests(schedule, Number.POSITIVE_INFINITY)
    const token = controlToken()
    const { handler, double } = await openControlled(settings, apiKeys, initial, token, seen.watch)
    const api = watchApi(handler)
    const server = await listen(api.handler, { port: 0 })
    stops.push(server.close, () => double.close())
    const use = await prepare(double)
    const variables = {
      ...process.env,
      ADOPTION_STORE_BASE_URL: server.url,
      ADOPTION_STORE_API_KEY: apiKey,
      ADOPTION_STORE_CONTROL_URL: `${server.origin}/_control/${token}`,
    }
    const quiet = capture ? () => {} : announce(server.url, api.calls)
    const ended = await runChild(words, variables, capture).finally(quiet)
    const report = double.report({ since: 'start' })
    const calls = api.calls()
    if (!capture && calls > 0) await setTimeout(GRACE)
    return use({ ...ended, double, report, wasCalled: calls > 0, seen, late: api.calls() - calls })
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
function withRequired(report: Report, { requireFaults }: ExecSettings): Report {
  if (!requireFaults) return report
  const findings = [...report.findings, ...report.notes.filter(isRequired)]
  const notes = report.notes.filter(note => !isRequired(note))
  return { ...report, ok: findings.every(({ allowed }) => allowed), findings, notes }
}

function isRequired({ rule, allowed }: Finding): boolean {
  return rule === 'fault.unused' && !allowed
}

const UNTESTED =
  'Verdict: no request was for a path of this API, so nothing was checked. Does the client append /pets to ADOPTION_STORE_BASE_URL?'

/** Notices whether any request is for the API to decide on: not a preflight, nor one in an unknown world. */
function watchApi(handler: ApiHandler) {
  let calls = 0
  return {
    calls: () => calls,
    handler: {
      ...handler,
      handle(request: ApiRequest) {
        if (!API_PATH.test(request.path) || request.method === 'OPTIONS') {
          return handler.handle(request)
        }
        // A command may give up on a response, and end before it comes.
        calls++
        return chain(handler.handle(request), response => {
          // A request that hangs has no `about`.
          if (response.about === undefined && response.status !== 0) calls--
          return response
        })
      },
    },
  }
}

const API_PATH = new RegExp(`^(/worlds/[^/]+)?${BASE_PATH}/pets(/|$)`)

/** Whether `--strict`, if given, is content. */
export function isProven(
  report: Report,
  { strict, allow }: VerdictSettings,
  wasCalled: boolean,
): boolean {
  if (strict === undefined) return true
  const isClean = strict !== 'notes' || report.notes.every(({ rule }) => allow.includes(rule))
  return wasCalled && report.ok && isClean
}

/**
 * The files of `--report` and `--junit`.
 *
 * @param untested why nothing was checked
 */
export function reports(
  { report: json, junit }: VerdictSettings,
  report: Report,
  untested: string | undefined,
): readonly Output[] {
  return [
    { flag: '--report', path: json, text: () => `${JSON.stringify(report, null, 2)}\n` },
    { flag: '--junit', path: junit, text: () => verdictJUnit(report, untested) },
  ]
}
