import { chain } from '../../src/lib/async.js'
import { nearestFirst } from '../../src/lib/nearest.js'
import type { OptionError } from '../../src/lib/options.js'
import { BASE_PATH } from '../../src/pets/specification.js'
import type { ApiHandler, ApiRequest } from '../../src/protocol/api.js'
import { DIGEST } from '../../src/protocol/api-keys.js'
import { type HttpServer, listen } from '../http/listen.js'
import { parseSchedule } from '../test-double/explore/schedule.js'
import { type Watched, watchRequests } from '../test-double/explore/watch.js'
import { verdictJUnit } from '../verdict/junit.js'
import { type Finding, type Report, reportText } from '../verdict/report.js'
import { RULES } from '../verdict/rules/index.js'
import { runChild } from './child.js'
import { openControlled } from './controlled.js'
import { type Initial, type Keys, readApiKeys, readInitial } from './environment.js'
import type { ExecSettings, VerdictSettings } from './options.js'
import { type Output, refuseSameFiles, writeOutputs } from './output.js'
import { recordTo } from './record.js'
import { UsageError, usageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

/**
 * Runs a command next to a private store, and prints the verdict on everything it sent.
 *
 * @returns the exit code: the command's own, or 1 when `--strict`, `--require-faults` or `--schedule` fails
 * @throws UsageError
 */
export async function exec(settings: ExecSettings, words: readonly string[]): Promise<number> {
  const { apiKeys, apiKey, initial } = await readSetup(settings, words)
  const planned = readPlanned(settings)
  const { handler, double } = await openControlled(settings, apiKeys, initial, planned?.watch)
  const api = watchApi(handler)
  const files = await recordTo(settings, double)
  const server = await listen(api.handler, { port: 0 })
  try {
    const code = await runChild(words, variablesFor(server, apiKey))
    const report = withRequired(double.report({ since: 'start' }), settings)
    const wasCalled = api.wasCalled()
    const untested = wasCalled ? undefined : UNTESTED
    process.stderr.write(reportText(report, { withRequests: true }))
    if (untested && report.requests > 0) process.stderr.write(`${untested}\n`)
    await writeOutputs([...reports(settings, report, untested), ...files.outputs])
    if (files.isCut()) {
      process.stderr.write(`Recording: ${settings.record} ends after 100,000 steps.\n`)
    }
    const withoutEffect = planned ? faultsWithoutEffect(planned) : []
    for (const line of withoutEffect) process.stderr.write(`--schedule: ${line}\n`)
    const isMissing = settings.requireFaults && report.findings.some(isRequired)
    const isUnproven = settings.strict !== undefined && !isProven(report, settings, wasCalled)
    return code === 0 && (isMissing || isUnproven || withoutEffect.length > 0) ? 1 : code
  } finally {
    try {
      await double.close()
    } finally {
      await server.close()
    }
  }
}

/** What `exec` needs before it can run its command. */
export interface Setup {
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
  return { apiKeys, apiKey, initial }
}

/** In plain text, and valid at this time. */
function firstKey(apiKeys: Keys, now: number): string | undefined {
  const usable = Object.entries(apiKeys).find(
    ([key, { expires = Number.POSITIVE_INFINITY }]) => !key.startsWith(DIGEST) && now < expires,
  )
  return usable?.[0]
}

/** What every kind of `exec` needs. @throws UsageError */
export function checkCommand(settings: ExecSettings, words: readonly string[]): void {
  if (!words[0]) throw new UsageError('exec needs a command: exec -- <command>')
  checkAllowed(settings)
  refuseSameFiles(settings)
}

/** The environment of a command, with the store that it is to use. */
export function variablesFor({ url, origin }: HttpServer, apiKey: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ADOPTION_STORE_BASE_URL: url,
    ADOPTION_STORE_API_KEY: apiKey,
    ADOPTION_STORE_CONTROL_URL: `${origin}/_control`,
  }
}

/** The faults of `--schedule`. @throws UsageError */
function readPlanned({ schedule }: ExecSettings): Watched | undefined {
  if (schedule === undefined) return undefined
  try {
    return watchRequests(parseSchedule(schedule), Number.POSITIVE_INFINITY)
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
export function watchApi(handler: ApiHandler) {
  let calls = 0
  return {
    wasCalled: () => calls > 0,
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

export function isProven(
  report: Report,
  { strict, allow }: VerdictSettings,
  wasCalled: boolean,
): boolean {
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

function checkAllowed({ allow }: VerdictSettings): void {
  const rules: readonly string[] = RULES.map(({ id }) => id)
  const unknown = allow.find(rule => !rules.includes(rule))
  if (unknown === undefined) return
  const known = nearestFirst(unknown, rules).join(', ')
  throw new UsageError(
    `--allow takes a rule of the verdict, got '${withoutUrl(unknown)}'; expected one of ${known}`,
    '--allow',
  )
}
