import { MINUTE } from '../../../src/limits/windows-and-bans.js'
import {
  endOf,
  isEarly,
  type KeyUse,
  MOST_SHOWN,
  type Rule,
  resetOf,
  type Seen,
  type Violation,
} from './rule.js'

export const BANS = {
  id: 'ban.risked',
  fix: 'Stop at the first 429: one rate limiter per key, which waits until Retry-After is over.',
  violatedBy: 'as many rejections in one minute as ban the key (its `banAfterRejections`)',
  fromOutside:
    'a note, as others may use the key; a finding with `clients: 1`, or if this client alone was rejected often enough for a ban (more than half of X-RateLimit-Limit in a minute, and more than 10). Seen only if the client reads the body of the ban',
} as const satisfies Rule

/** Rejections that ban a key by the plans, whoever else uses it. */
function fewestForBan(exchanges: readonly Seen[]): number {
  const limits = exchanges.map(({ headers }) => Number(headers['x-ratelimit-limit'] ?? 0))
  const limit = Math.max(0, ...limits.filter(Number.isFinite))
  return Math.min(MOST_SHOWN, Math.max(10, Math.floor(limit / 2)) + 1)
}

/** Follows the bans that began under our eyes; a client may also meet an earlier one. */
export function createBans({ clients, isFromOutside = false }: KeyUse) {
  let minute = Number.NaN
  let rejections = 0
  let shown: Seen[] = []
  let until = Number.NEGATIVE_INFINITY
  /** A ban that began before. */
  let met: { readonly exchange: Seen; readonly until: number } | undefined

  return {
    see(exchange: Seen): Violation | undefined {
      const { at, code, fault, lag } = exchange
      const decidedIn = Math.floor((endOf(exchange) - lag.answeredAt) / MINUTE)
      if (decidedIn !== minute) {
        minute = decidedIn
        rejections = 0
        shown = []
      }
      const isBan = code === 'api_key_banned'
      // An injected rejection does not count towards a ban, and an injected ban is none.
      if (fault === 'status' || !(isBan || code === 'rate_limit_exceeded')) return undefined
      rejections++
      if (shown.length < MOST_SHOWN) shown.push(exchange)
      // Reset may be the end of the day, long after that of a ban.
      if (!isBan && met && isEarly(exchange, met.exchange, met.until)) met = undefined
      const isMet = isBan && rejections === 1
      if (isMet) met = { exchange, until: resetOf(exchange) ?? at }
      if (!isBan || isMet || at < Math.max(until, met?.until ?? until)) return undefined
      until = resetOf(exchange) ?? at
      const seen = `the ${rejections} rejections of one minute banned the key until ${new Date(until - lag.answeredAt).toISOString()}`
      const mayBeOthers = isFromOutside && clients !== 1
      const isLikely = mayBeOthers && shown.length < fewestForBan(shown)
      return { rule: 'ban.risked', seen, exchanges: shown, isLikely }
    },
    lasts: (at: number) => at < until,
  }
}
