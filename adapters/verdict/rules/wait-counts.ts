import { SECOND } from '../../../src/limits/windows-and-bans.js'
import { remember } from '../log/bounded-log.js'
import { endOf, isEarly, isSuccess, MOST_SHOWN, type Seen, TOLERANCE } from './rule.js'

export interface Early {
  readonly exchange: Seen
  readonly after: Seen
  /** True if this very request had been rejected. */
  readonly isRepeated: boolean
  /** True if its connection, or a sequential call of this process, had read the rejection. */
  readonly isAware: boolean
}

interface Counts {
  rejected: number
  early: number
  returned: number
}

export type Wait = ReturnType<typeof createWait>

/**
 * Counts the requests of one wait that were rejected, came too early, or came back after it.
 * @param first the rejection that asked for it
 * @param until its end, in ms
 * @param share of its length: those that waited come back within this time after it
 * @param isOfAll whether the whole key has to wait, not only the rejected request
 */
export function createWait(first: Seen, until: number, share: number, isOfAll: boolean) {
  const all: Counts = { rejected: 0, early: 0, returned: 0 }
  const byRequest = new Map<string, Counts & { last: Seen }>()
  const connections = new Map<number, Seen>()
  const early: Early[] = []
  let end = until + Math.max(SECOND, share * (until - first.at))
  let isLifted = false

  return {
    first,
    early,
    hasEnded: (at: number) => at >= until - TOLERANCE,
    isOver: (at: number) => at > end,
    /** A ban keeps clients away until this instant. */
    extend(instant: number): void {
      end += Math.max(0, instant - until)
    },
    reject(exchange: Seen): void {
      const { requestDigest, connection } = exchange
      const { rejected = 0, ...same } = byRequest.get(requestDigest) ?? { early: 0, returned: 0 }
      remember(byRequest, requestDigest, { ...same, rejected: rejected + 1, last: exchange })
      all.rejected++
      if (connection !== null) remember(connections, connection, exchange)
    },
    /** @returns whether fewer had come back than were rejected */
    comeBack({ requestDigest }: Seen): boolean {
      const same = byRequest.get(requestDigest)
      if (same) same.returned++
      return all.returned++ < all.rejected
    },
    comeEarly(exchange: Seen): void {
      if (isLifted || !isEarly(exchange, first, until)) return
      const { at, connection, requestHeaders, sequential } = exchange
      const same = byRequest.get(exchange.requestDigest)
      const isRepeated = same !== undefined && at >= endOf(same.last)
      const hasRead = connection !== null && connections.has(connection)
      // A double's own `fetch` sends no Host.
      const isInProcess = requestHeaders['host'] === undefined
      const isAware = hasRead || (isInProcess && sequential && isSuccess(exchange))
      const after = same?.last ?? first
      if (early.length < MOST_SHOWN) early.push({ exchange, after, isRepeated, isAware })
      all.early++
      if (isRepeated) same.early++
      isLifted = !isOfAll && isSuccess(exchange)
    },
    /** Early requests for which nobody came back, summed per request and over all. */
    missing: () => ({
      repeated: [...byRequest.values()].reduce((sum, counts) => sum + missingOf(counts), 0),
      all: missingOf(all),
    }),
    /** True if all came back, so that those who came too early were other clients. */
    haveAllReturned: () => early.some(({ isAware }) => !isAware) && all.returned >= all.rejected,
  }
}

function missingOf({ rejected, early, returned }: Counts): number {
  return Math.max(0, Math.min(early, rejected - returned))
}
