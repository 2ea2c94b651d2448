import type { RateLimit } from '../../src/api-error.js'
import { readHttpDate, readRetryAfterLeniently } from '../../src/lib/retry-after.js'
import { DAY, MINUTE, SECOND } from '../../src/limits/windows-and-bans.js'

const SAFE_WAIT = MINUTE + SECOND

export type AnnouncedLimits = Readonly<ReturnType<typeof readLimits>>

export function readLimits(headers: Headers) {
  return {
    rateLimit: readRateLimit(headers),
    retryAfter: headers.get('retry-after'),
    /** In ms since the epoch; undefined where a browser hides `Date`. */
    sentAt: readHttpDate(headers.get('date')),
  }
}

function readRateLimit(headers: Headers): RateLimit | undefined {
  const read = (name: keyof RateLimit) => readCount(headers.get(`x-ratelimit-${name}`))
  const [limit, remaining, reset] = [read('limit'), read('remaining'), read('reset')]
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined
  return { limit, remaining, reset: reset > LAST_SECOND ? Math.floor(reset / 1000) : reset }
}

/** Year 5138: larger numbers are milliseconds. */
const LAST_SECOND = 1e11

function readCount(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/**
 * Returns the ms until the limit resets, by the `Date` of the same response. Where that is hidden, the
 * local clock counts only if it agrees with a window of a minute, as it may be wrong by any amount.
 */
export function untilReset({ reset }: RateLimit, sentAt: number | undefined, now: number): number {
  const wait = untilInstant(reset * SECOND, sentAt, now)
  return wait <= DAY + MINUTE ? Math.max(0, wait) : SAFE_WAIT
}

function untilInstant(instant: number, sentAt: number | undefined, now: number): number {
  if (sentAt !== undefined) return instant - sentAt
  const wait = instant - now
  return wait > 0 && wait < SAFE_WAIT ? wait : SAFE_WAIT
}

/** In ms: `Retry-After`, else until the limit resets. An unreadable `Retry-After` leads to a safe wait. */
export function requestedWait(limits: AnnouncedLimits, now: number): number | undefined {
  const { retryAfter, sentAt, rateLimit } = limits
  const { seconds, date } = readRetryAfterLeniently(retryAfter)
  if (seconds !== undefined) return seconds * SECOND
  const untilDate = date === undefined ? 0 : untilInstant(date, sentAt, now)
  if (untilDate > 0) return untilDate
  const wait = rateLimit ? untilReset(rateLimit, sentAt, now) : 0
  if (wait > 0) return wait
  return retryAfter && date === undefined ? SAFE_WAIT : undefined
}
