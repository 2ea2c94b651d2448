import { retryInstant } from '../../../src/lib/retry-after.js'
import { LATEST } from '../../../src/lib/time.js'
import type { Exchange } from '../log/exchange.js'
import { kindOf } from '../log/fault-kinds.js'

/** A rule for clients. The tables of the pages come from here. */
export interface Rule {
  readonly id: string
  readonly fix: string
  /** The option of the command line that the fix needs. */
  readonly flag?: string
  readonly violatedBy: string
  /** Certainty seen from outside a service, if not `exact`. */
  readonly fromOutside?: string
}

/** An exchange as the rules see it. Names of headers are in lower case. */
export interface Seen extends Omit<Exchange, 'path' | 'query' | 'requestBody' | 'body'> {
  /** Part of `at` and `answeredAt`: clients that really wait on a clock that stands still. */
  readonly lag: NonNullable<Exchange['lag']>
  /** True if the key has sent one request at a time, as far as its connections show. */
  readonly isOneByOne: boolean
  readonly message: string | null
  /** The category of a create, where it is beyond 2^53 and what a double prints. */
  readonly rounded: string | null
  readonly isHalved: boolean
}

export interface Violation {
  readonly rule: string
  readonly seen: string
  /** The exchanges that show it: at least one, unless `began` says when it began. */
  readonly exchanges: readonly Seen[]
  /** The rejection that each request ignored. */
  readonly after?: readonly Seen[]
  readonly began?: Beginning
  /** A note, not a finding: there is another explanation. */
  readonly isLikely?: boolean
}

/** The key that a violation is about, and its beginning in ms; `n` is 0 without an exchange. */
export type Beginning = Pick<Seen, 'keyId' | 'at' | 'n' | 'stack'> & Partial<Pick<Seen, 'lag'>>

/** Watches the exchanges of one key, in the order of their answers, in bounded memory. */
export interface Watch {
  see(exchange: Seen): readonly Violation[]
  /** The violations so far in what is still going on. */
  open?(now: number): readonly Violation[]
}

export interface KeyUse {
  /** Number of clients that share a key; undefined if unknown. */
  readonly clients?: number | undefined
  readonly isFromOutside?: boolean
  readonly ignoresKeys?: boolean
}

export type CreateWatch = (use: KeyUse) => Watch

/** Timers may fire a little early, and a clock may be read a little late. In ms. */
export const TOLERANCE = 100

/**
 * By how much Retry-After may end after the Reset that it means, in ms: it is rounded up to a second,
 * and where Reset is read on another clock, the `Date` of that clock has whole seconds, too.
 */
const SAME_END = 2_000

/** The end of the wait that a response asks for, in ms; undefined without one. */
export function waitOf(exchange: Seen): number | undefined {
  if (isLost(exchange)) return undefined
  const { at, answeredAt, status } = exchange
  if (answeredAt === null || status === null || status < 400) return undefined
  const until = retryAfterOf(exchange) ?? exhaustedUntil(exchange)
  if (until === undefined || until <= answeredAt) return undefined
  const end = isExhausted(exchange) ? resetOf(exchange) : undefined
  if (end === undefined || end <= answeredAt) return until
  // A client that reads Reset may come right then, but not before a Retry-After that means another
  // time. Both were decided at some time between the request and the response.
  const isSame = until - end <= SAME_END + (answeredAt - at)
  return isSame ? Math.min(until, end) : until
}

export function exhaustedUntil(exchange: Seen): number | undefined {
  return exchange.status === 429 && isExhausted(exchange) ? resetOf(exchange) : undefined
}

/** Retry-After as ms since the epoch; undefined where it is neither seconds nor an HTTP-date. */
export function retryAfterOf({ headers, answeredAt, lag }: Seen): number | undefined {
  if (answeredAt === null) return undefined
  const until = retryInstant(headers['retry-after'], answeredAt - lag.answeredAt)
  return until === undefined ? undefined : Math.min(until + lag.answeredAt, LATEST)
}

/** X-RateLimit-Reset as ms since the epoch; undefined where it is not a Unix time. */
export function resetOf({ headers, lag }: Seen): number | undefined {
  const text = headers['x-ratelimit-reset'] ?? ''
  return /^\d+$/.test(text) ? Math.min(Number(text) * 1000 + lag.answeredAt, LATEST) : undefined
}

export function isExhausted({ headers }: Seen): boolean {
  return headers['x-ratelimit-remaining'] === '0'
}

/** True if a fault kept the response from arriving as it was sent. */
export function isLost({ fault, method }: Seen): boolean {
  const loses = fault === null ? undefined : kindOf(fault).loses
  return loses === 'response' || (loses === 'body' && method !== 'HEAD')
}

/** When the response was sent, or the request where there was none. */
export function endOf({ at, answeredAt }: Pick<Seen, 'at' | 'answeredAt'>): number {
  return answeredAt ?? at
}

/** True if a request was sent after the response to another one. */
export function isLater(exchange: Seen, other: Seen): boolean {
  return exchange.isOneByOne || exchange.at - endOf(other) > TOLERANCE
}

export function isEarly({ n, at }: Seen, rejection: Seen, until: number): boolean {
  return rejection.n < n && at >= (rejection.answeredAt ?? at) && at < until - TOLERANCE
}

export function reasonIn({ message }: Seen): string {
  return message === null ? '' : `: "${message.slice(0, 100)}"`
}

export function isSuccess(exchange: Seen): boolean {
  return exchange.status !== null && exchange.status < 400 && !isLost(exchange)
}

export const MOST_SHOWN = 100
