import { SECOND } from '../../../src/limits/windows-and-bans.js'
import { MOST_SHOWN, type Pair, remember, type Seen, TOLERANCE, waitOf } from './rule.js'

/** Of the senders that were rejected on one connection, two may have given up. */
const FEWEST_MISSING = 3

interface Connection {
  rejected: number
  readonly pairs: Pair[]
}

/** A wait, and the time after it in which those that have waited come back. */
interface Wait {
  readonly from: number
  until: number
  back: number
  readonly connections: Map<number, Connection>
}

/**
 * Requests on a connection that had read the rejection, and had paused since. Polite workers that
 * share the connection are each sent away once, and as many come back soon after the wait, over
 * whatever connection, with some jitter. A client that polls on comes one at a time at its pace: what it
 * sends later does not count as the return of earlier ones.
 */
export function createPersistence() {
  let wait: Wait | undefined

  return {
    /** A request came too early on a connection that had read the rejection. */
    add(pair: Pair): void {
      const { connection } = pair.exchange
      const pairs = connection === null ? undefined : wait?.connections.get(connection)?.pairs
      if (pairs && pairs.length < MOST_SHOWN) pairs.push(pair)
    },
    listen(exchange: Seen): void {
      const until = waitOf(exchange)
      if (until === undefined || exchange.connection === null) return
      wait ??= { from: exchange.at, until, back: 0, connections: new Map() }
      wait.until = Math.max(wait.until, until)
      const { rejected = 0, pairs = [] } = wait.connections.get(exchange.connection) ?? {}
      remember(wait.connections, exchange.connection, { rejected: rejected + 1, pairs })
    },
    /** Counts a request that arrives at this time. @returns the pairs of each connection to blame */
    settle(at: number): readonly (readonly Pair[])[] {
      if (!wait || at < wait.until - TOLERANCE) return []
      if (at <= wait.until + Math.max(SECOND, (wait.until - wait.from) / 2)) {
        wait.back++
        return []
      }
      const pairs = toBlame()
      wait = undefined
      return pairs
    },
    open: toBlame,
  }

  function toBlame(): readonly (readonly Pair[])[] {
    return [...(wait?.connections.values() ?? [])]
      .filter(({ rejected, pairs }) => {
        const missing = rejected - (wait?.back ?? 0)
        return Math.min(pairs.length, missing) >= FEWEST_MISSING
      })
      .map(({ pairs }) => pairs)
  }
}
