import { looksRounded } from '../../src/lib/int64.js'
import { parseJson } from '../../src/lib/json.js'
import type { Clock } from '../../src/ports.js'
import { type Exchange, errorOf } from './log/exchange.js'
import { createWatches } from './rules/index.js'
import type { KeyUse, Seen, Violation } from './rules/rule.js'

export interface RunnerOptions extends KeyUse {
  readonly now: Clock
}

/** Runs the rules over the exchanges between two resets: nothing later is judged by what it has seen. */
export function createRuleRunner({ now, ...use }: RunnerOptions) {
  const callers = new Map<string | null, ReturnType<typeof createCaller>>()
  let lag = 0

  return {
    see(exchange: Exchange): readonly Violation[] {
      const { watches, isOneByOne } = callerOf(exchange.keyId)
      const seen = seenOf(exchange, isOneByOne(exchange))
      lag = seen.lag.answeredAt
      return watches.flatMap(watch => watch.see(seen))
    },
    open(): readonly Violation[] {
      const watches = [...callers.values()].flatMap(caller => caller.watches)
      return watches.flatMap(watch => watch.open?.(now() + lag) ?? [])
    },
  }

  function callerOf(key: string | null) {
    const caller = callers.get(key) ?? createCaller(key, use)
    callers.set(key, caller)
    return caller
  }
}

function createCaller(key: string | null, use: KeyUse) {
  return { watches: createWatches(key !== null, use), isOneByOne: watchConnections() }
}

/** Node's `fetch` alternates between two connections even when it sends one request at a time. */
const MOST_ALTERNATING = 2

/** Tells one request after the other from a pool, whose connections are used again and again. */
function watchConnections(): (exchange: Exchange) => boolean {
  const reused = new Set<number>()
  let last: number | null = null
  let latest = 0
  let hasOverlapped = false

  return ({ connection, sequential, overlap }) => {
    hasOverlapped ||= overlap !== 'none'
    if (connection !== null) {
      const isReused = connection <= latest && connection !== last
      if (isReused && reused.size <= MOST_ALTERNATING) reused.add(connection)
      latest = Math.max(latest, connection)
    }
    last = connection
    return sequential || (!hasOverlapped && reused.size <= MOST_ALTERNATING)
  }
}

const LONGEST_URL = 100

const NO_LAG = { at: 0, answeredAt: 0 }

/** A copy without bodies, field by field: in V8, a spread takes several times as long. */
function seenOf(exchange: Exchange, isOneByOne: boolean): Seen {
  const { url, status, answeredAt, body, lag = NO_LAG } = exchange
  return {
    n: exchange.n,
    at: exchange.at + lag.at,
    answeredAt: answeredAt === null ? null : answeredAt + lag.answeredAt,
    lag,
    keyId: exchange.keyId,
    operation: exchange.operation,
    method: exchange.method,
    // A string of its own: a slice would keep all of the URL in memory.
    url: url.length > LONGEST_URL ? `${[...url.slice(0, LONGEST_URL - 1)].join('')}…` : url,
    status,
    code: exchange.code,
    message: status === null || body === null ? null : errorOf({ status, body }).message,
    requestHeaders: exchange.requestHeaders,
    headers: headersThatCount(exchange.headers),
    requestDigest: exchange.requestDigest,
    unknown: exchange.unknown,
    fault: exchange.fault,
    location: exchange.location,
    connection: exchange.connection,
    sequential: exchange.sequential,
    overlap: exchange.overlap,
    stack: exchange.stack,
    isOneByOne,
    ...(exchange.operation === 'createPet' ? oddIn(exchange.requestBody) : NOTHING_ODD),
  }
}

const NOTHING_ODD = { rounded: null, isHalved: false }

function oddIn(body: string | null): Pick<Seen, 'rounded' | 'isHalved'> {
  if (body === null) return NOTHING_ODD
  try {
    const { categoryId, name } = Object(parseJson(body)) as Record<string, unknown>
    const isRounded = typeof categoryId === 'bigint' && looksRounded(categoryId)
    // With the flag, a pair is one character: what is left is half of one.
    const isHalved = typeof name === 'string' && /\p{Surrogate}/u.test(name)
    return { rounded: isRounded ? String(categoryId) : null, isHalved }
  } catch {
    // The store answers 400 to that.
    return NOTHING_ODD
  }
}

const KEPT = /^(x-ratelimit-(limit|remaining|reset)|retry-after|www-authenticate|location)$/

function headersThatCount(headers: Exchange['headers']): Exchange['headers'] {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (KEPT.test(lower)) kept[lower] = headers[name] as string
  }
  return kept
}
