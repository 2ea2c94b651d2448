import type { Exchange } from '../exchange.js'
import { isLost, retryAfterOf } from './early-calls.js'

/** The same request again and again without success, as one caller sent it. */
export interface Attempts {
  /** The same request, answered well, right before. */
  readonly before: Exchange | undefined
  readonly exchanges: readonly Exchange[]
}

/** Runs of the same request in which every answer was one of those that `isOne` picks. */
export function attempts(
  exchanges: readonly Exchange[],
  isOne: (exchange: Exchange) => boolean,
): readonly Attempts[] {
  const runs: { before: Exchange | undefined; exchanges: Exchange[] }[] = []
  const open = new Map<string, (typeof runs)[number]>()
  const last = new Map<string, Exchange>()
  for (const exchange of exchanges) {
    const { requestDigest } = exchange
    const run = open.get(requestDigest)
    if (!isOne(exchange)) open.delete(requestDigest)
    else if (run) run.exchanges.push(exchange)
    else {
      const begun = { before: last.get(requestDigest), exchanges: [exchange] }
      open.set(requestDigest, begun)
      runs.push(begun)
    }
    last.set(requestDigest, exchange)
  }
  return runs
}

/** Worth another attempt, and nobody said when. */
export function isUntimedFailure(exchange: Exchange): boolean {
  if (isLost(exchange)) return true
  const { status } = exchange
  const failed = status === 429 || (status !== null && status >= 500)
  return failed && retryAfterOf(exchange) === undefined
}

/** The client's own mistake, which another attempt cannot mend. */
export function isRefusal({ status }: Exchange): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 401 && status !== 429
}

/**
 * Pauses that do not grow. At least four, so that neither three retries nor chance are taken for
 * it; none of no length, because on a frozen clock a pause in real time has none; and not those of
 * a poll, which went on at this pace before anything failed.
 */
export function isConstant({ before, exchanges }: Attempts): boolean {
  const pauses = exchanges.slice(1).map((next, at) => next.at - (exchanges[at] as Exchange).at)
  if (pauses.length < 4 || !exchanges.every(({ sequential }) => sequential)) return false
  const [shortest, longest] = [Math.min(...pauses), Math.max(...pauses)]
  if (shortest <= 0 || longest > shortest * 1.25 + 2) return false
  const pace = before ? (exchanges[0] as Exchange).at - before.at : Number.NaN
  return !(pace >= shortest / 1.25 && pace <= longest * 1.25)
}
