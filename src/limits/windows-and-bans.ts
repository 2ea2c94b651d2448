import type { Limits } from './plans.js'

/** Usage of one partition: counts of the current windows, and bans. Times are in ms. */
export interface Usage {
  readonly lastSeenAt: number
  readonly minuteCount: number
  /** 429 responses with code `rate_limit_exceeded` in the minute of `lastSeen`. */
  readonly rejections: number
  readonly dayCount: number
  /** End of the last ban; 0 if there was none. */
  readonly bannedUntil: number
  /** Number of consecutive bans; each doubles the length of the next. */
  readonly banLevel: number
}

/** The decision about one request, with the window to report. */
export interface Decision {
  /** Reason for the rejection; absent if admitted. */
  readonly code?: 'rate_limit_exceeded' | 'api_key_banned'
  readonly limit: number
  /** Requests left in the reported window after this one, never negative. */
  readonly remaining: number
  /** Unix seconds at which the limit resets, or at which a longer ban ends. */
  readonly reset: number
  /** Whole seconds until `reset`, at least 1; only on a rejection. */
  readonly retryAfter?: number
  readonly window: 'minute' | 'day'
  /** End of the ban in ms; only on the rejection that starts it. */
  readonly bannedUntil?: number
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const DAY = 24 * 60 * MINUTE
/** Each consecutive ban is twice as long as the one before, up to the longest. */
const FIRST_BAN = 5 * MINUTE
const LONGEST_BAN = 60 * MINUTE
/** A day after a ban has ended, the next one is a first ban again. */
const BAN_MEMORY = DAY
/** Hold the clock on backward steps up to this; follow larger ones. */
export const CLOCK_SKEW = MINUTE
/** No ban. Compared by value, because a clock before 1970 is below it. */
const NEVER = 0

const UNSEEN: Usage = {
  lastSeenAt: Number.NEGATIVE_INFINITY,
  minuteCount: 0,
  rejections: 0,
  dayCount: 0,
  bannedUntil: NEVER,
  banLevel: 0,
}

/**
 * Decides one request by a UTC minute and a UTC day: checks both, then counts in both. A rejection
 * counts in neither; too many in a minute start a ban (spec §8, "Behaviour on exceeding").
 * @param usage as returned by the last decision for this partition; undefined for the first
 * @param now ms since the epoch, fractions allowed
 * @throws RangeError if `now` is not finite
 * @example
 * import { decide, PLANS } from 'animal-adoption-store'
 *
 * const { decision, usage } = decide(undefined, PLANS.free, Date.now())
 * console.log(decision.remaining) // prints 59
 * const next = decide(usage, PLANS.free, Date.now())
 */
export function decide(
  usage: Usage = UNSEEN,
  limits: Limits,
  now: number,
): { readonly decision: Decision; readonly usage: Usage } {
  if (!Number.isFinite(now)) throw new RangeError(`Expected the clock to be finite, got ${now}`)
  const current = Math.floor(now)
  const steppedBack = usage.lastSeenAt - current
  const at = steppedBack > 0 && steppedBack <= CLOCK_SKEW ? usage.lastSeenAt : current

  const sameMinute = windowOf(usage.lastSeenAt, MINUTE) === windowOf(at, MINUTE)
  const sameDay = windowOf(usage.lastSeenAt, DAY) === windowOf(at, DAY)
  const minuteCount = sameMinute ? usage.minuteCount : 0
  const rejections = sameMinute ? usage.rejections : 0
  const dayCount = sameDay ? usage.dayCount : 0
  const minuteLeft = Math.max(0, limits.perMinute - minuteCount)
  const dayLeft = Math.max(0, limits.perDay - dayCount)
  const minuteEnd = (windowOf(at, MINUTE) + 1) * MINUTE
  const dayEnd = (windowOf(at, DAY) + 1) * DAY
  // No ban is that long: the clock was set back, and the ban would never end.
  const impossible = usage.bannedUntil > at + LONGEST_BAN + SECOND
  const bannedUntil = impossible ? NEVER : usage.bannedUntil

  const banLevel = usage.banLevel
  const banned = bannedUntil !== NEVER && at < bannedUntil
  if (!banned && minuteLeft > 0 && dayLeft > 0) {
    // Report the window with fewer requests left; on a tie the day, which never ends earlier.
    const dayApplies = dayLeft <= minuteLeft
    return {
      decision: {
        limit: dayApplies ? limits.perDay : limits.perMinute,
        remaining: (dayApplies ? dayLeft : minuteLeft) - 1,
        reset: (dayApplies ? dayEnd : minuteEnd) / SECOND,
        window: dayApplies ? 'day' : 'minute',
      },
      usage: {
        lastSeenAt: at,
        minuteCount: minuteCount + 1,
        rejections,
        dayCount: dayCount + 1,
        bannedUntil,
        banLevel,
      },
    }
  }

  const windowEnd = dayLeft === 0 ? dayEnd : minuteLeft === 0 ? minuteEnd : 0
  const refusal: Refusal = { limits, current, window: dayLeft === 0 ? 'day' : 'minute', windowEnd }
  if (banned) return { decision: reject('api_key_banned', refusal, bannedUntil), usage }

  const counts = { lastSeenAt: at, minuteCount, dayCount, bannedUntil, banLevel }
  if (rejections < rejectionsBeforeBan(limits)) {
    const decision = reject('rate_limit_exceeded', refusal, 0)
    return { decision, usage: { ...counts, rejections: rejections + 1 } }
  }
  const remembered = bannedUntil !== NEVER && at - bannedUntil < BAN_MEMORY
  const level = remembered ? banLevel + 1 : 1
  const length = Math.min(FIRST_BAN * 2 ** (level - 1), LONGEST_BAN)
  const until = Math.ceil((at + length) / SECOND) * SECOND
  return {
    decision: { ...reject('api_key_banned', refusal, until), bannedUntil: until },
    usage: { ...counts, rejections: 0, bannedUntil: until, banLevel: level },
  }
}

interface Refusal {
  readonly limits: Limits
  readonly window: Decision['window']
  /** End of the exhausted window, in ms; 0 if neither is. */
  readonly windowEnd: number
  /** The real time, even while the clock is held: callers wait in real time. */
  readonly current: number
}

function reject(
  code: 'rate_limit_exceeded' | 'api_key_banned',
  { limits, window, windowEnd, current }: Refusal,
  until: number,
): Decision {
  const reset = Math.max(windowEnd, until)
  return {
    code,
    limit: window === 'day' ? limits.perDay : limits.perMinute,
    remaining: 0,
    reset: reset / SECOND,
    retryAfter: Math.ceil((reset - current) / SECOND),
    window,
  }
}

function windowOf(instant: number, length: number): number {
  return Math.floor(instant / length)
}

export function rejectionsBeforeBan({ perMinute, banAfterRejections }: Limits): number {
  return banAfterRejections ?? Math.max(10, Math.floor(perMinute / 2))
}
