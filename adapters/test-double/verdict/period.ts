import type { Clock } from '../../../src/ports.js'
import type { Exchange } from '../exchange.js'
import type { Breach, Seen, Watch } from './rules.js'
import { KEY_WATCHES, STRANGER_WATCHES } from './watches.js'

/** The time between two resets: nothing that happens in one is judged by another. */
export interface Period {
  /** The violations that this exchange completes. */
  see(exchange: Exchange): readonly Breach[]
  /** The violations so far in what is still going on. */
  open(): readonly Breach[]
}

interface Caller {
  readonly watches: readonly Watch[]
  /** The first connections, as many as it takes to recognize a pool. */
  readonly connections: Set<number | null>
}

/** Node's `fetch` alternates between two connections even when it sends one request at a time. */
const MOST_ALTERNATING = 2

export function createPeriod(now: Clock): Period {
  const callers = new Map<string | null, Caller>()

  return {
    see(exchange) {
      const { watches, connections } = callerOf(exchange.key)
      if (connections.size <= MOST_ALTERNATING) connections.add(exchange.connection)
      const isOneByOne = exchange.sequential || connections.size <= MOST_ALTERNATING
      const seen = seenOf(exchange, isOneByOne)
      return watches.flatMap(watch => watch.see(seen))
    },
    open: () =>
      [...callers.values()].flatMap(({ watches }) => watches.flatMap(watch => watch.open(now()))),
  }

  function callerOf(key: string | null): Caller {
    const known = callers.get(key)
    if (known) return known
    const watches = (key === null ? STRANGER_WATCHES : KEY_WATCHES).map(watch => watch())
    const caller = { watches, connections: new Set<number | null>() }
    callers.set(key, caller)
    return caller
  }
}

/** A copy without bodies, as the journal may keep much more of an exchange than the rules do. */
function seenOf(exchange: Exchange, isOneByOne: boolean): Seen {
  return {
    n: exchange.n,
    at: exchange.at,
    answeredAt: exchange.answeredAt,
    key: exchange.key,
    operation: exchange.operation,
    requestDigest: exchange.requestDigest,
    unknown: exchange.unknown,
    status: exchange.status,
    code: exchange.code,
    headers: headersThatCount(exchange.headers),
    fault: exchange.fault,
    connection: exchange.connection,
    sequential: exchange.sequential,
    isOneByOne,
  }
}

const HEADERS = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after', 'www-authenticate']

function headersThatCount(headers: Exchange['headers']): Exchange['headers'] {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (HEADERS.includes(lower)) kept[lower] = headers[name] as string
  }
  return kept
}
