import type { WireRequest, WireResponse } from '../network.js'
import { isCollection, petIdOf, queryOf, tokenOf } from './requests.js'

/** One request of a client, as far as the client knows. Times in ms since the epoch. */
export interface Sent {
  readonly n: number
  readonly request: WireRequest
  readonly at: number
  /** Without a response: when the client learnt that; undefined if it gave up before. */
  endedAt?: number
  /** Perhaps without its body. */
  response?: WireResponse
  isWhole?: boolean
}

/**
 * By rule, or by its name and `likely` for a note: the numbers of the requests that show it, and of those
 * that they came too early after.
 */
export type Verdict = ReadonlyMap<string, ReadonlySet<number>>

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]
/** Timers may be early by that. */
const TOLERANCE = 100
const MANY_REFUSALS = 5

/**
 * What the verdict has to say of a client that has its keys for itself and sends one request after the
 * other: written from the pages on its rules, and for reading only.
 */
export function verdictOn(sent: readonly Sent[], pagination: boolean): Verdict {
  const verdict = new Map<string, Set<number>>()
  const keys = new Set(sent.map(({ request }) => tokenOf(request)))
  const find = (rule: string, shown: readonly Sent[]) => {
    const numbers = verdict.get(rule) ?? new Set()
    for (const { n } of shown) numbers.add(n)
    if (numbers.size > 0) verdict.set(rule, numbers)
  }
  for (const key of keys) {
    const all = sent.filter(({ request }) => tokenOf(request) === key)
    // Whose key was never accepted is a stranger, and judged by nothing else.
    let isAccepted = false
    const known = all.filter(one => {
      const status = one.response?.status ?? 0
      if (status === 401) find(isAccepted ? 'key.refused likely' : 'key.refused', [one])
      isAccepted ||= status >= 200 && status < 500 && status !== 401 && status !== 429
      return isAccepted || status !== 401
    })
    judgeWaits(known, find)
    judgeRefusals(known, find)
    judgeCreates(known, find)
    judgeBackoff(known, find)
    for (const [at, one] of known.entries()) {
      const before = known[at - 1]
      if (before && isDelta(before, one)) find('reset.as-delta', [before, one])
      if (petIdOf(one.request) !== undefined) find('deprecated.called', [one])
      if (hasUnknownName(one.request, pagination)) find('name.unknown', [one])
    }
  }
  return verdict
}

type Find = (rule: string, shown: readonly Sent[]) => void

interface Rejection {
  readonly by: Sent
  readonly until: number
}

/** An early request, and why it was early. */
type Pair = readonly [early: Sent, after: Sent]

/** Early requests, and bans, which take the place of what led to them. */
function judgeWaits(sent: readonly Sent[], find: Find): void {
  const bans = createBans()
  let rejected = new Map<string, Rejection>()
  /** Until when the key waits, and since which rejection nothing at all may be sent. */
  let until = Number.NEGATIVE_INFINITY
  let exhausted: Rejection | undefined
  let [repeated, others, singles]: [Pair[], Pair[], Pair[]] = [[], [], []]

  for (const one of sent) {
    if (one.at >= until - TOLERANCE) endWait()
    const ban = bans.see(one)
    if (ban) {
      find('ban.risked', ban)
      rejected = new Map()
      ;[repeated, others, singles] = [[], [], []]
      endWait()
      continue
    }
    if (one.at < bans.until()) continue
    const same = rejected.get(digestOf(one))
    if (isEarly(one, same)) repeated.push([one, same.by])
    else if (isEarly(one, exhausted)) others.push([one, exhausted.by])
    learn(one, same)
  }
  endWait()
  find(singles.length < 3 ? 'remaining.ignored likely' : 'remaining.ignored', singles.flat())

  /** A repeated request counts, or two others; a single other one may have been under way, if not in three waits. */
  function endWait(): void {
    if (repeated.length > 0) find('retry-after.early', repeated.flat())
    else if (others.length > 1) find('remaining.ignored', others.flat())
    else singles.push(...others)
    ;[repeated, others, exhausted, until] = [[], [], undefined, Number.NEGATIVE_INFINITY]
  }

  function learn(one: Sent, same: Rejection | undefined): void {
    const end = waitOf(one)
    if (end === undefined) {
      const isSuccess = one.isWhole && Number(one.response?.status) < 400
      if (same && isSuccess) {
        rejected.set(digestOf(one), { ...same, until: Math.min(same.until, one.at) })
      }
      return
    }
    until = Math.max(until, end)
    rejected.set(digestOf(one), { by: one, until: end })
    if (one.response?.status === 429 && isExhausted(one)) {
      exhausted = { by: exhausted?.by ?? one, until: end }
    }
  }
}

/** Bans that begin while the client is watched, which may also meet an earlier one. */
function createBans() {
  let minute = Number.NaN
  let rejections: Sent[] = []
  let until = Number.NEGATIVE_INFINITY
  let met: Rejection | undefined

  return {
    /** The rejections of the minute in which this one got the key banned. */
    see(one: Sent): readonly Sent[] | undefined {
      const now = Math.floor(endOf(one) / MINUTE)
      if (now !== minute) [minute, rejections] = [now, []]
      const code = codeOf(one)
      const isBan = code === 'api_key_banned'
      if (!isBan && code !== 'rate_limit_exceeded') return undefined
      rejections.push(one)
      if (!isBan && isEarly(one, met)) met = undefined
      if (!isBan) return undefined
      const end = resetOf(one) as number
      if (rejections.length === 1) met = { by: one, until: end }
      const isNew = rejections.length > 1 && one.at >= Math.max(until, met?.until ?? until)
      if (isNew) until = end
      return isNew ? rejections : undefined
    },
    until: () => until,
  }
}

/** Five or more refusals of one request, with no success between them and no pause of an hour. */
function judgeRefusals(sent: readonly Sent[], find: Find): void {
  let runs = new Map<string, Sent[]>()
  for (const one of sent) {
    const { status = 500 } = one.response ?? {}
    if (status < 400) endAll()
    if (!isFinal(one, status) || !one.isWhole) continue
    const run = runs.get(digestOf(one)) ?? []
    const last = run.at(-1)
    if (last && one.at - endOf(last) > HOUR) end(run)
    runs.set(digestOf(one), [...run, one])
  }
  endAll()

  function endAll(): void {
    for (const run of runs.values()) end(run)
    runs = new Map()
  }

  function end(run: Sent[]): void {
    if (run.length >= MANY_REFUSALS) find('refusal.repeated', run)
    run.length = 0
  }
}

function isFinal({ request }: Sent, status: number): boolean {
  if (status !== 404) return [400, 405, 410, 413, 415].includes(status)
  return petIdOf(request) === undefined && !isCollection(request)
}

/**
 * Retries of one request that were all lost. Their pauses are judged here only if they are equal from its first
 * attempt to its last, which is certainly no backoff; of other runs, only those of some length may be found.
 */
function judgeBackoff(sent: readonly Sent[], find: Find): void {
  for (const digest of new Set(sent.map(digestOf))) {
    const all = sent.filter(one => digestOf(one) === digest)
    if (all.length < LEAST_RUN) continue
    const pauses = all.slice(1).map((one, at) => one.at - endOf(all[at] as Sent))
    const [least, most] = [Math.min(...pauses), Math.max(...pauses)]
    const isEven = all.every(isLost) && all.length > LEAST_RUN && least > 25 && most < 1.02 * least
    if (isEven) find('backoff.constant', all)
    else if (all.filter(isLost).length >= LEAST_RUN) find('backoff.constant maybe', all)
  }
}

/** In attempts. */
const LEAST_RUN = 4

/** What the client waited for until it gave up says nothing. */
function isLost({ endedAt, isWhole }: Sent): boolean {
  return endedAt !== undefined && !isWhole
}

/** A create whose response was lost, and which was stored when it came again without its key. */
function judgeCreates(sent: readonly Sent[], find: Find): void {
  const lost = new Map<string, Sent>()
  for (const one of sent) {
    const isCreate = one.request.method === 'POST' && isCollection(one.request)
    const isUnknown = !one.response && one.endedAt !== undefined
    const id = idOf(one)
    if (!isCreate || (id === undefined && !isUnknown)) continue
    const earlier = lost.get(digestOf(one))
    if (one.isWhole) lost.delete(digestOf(one))
    else lost.set(digestOf(one), one)
    if (!earlier || isUnknown || idOf(earlier) === id) continue
    const [key, other] = [one, earlier].map(({ request }) => request.headers['idempotency-key'])
    if (key === undefined || key !== other) find('create.repeated likely', [earlier, one])
  }
}

/** The end of the wait that a response asks for: at Reset, if Retry-After means the same. */
function waitOf(one: Sent): number | undefined {
  const { at, response, isWhole } = one
  if (!response || !isWhole || response.status < 400) return undefined
  const now = endOf(one)
  const seconds = response.headers['retry-after']
  const reset = isExhausted(one) ? resetOf(one) : undefined
  const until = seconds === undefined ? undefined : now + Number(seconds) * SECOND
  if (until === undefined || until <= now) return undefined
  const isSame = reset !== undefined && reset > now && until - reset <= 2 * SECOND + now - at
  return isSame ? Math.min(until, reset) : until
}

/** By the clock of the client, from which that of the server seems to be off if the response took long. */
function resetOf({ response, endedAt = 0 }: Sent): number | undefined {
  const { date = '', 'x-ratelimit-reset': reset } = response?.headers ?? {}
  if (reset === undefined) return undefined
  const sentAt = Date.parse(date)
  const isSame = Math.abs(sentAt - endedAt) <= 2 * SECOND
  const ahead = isSame ? 0 : sentAt + SECOND - endedAt
  return isSame ? Number(reset) * SECOND : Math.floor(Number(reset) - ahead / SECOND) * SECOND
}

function isEarly(one: Sent, rejection: Rejection | undefined): rejection is Rejection {
  return rejection !== undefined && one.at < rejection.until - TOLERANCE
}

function isExhausted({ response }: Sent): boolean {
  return response?.headers['x-ratelimit-remaining'] === '0'
}

/** A pause as long as Reset is after 1970, in seconds or in ms. */
function isDelta(before: Sent, { at }: Sent): boolean {
  const reset = resetOf(before)
  if (reset === undefined || !isExhausted(before)) return false
  const waited = at - endOf(before)
  return Math.abs(waited - reset) <= MINUTE || Math.abs(waited - reset / SECOND) <= SECOND
}

function hasUnknownName({ target }: WireRequest, pagination: boolean): boolean {
  const known = ['limit', 'status', ...(pagination ? ['after'] : [])]
  return [...queryOf(target).keys()].some(name => !known.includes(name))
}

function codeOf({ response, isWhole }: Sent): string | undefined {
  const { status = 0, body = '' } = response ?? {}
  if (!isWhole || status < 400 || body === '') return undefined
  return (JSON.parse(body) as { code?: string }).code
}

function idOf({ response }: Sent): string | undefined {
  return response?.status === 201 ? response.headers['location'] : undefined
}

function digestOf({ request }: Sent): string {
  return `${request.method} ${request.target} ${request.body}`
}

function endOf({ at, endedAt = at }: Sent): number {
  return endedAt
}
