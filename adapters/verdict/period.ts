import type { Clock } from '../../src/ports.js'
import type { Outline } from '../exchanges/exchange.js'
import type { Breach, Doubt, Seen, Watch } from './rules.js'
import type { FaultUse } from './unused.js'
import { KEY_WATCHES, STRANGER_WATCHES } from './watches.js'

/** The time between two resets: nothing that happens in one is judged by another. */
export interface Period {
  readonly faults: FaultUse | undefined
  /** Has everything judged that is still waiting for it. */
  catchUp(): void
  /** The violations that this exchange completes. */
  see(exchange: Outline): readonly Breach[]
  /** The violations so far in what is still going on. */
  open(): readonly Breach[]
}

interface Caller {
  readonly watches: readonly Watch[]
  readonly orderOf: (exchange: Outline) => Pick<Seen, 'isOneByOne' | 'hasOverlapped'>
}

export interface PeriodOptions {
  readonly now: Clock
  readonly catchUp: () => void
  readonly faults?: FaultUse | undefined
  /** How many clients share a key; undefined where nobody says so. */
  readonly clients?: number | undefined
  readonly doubt?: Doubt | undefined
}

export function createPeriod(options: PeriodOptions): Period {
  const { now, catchUp, faults, clients, doubt = certain } = options
  const callers = new Map<string | null, Caller>()

  return {
    catchUp,
    faults,
    see(exchange) {
      const { watches, orderOf } = callerOf(exchange.key)
      const seen = seenOf(exchange, orderOf(exchange))
      return left(watches.flatMap(watch => watch.see(seen)))
    },
    open() {
      const watches = [...callers.values()].flatMap(caller => caller.watches)
      return left(watches.flatMap(watch => watch.open(now())))
    },
  }

  function left(breaches: readonly Breach[]): readonly Breach[] {
    return breaches.map(doubt).filter(breach => breach !== undefined)
  }

  function callerOf(key: string | null): Caller {
    const known = callers.get(key)
    if (known) return known
    const watches = (key === null ? STRANGER_WATCHES : KEY_WATCHES).map(watch =>
      watch(clients, doubt),
    )
    const caller = { watches, orderOf: watchConnections() }
    callers.set(key, caller)
    return caller
  }
}

function certain(breach: Breach): Breach {
  return breach
}

/** Node's `fetch` alternates between two connections even when it sends one request at a time. */
const MOST_ALTERNATING = 2

/** Tells one request after the other from a pool, whose connections are used again and again. */
function watchConnections(): Caller['orderOf'] {
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
    return {
      isOneByOne: sequential || (!hasOverlapped && reused.size <= MOST_ALTERNATING),
      hasOverlapped,
    }
  }
}

/** A copy without bodies, as what is passed may hold much more than the rules need. */
function seenOf(exchange: Outline, order: ReturnType<Caller['orderOf']>): Seen {
  return {
    n: exchange.n,
    at: exchange.at,
    answeredAt: exchange.answeredAt,
    key: exchange.key,
    method: exchange.method,
    url: exchange.url.length > LONGEST_URL ? beginningOf(exchange.url) : exchange.url,
    operation: exchange.operation,
    requestDigest: exchange.requestDigest,
    unknown: exchange.unknown,
    status: exchange.status,
    code: exchange.code,
    headers: headersThatCount(exchange.headers),
    fault: exchange.fault,
    storedAt: exchange.storedAt,
    connection: exchange.connection,
    sequential: exchange.sequential,
    overlap: exchange.overlap,
    isInProcess: exchange.requestHeaders['host'] === undefined,
    ...order,
    idempotencyKey: exchange.requestHeaders['idempotency-key'] ?? null,
  }
}

const LONGEST_URL = 100

/** A string of its own: a slice would keep all of the URL in memory. */
function beginningOf(url: string): string {
  return `${[...url.slice(0, LONGEST_URL - 1)].join('')}…`
}

const HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'www-authenticate',
  'location',
]

function headersThatCount(headers: Outline['headers']): Outline['headers'] {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (HEADERS.includes(lower)) kept[lower] = headers[name] as string
  }
  return kept
}
