import { OptionError } from '../../src/lib/check-options.js'
import { nearestFirst } from '../../src/lib/did-you-mean.js'
import { type Int64, isInt64 } from '../../src/lib/int64.js'
import { PAGE_SIZE, PET_STATUSES, type PetStatus, SUNSET } from '../../src/pets/specification.js'
import { notify } from '../warnings.js'
import { CheckFailure, CheckSkipped } from './check-failure.js'
import type { Call, Check, Level, Need, Reply } from './check-types.js'
import { filtered, ONE, WHOLE_LIST } from './checks/calls.js'
import { CHECKS } from './checks/index.js'
import { SPARE_KEY } from './credentials.js'
import { evidenceOf, excerpt, withoutUser } from './evidence.js'
import { isClosed, NoReply } from './no-reply.js'
import { listIn } from './read-reply.js'
import { createSession, type Session } from './session.js'
import { VerifyError } from './verify-error.js'
import {
  type CheckResult,
  type ReadOptions,
  readVerifyOptions,
  type VerifyOptions,
} from './verify-options.js'

export interface VerifyReport {
  readonly baseUrl: string
  /** True if no MUST is broken, and something was checked. */
  readonly ok: boolean
  readonly requestCount: number
  readonly results: readonly CheckResult[]
}

/**
 * Runs the checks in turn.
 * @throws OptionError
 * @throws VerifyError if the server cannot be verified at all
 *
 * @example
 * import { verify } from 'animal-adoption-store/verify'
 *
 * const report = await verify({
 *   ...{ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-business' },
 *   only: ['list'],
 * })
 * console.log(report.ok) // prints true
 */
export async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const { checks, session, start, judge } = prepare(options)
  const results: CheckResult[] = []
  await start()
  for (const check of checks) {
    const result = await judge(check)
    results.push(result)
    notify('onResult', options.onResult, {
      result,
      checksDone: results.length,
      checkCount: checks.length,
      requestsLeft: sumOfRequests(checks.slice(results.length)),
      limit: session.budget.limit,
    })
    if (options.bail && isBroken(result)) break
  }
  const { requestCount } = session
  const wasChecked = results.some(({ outcome }) => outcome !== 'skipped')
  const ok = wasChecked && !results.some(isBroken)
  return { baseUrl: options.baseUrl, ok, requestCount, results }
}

/** A report without checks would look like a success. @throws VerifyError */
function refuseNothing(missing: readonly (string | undefined)[]): void {
  if (missing.includes(undefined)) return
  const why = missing.length === 0 ? 'is left out' : [...new Set(missing)].join('; or ')
  throw new VerifyError(`Nothing would be checked: each selected check ${why}; change the options`)
}

export function sumOfRequests(checks: readonly Check[]): number {
  return checks.reduce((sum, { maxRequests }) => sum + maxRequests, 0)
}

function isBroken({ level, outcome }: CheckResult): boolean {
  return level === 'MUST' && outcome === 'failed'
}

const MOST_TIMEOUTS = 3

/** @throws OptionError, and VerifyError if no check would run */
export function prepare(given: VerifyOptions) {
  const options = readVerifyOptions(given)
  const session = createSession(options)
  const checks = selectChecks(options)
  refuseNothing(checks.map(check => missingNeed(check, options)))
  let lost: string | undefined
  let timeouts = 0

  /** Why to skip the remaining checks, if the server is down. */
  async function isLost(failure: CheckFailure): Promise<string | undefined> {
    if (failure instanceof NoReply && failure.code === 'timeout') timeouts++
    if (timeouts >= MOST_TIMEOUTS) return `${timeouts} requests got no response in time`
    const next = await tryOut(session)
    if (next instanceof NoReply) return 'the server no longer answers'
    return next.status >= 500 ? 'the server now fails every request' : undefined
  }

  return {
    session,
    checks,
    maxWaitMs: options.maxWait,
    missing: (check: Check) => missingNeed(check, options),
    /** Finds out if the server can be verified. @throws VerifyError */
    async start() {
      await probe(session, options)
      session.budget.plan(sumOfRequests(checks))
    },
    /** @throws VerifyError */
    async judge(check: Check): Promise<CheckResult> {
      const { id, title, requirement } = check
      const about = { id, ...requirement, title }
      const skipped = (reason: string): CheckResult => ({ ...about, outcome: 'skipped', reason })
      const missing = missingNeed(check, options) ?? lost
      if (missing !== undefined) return skipped(missing)
      if (check.needs.includes('getPet') && session.now() >= SUNSET)
        return skipped('getPet was removed on 5 December 2030')
      const { level, failure, reason } = await outcomeOf(check, session)
      if (reason !== undefined) return skipped(reason)
      if (!failure) return { ...about, outcome: 'passed' }
      if (isBrokenDown(failure)) lost ??= await isLost(failure)
      const { hint } = check
      const evidence = evidenceOf(failure, session.redact)
      const shown = hint === undefined ? evidence : { ...evidence, hint }
      return { ...about, level, outcome: 'failed', failure: shown }
    },
  }
}

interface Outcome {
  readonly level: Level
  readonly failure?: CheckFailure
  readonly reason?: string
}

/** A reply from 500 on breaks a MUST, whatever the check makes of it. */
async function outcomeOf(check: Check, session: Session): Promise<Outcome> {
  const { length } = session.seen
  const outcome = await runOf(check, session)
  const breakdown = session.seen.slice(length).find(isBreakdown)
  const isBroken = outcome.failure !== undefined && outcome.level === 'MUST'
  if (isBroken || !breakdown) return outcome
  const { sent } = breakdown
  const failure = new CheckFailure({ sent, came: breakdown, expected: 'a status below 500' })
  return { level: 'MUST', failure }
}

async function runOf({ run, requirement: { level } }: Check, session: Session): Promise<Outcome> {
  try {
    await run(session)
    return { level }
  } catch (thrown) {
    if (thrown instanceof CheckSkipped) return { level, reason: thrown.message }
    if (!(thrown instanceof CheckFailure)) throw thrown
    return { level: isBrokenDown(thrown) ? 'MUST' : (thrown.level ?? level), failure: thrown }
  }
}

/** Selects checks, in the order of a run. @throws OptionError */
export function selectChecks({
  only = [],
  skip = [],
  level,
}: Pick<VerifyOptions, 'only' | 'skip' | 'level'>): readonly Check[] {
  const matches = ({ id }: Check, part: string) => id === part || id.startsWith(`${part}.`)
  const unknown = [...only, ...skip].find(part => !CHECKS.some(check => matches(check, part)))
  if (unknown !== undefined) {
    const ids = nearestFirst(
      unknown,
      CHECKS.map(({ id }) => id),
    )
    throw new OptionError({
      option: only.includes(unknown) ? 'only' : 'skip',
      expected: `checks or groups, such as ${ids.slice(0, 3).join(', ')}`,
      got: `'${unknown}'`,
    })
  }
  return CHECKS.filter(
    check =>
      (only.length === 0 || only.some(part => matches(check, part))) &&
      !skip.some(part => matches(check, part)) &&
      (level !== 'MUST' || check.requirement.level === 'MUST'),
  )
}

/** Reports failures that no check can name, one line each. */
async function probe(session: Session, options: ReadOptions): Promise<void> {
  const { baseUrl, exhaust } = options
  const reply = await tryOut(session, WHOLE_LIST)
  if (reply instanceof NoReply) throw new VerifyError(unreachable(options, reply))
  const { status, headers } = reply
  if (status >= 300 && status < 400) {
    const location = withoutUser(headers.get('location') ?? 'another address')
    const target = excerpt(location, 200, session.redact)
    throw new VerifyError(`${baseUrl} redirects to ${target}; verify that address`)
  }
  if (/^basic/i.test(headers.get('www-authenticate') ?? '')) {
    throw new VerifyError(
      `${baseUrl} asks for Basic authentication, as a proxy in front does; verify the API behind it`,
    )
  }
  if (status === 401 || status === 403) {
    throw new VerifyError(`${baseUrl} rejects the API key with ${status}; is it valid there?`)
  }
  if (status === 404) {
    const below = await tryOut(session, { path: `/v1${ONE.path}` })
    const isBelow = !(below instanceof NoReply) && below.status === 200
    const advice = isBelow
      ? ', but /v1/pets: add /v1 to the base URL'
      : '; the base URL ends with the version segment, such as /v1'
    throw new VerifyError(`${baseUrl} has no /pets (404)${advice}`)
  }
  session.categoryId = knownCategory(reply)
  session.status = await rareStatus(session, reply)
  if (exhaust) await probeSpare(session)
}

function tryOut({ send }: Session, call: Call = ONE): Promise<Reply | NoReply> {
  return send(call).catch((error: unknown) => {
    if (error instanceof NoReply) return error
    throw error
  })
}

async function probeSpare({ send }: Session): Promise<void> {
  const { status } = await send({ ...ONE, as: SPARE_KEY, impatient: true })
  if (status === 401 || status === 403) {
    throw new VerifyError(`The server rejects the spare key with ${status}; is it valid there?`)
  }
  if (status === 429) {
    throw new VerifyError('The spare key is exhausted or banned already; wait, or give another one')
  }
}

function unreachable(
  { baseUrl, timeout: timeoutMs }: ReadOptions,
  { code, reason }: NoReply,
): string {
  if (/^(HPE_|EPROTO|ERR_SSL)/.test(code)) {
    return `${baseUrl} does not answer with HTTP (${code})`
  }
  if (/CERT|SIGNATURE/.test(code)) {
    return `Node does not trust the certificate of ${baseUrl} (${code}); see NODE_EXTRA_CA_CERTS`
  }
  if (isClosed(code)) return `${baseUrl} closes the connection; is it http or https?`
  if (code === 'timeout') return `${baseUrl} does not answer within ${timeoutMs} ms`
  if (/^too-large|^UND_ERR_RES|_OVERFLOW|^Z_/.test(code)) {
    return `${baseUrl} cannot be verified: GET /pets?limit=100 got ${reason}`
  }
  return `Cannot reach ${baseUrl} (${excerpt(code, 100, text => text)}); is the server running?`
}

/** A server may know only some categories: those of its animals exist. */
function knownCategory(reply: Reply): Int64 {
  const [first] = listIn(reply) ?? []
  return isInt64(first?.categoryId) ? first.categoryId : 1
}

/** A status of which one page shows all animals, if the whole list is full. */
async function rareStatus(session: Session, whole: Reply): Promise<PetStatus> {
  if ((listIn(whole)?.length ?? 0) < PAGE_SIZE.maximum) return session.status
  const counts: [number, PetStatus][] = []
  for (const status of PET_STATUSES) {
    const reply = await tryOut(session, filtered(status))
    const found = reply instanceof NoReply ? undefined : listIn(reply)
    counts.push([found?.length ?? PAGE_SIZE.maximum, status])
  }
  const [[, rarest] = [0, session.status]] = counts.toSorted(([one], [other]) => one - other)
  return rarest
}

/** RFC 9110 §15.6: the server says that it failed, or does not respond. */
function isBrokenDown(failure: CheckFailure): boolean {
  if (failure instanceof NoReply) return true
  return typeof failure.came === 'object' && failure.came.status >= 500
}

/** True for a server failure; 501 only says that a method is not implemented. */
function isBreakdown({ status, method }: Reply): boolean {
  return status >= 500 && (status !== 501 || method === 'GET' || method === 'POST')
}

/** Why the options exclude a check. */
function missingNeed({ needs }: Check, options: ReadOptions): string | undefined {
  const missing: Partial<Record<Need, string | false>> = {
    create: options.readOnly && 'creates animals, and the run is read-only',
    exhaust: !options.exhaust && 'needs a spare key to exhaust',
    socket: options.fetch !== undefined && 'needs a socket',
    idempotency: !options.idempotency && 'needs a server that has Idempotency-Key',
    description: options.openApiUrl === undefined && 'needs the address of a description',
  }
  for (const need of needs) if (missing[need]) return missing[need]
  return undefined
}
