import type { Doubt, RuleId, Seen } from '../verdict/rules.js'
import { MOST_SHOWN } from '../verdict/rules.js'

/** The rules that need no more than Retry-After, X-RateLimit headers and the status. */
const ANY_API: readonly RuleId[] = [
  'retry-after.early',
  'remaining.ignored',
  'reset.as-delta',
  'backoff.constant',
]

/** What a service does not tell its clients makes a violation less certain, or invisible. */
export function doubtFrom({
  isAny,
  clients,
}: {
  readonly isAny: boolean
  readonly clients: number | undefined
}): Doubt {
  return breach => {
    const { rule, exchanges } = breach
    if (isAny) return ANY_API.includes(rule) ? breach : undefined
    if (rule !== 'ban.risked' || clients === 1) return breach
    return exchanges.length >= fewestForBan(exchanges) ? breach : { ...breach, isLikely: true }
  }
}

/** How many rejections ban a key of the plans, whoever else uses it. With fewer, others may have. */
function fewestForBan(exchanges: readonly Seen[]): number {
  const limits = exchanges.map(({ headers }) => Number(headers['x-ratelimit-limit'] ?? 0))
  const limit = Math.max(0, ...limits.filter(Number.isFinite))
  return Math.min(MOST_SHOWN, Math.max(10, Math.floor(limit / 2)) + 1)
}
