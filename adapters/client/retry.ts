import type { RateLimit } from '../../src/errors.js'

const SECOND = 1000
const LONGEST_BACKOFF = 60 * SECOND
const MOST_JITTER = 30 * SECOND

/** What an answer says about when to come back. */
export interface Told {
  /** As it stands in the header. */
  readonly retryAfter: string | null
  /** `Date`, in ms since the epoch. */
  readonly sentAt: number | undefined
  readonly rateLimit: RateLimit | undefined
}

/**
 * How long an answer says to wait, in ms; undefined when it does not, or says what cannot be. An
 * instant is held against the `Date` of the same answer, so that no clock has to be right; without
 * one, against `now`.
 */
export function toldWait({ retryAfter, sentAt, rateLimit }: Told, now: number): number | undefined {
  const asked = /^\d+$/.test(retryAfter ?? '')
    ? Number(retryAfter) * SECOND
    : untilInstant(httpDate(retryAfter))
  if (asked >= 0) return asked
  const reset = untilInstant(rateLimit && rateLimit.reset * SECOND)
  return reset > 0 ? reset : undefined

  function untilInstant(instant = Number.NaN): number {
    return instant - (sentAt ?? now)
  }
}

export interface Rejection {
  /** What `toldWait` says. */
  readonly told: number | undefined
  /** Retries of this request before. */
  readonly retries: number
  /** Whether the answer before was the same: then the wait was too short. */
  readonly again: boolean
}

/** How long to wait before the next try, in ms: never less than told, and not all at one instant. */
export function waitBefore({ told, retries, again }: Rejection, random: () => number): number {
  const backoff = () =>
    Math.max(SECOND, random() * Math.min(LONGEST_BACKOFF, SECOND * 2 ** retries))
  if (told === undefined) return backoff()
  const wait = again ? Math.max(told, backoff()) : told
  return wait + random() * Math.min(MOST_JITTER, SECOND + wait / 10)
}

/**
 * RFC 9110 §5.6.7, all three forms; undefined for anything else. Every form begins with the day of
 * the week, and asctime leaves out that it means GMT.
 */
export function httpDate(text: string | null): number | undefined {
  if (text === null || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const instant = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(instant) ? undefined : instant
}
