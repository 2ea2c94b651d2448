import type { Exchange } from '../exchange.js'

/** A time that a caller was told to be silent for, and what it did. */
export interface Silence {
  /** The answer that told it first. */
  readonly told: Exchange
  /** Until when, in ms. */
  until: number
  /** Whether the budget was used up, so that every request had to wait. */
  readonly usedUp: boolean
  /** Requests that were refused before and came again too early. */
  readonly repeated: Exchange[]
  /** Other requests that came too early, after one was refused already. */
  readonly others: Exchange[]
  refused: number
  banned: boolean
  /** The requests that were refused, and the connections on which it was told. */
  readonly known: { readonly requests: Set<string>; readonly connections: Set<number | null> }
}

/** The smallest number of rejections that bans a key of a plan. */
const RISK = 10
/** As many as two callers may have had under way, with ten requests each. */
const UNDER_WAY = 20
/** One alone may come from another client with the same key, which was told nothing. */
const CERTAIN = 2
/** Timers may fire a little early, and a clock in between may have been read a little late. */
const TOLERANCE = 100

/**
 * The times of silence in one caller's exchanges. Only a request whose sender had read what was
 * told counts as early; what was under way already is nobody's fault.
 */
export function silences(exchanges: readonly Exchange[]): readonly Silence[] {
  const found: Silence[] = []
  let current: Silence | undefined
  for (const exchange of exchanges) {
    const { at, status, requestDigest, connection } = exchange
    if (current && (at >= current.until - TOLERANCE || at < current.told.at)) current = undefined
    if (current) {
      if (knew(exchange, current)) noteEarly(current, exchange)
      if (status === 429) current.refused++
      current.banned ||= exchange.code === 'api_key_banned'
    }
    const until = toldUntil(exchange)
    if (until === undefined) continue
    if (!current) {
      current = silence(exchange, until)
      found.push(current)
    }
    current.until = Math.max(current.until, until)
    current.known.connections.add(connection)
    if (status !== null && status >= 400) current.known.requests.add(requestDigest)
  }
  return found
}

/** The early requests, in the order of arrival. */
export function early({ repeated, others }: Silence): readonly Exchange[] {
  return [...repeated, ...others].sort((a, b) => a.n - b.n)
}

/** Banned, or on the way to it. */
export function isRisk(silence: Silence): boolean {
  if (!silence.usedUp) return false
  const calls = early(silence).length
  return calls >= RISK || silence.refused > UNDER_WAY || (silence.banned && calls >= CERTAIN)
}

export function isRetry({ repeated }: Silence): boolean {
  return repeated.length >= CERTAIN
}

export function isGoingOn({ others }: Silence): boolean {
  return others.length >= CERTAIN
}

/** Whether the answer says that nothing is left for now. */
export function isUsedUp({ headers }: Exchange): boolean {
  return headers['X-RateLimit-Remaining'] === '0'
}

/** Seconds or an HTTP-date, in ms from the epoch; undefined when it tells no time to come. */
export function retryAfterOf({ headers, answeredAt }: Exchange): number | undefined {
  const text = headers['Retry-After']
  if (text === undefined || answeredAt === null) return undefined
  const until = /^\d+$/.test(text) ? answeredAt + Number(text) * 1000 : Date.parse(text)
  return until > answeredAt ? until : undefined
}

/** An answer that got lost told nobody anything. */
export function isLost({ fault }: Exchange): boolean {
  return fault === 'reset' || fault === 'hang' || fault === 'truncate' || fault === 'malformed'
}

function silence(told: Exchange, until: number): Silence {
  return {
    told,
    until,
    usedUp: isUsedUp(told),
    repeated: [],
    others: [],
    refused: told.status === 429 ? 1 : 0,
    banned: told.code === 'api_key_banned',
    known: { requests: new Set(), connections: new Set() },
  }
}

/**
 * Whether the sender had read what was told: there is no other way, or it was told on this very
 * connection. With more than two connections, what is sent may have been waiting for a free one.
 */
function knew({ sequential, connection }: Exchange, { known: { connections } }: Silence): boolean {
  return sequential || (connections.size <= 2 && connection !== null && connections.has(connection))
}

function noteEarly({ known, repeated, others, usedUp }: Silence, exchange: Exchange): void {
  if (known.requests.has(exchange.requestDigest)) repeated.push(exchange)
  // Not every client reads Remaining: its first request too many is how it learns.
  else if (usedUp && known.requests.size > 0) others.push(exchange)
}

function toldUntil(exchange: Exchange): number | undefined {
  if (isLost(exchange) || exchange.answeredAt === null) return undefined
  const reset = Number(exchange.headers['X-RateLimit-Reset']) * 1000
  const retryAfter = retryAfterOf(exchange)
  if (retryAfter !== undefined) {
    // Whole seconds end a little after the window does; who reads Reset may come right then.
    return isUsedUp(exchange) ? Math.min(retryAfter, reset) : retryAfter
  }
  return isUsedUp(exchange) && exchange.status !== 429 && reset > exchange.at ? reset : undefined
}
