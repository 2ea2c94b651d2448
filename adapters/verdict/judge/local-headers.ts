import { readHttpDate } from '../../../src/lib/retry-after.js'
import { httpDate } from '../../../src/lib/time.js'
import { SECOND } from '../../../src/limits/windows-and-bans.js'
import type { Exchange } from '../log/exchange.js'

/** In ms. `Date` has whole seconds, and a response takes time. */
const SAME_CLOCK = 2 * SECOND

/** Converts instants of a service with another clock to ours. */
export function localHeaders(headers: Exchange['headers'], answeredAt: number | null) {
  if (answeredAt === null) return headers
  const { 'x-ratelimit-reset': reset = '', 'retry-after': retryAfter } = headers
  const ahead = aheadOf(answeredAt, headers['date'])
  if (ahead === 0) return headers
  const resetAt = /^\d+$/.test(reset) ? Number(reset) * SECOND - ahead : undefined
  const retryAt = readHttpDate(retryAfter ?? null)
  return {
    ...headers,
    ...(resetAt !== undefined && { 'x-ratelimit-reset': String(Math.floor(resetAt / SECOND)) }),
    ...(retryAt !== undefined && { 'retry-after': httpDate(retryAt - ahead) }),
  }
}

/** Returns by how many ms the clock of the service is ahead of ours at most; 0 where they agree. */
function aheadOf(answeredAt: number, date: string | undefined): number {
  const sentAt = readHttpDate(date ?? null)
  if (sentAt === undefined || Math.abs(sentAt - answeredAt) <= SAME_CLOCK) return 0
  return sentAt + SECOND - answeredAt
}
