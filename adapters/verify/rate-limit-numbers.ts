import type { Reply } from './check.js'
import { CheckSkipped } from './failure.js'

export const RATE_LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
] as const

/** @throws CheckSkipped where another check reports their absence or form */
export function numbersOf({ headers }: Reply) {
  const [limit, remaining, reset] = RATE_LIMIT_HEADERS.map(name =>
    Number(headers.get(name) ?? Number.NaN),
  )
  if (![limit, remaining, reset].every(Number.isFinite)) {
    throw new CheckSkipped('the rate limit headers are missing or not numbers')
  }
  return { limit, remaining, reset } as Record<'limit' | 'remaining' | 'reset', number>
}
