import type { RateLimit } from '../../src/errors.js'
import { MINUTE, SECOND } from '../../src/limits/decide.js'

/*
 * Clients that share a key cannot talk to each other. Each begins a window with one request, measures
 * how fast `Remaining` falls beside its own requests, and so how many clients there are. Its share of
 * what remains is spread evenly over the next seconds. Whoever is rejected waits for the next window.
 */

/** Over how long a share is spread: long enough to count, and most of the window is left for others. */
const SPREAD = 20 * SECOND
/** The end of a window for which nobody plans, because clocks and networks are not exact. */
const MARGIN = 2 * SECOND
/** How long one request without a response holds up the next. */
const UNANSWERED = SECOND

export interface PaceOptions {
  /** From 0 up to 1. */
  readonly random: () => number
  readonly maxConcurrent: number
}

/** When a client may send. Times are local, in ms since the epoch. */
export interface Pace {
  /** When the next request may be sent: `now`, later, or Infinity for after the next response. */
  next(now: number): number
  /** What `next` waits for, if it waits: the reset of the limit, others, or a response. */
  waitsFor(now: number): 'limit' | 'others' | 'response'
  /** When the window ends, in ms since the epoch. */
  readonly endsAt: number
  sent(now: number): void
  /** @param endsAt when the window ends, as far as this response says */
  admitted(rateLimit: RateLimit, endsAt: number, now: number): void
  /** After a 429. Returns whether others used up the limit. */
  rejected(rateLimit: RateLimit | undefined, endsAt: number): boolean
  /** After a response without a rate limit: the server does not count. */
  uncounted(): void
  /** There was no response: the request may have been counted. */
  lost(): void
}

interface Window {
  /** As reported, in Unix seconds. */
  readonly reset: number
  readonly limit: number
  /** Longer than a minute, such as a day's. */
  readonly isLong: boolean
  endsAt: number
  /** The least that a response reported. */
  remaining: number
  /** Own requests: all, and those answered since `remaining` fell, and when it did. */
  sent: number
  answered: number
  fellAt: number
  /** Until when the shares of all clients are spread. */
  readonly spreadUntil: number
}

const NO_WINDOW: Window = {
  reset: Number.NEGATIVE_INFINITY,
  limit: 0,
  isLong: false,
  endsAt: 0,
  remaining: Number.POSITIVE_INFINITY,
  sent: 0,
  answered: 0,
  fellAt: 0,
  spreadUntil: 0,
}

export function createPace({ random, maxConcurrent }: PaceOptions): Pace {
  let inFlight = 0
  /** How many requests may be in flight: one more after each response, one after a rejection. */
  let slots = 0
  let isCounted = true
  let window = { ...NO_WINDOW }
  /** How many clients use the key, this one included, as far as it can tell. */
  let clients = 1
  let lastSent = Number.NEGATIVE_INFINITY
  /** When the next unit of the share is due. */
  let dueAt = 0

  return {
    next(now) {
      if (isExhausted(now)) return window.endsAt
      const isOver = isCounted && now >= window.endsAt
      if (isOver) slots = 0
      if (inFlight >= Math.max(1, slots)) return afterResponse(now)
      return isCounted && !isOver ? Math.max(now, dueAt) : now
    },
    waitsFor(now) {
      if (isExhausted(now)) return 'limit'
      return inFlight < Math.max(1, slots) ? 'others' : 'response'
    },
    get endsAt() {
      return window.endsAt
    },
    sent(now) {
      inFlight++
      window.sent++
      lastSent = now
      plan(now)
    },
    admitted(rateLimit, endsAt, now) {
      inFlight--
      isCounted = true
      slots = Math.min(maxConcurrent, slots + 1)
      if (isSame(rateLimit.reset)) observe(rateLimit, now)
      else if (isOvertaken(rateLimit.reset, now)) return
      else enter(rateLimit, endsAt, now)
      // Estimates are late, never early: `Date` has whole seconds, and responses take time.
      window.endsAt = Math.min(window.endsAt, endsAt)
      plan(now)
    },
    rejected(rateLimit, endsAt) {
      inFlight--
      slots = 0
      if (!rateLimit) return false
      const { limit, reset } = rateLimit
      const own = isSame(reset) ? window.sent - inFlight - 1 : 0
      if (!isSame(reset)) window = { ...NO_WINDOW, reset, limit, endsAt }
      window.remaining = 0
      window.endsAt = Math.min(window.endsAt, endsAt)
      if (own >= limit) return false
      clients = Math.max(2, clients)
      return true
    },
    uncounted() {
      inFlight--
      slots = Math.min(maxConcurrent, slots + 1)
      isCounted = false
    },
    lost() {
      inFlight--
      window.remaining--
    },
  }

  /** Whether a reset is that of the current window. Counted from a `Date`, it is a second off. */
  function isSame(reset: number): boolean {
    return Math.abs(reset - window.reset) <= 1
  }

  /** Whether a response describes a window that ended before the current one was reported. */
  function isOvertaken(reset: number, now: number): boolean {
    if (reset >= window.reset || now >= window.endsAt) return false
    // A minute within the day applies again where the server has lost its counts.
    return !window.isLong || now >= window.endsAt - (window.reset - reset) * SECOND
  }

  function isExhausted(now: number): boolean {
    return isCounted && now < window.endsAt && window.remaining - inFlight <= 0
  }

  function afterResponse(now: number): number {
    if (inFlight >= maxConcurrent) return Number.POSITIVE_INFINITY
    return Math.max(now, lastSent + UNANSWERED)
  }

  /** The first response of a window. */
  function enter({ limit, remaining, reset }: RateLimit, endsAt: number, now: number): void {
    const sameClock = window.endsAt + (reset - window.reset) * SECOND
    // Unless the clock was set meanwhile, the earlier estimate is the better one.
    const isContinued = window.limit === limit && endsAt - sameClock < MARGIN
    const end = isContinued ? Math.min(endsAt, sameClock) : endsAt
    window = {
      ...NO_WINDOW,
      reset,
      limit,
      remaining,
      endsAt: end,
      isLong: end - now > MINUTE + SECOND,
      sent: inFlight + 1,
      fellAt: now,
      spreadUntil: Math.min(now + SPREAD, end - MARGIN),
    }
  }

  function observe({ remaining }: RateLimit, now: number): void {
    window.answered++
    if (remaining >= window.remaining) return
    const used = (window.remaining - remaining) / (window.answered + inFlight)
    // After a pause, nobody knows whether the others still send.
    const isMeasured = now - window.fellAt <= SPREAD && !window.isLong
    window.remaining = remaining
    window.answered = 0
    window.fellAt = now
    if (!isMeasured) return
    clients = used <= 1 && clients < 2 ? 1 : Math.max(1, (clients + used) / 2)
  }

  /** Spreads the share of what remains over what is left of the time for it. */
  function plan(now: number): void {
    dueAt = now
    if (clients === 1 || window.isLong) return
    const { spreadUntil, remaining, limit, endsAt } = window
    const even = (Math.max(0, spreadUntil - now) * clients) / Math.max(1, remaining)
    // What is left over at the end belongs to whoever still has requests to send.
    const least = (SPREAD / limit) * clients
    dueAt = Math.min(endsAt, now + Math.max(even, least) * (0.5 + random()))
  }
}
