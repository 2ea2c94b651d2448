import type { RateLimit } from '../../src/errors.js'
import { MINUTE, SECOND } from '../../src/limits/windows-and-bans.js'

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
export type Pace = ReturnType<typeof createPace>

export interface Turn {
  /** When the next request may be sent: now, later, or Infinity for after the next response. */
  readonly at: number
  /** What it waits for, if it waits: the reset of the limit, others on the key, or a response. */
  readonly reason: 'limit' | 'others' | 'response'
}

interface Window {
  /** As reported, in Unix seconds. */
  readonly reset: number
  readonly limit: number
  /** Longer than a minute, such as a day's. */
  readonly isLong: boolean
  readonly endsAt: number
  /** The least that a response reported, and when it fell. */
  readonly remaining: number
  readonly fellAt: number
  /** Own requests answered since then. */
  readonly answered: number
  /** Until when the shares of all clients are spread. */
  readonly spreadUntil: number
}

export function createPace({ random, maxConcurrent }: PaceOptions) {
  let window: Window | undefined
  let inFlight = 0
  /** How many requests may be in flight: one more after each response, one after a rejection. */
  let slots = 0
  /** How many clients use the key, this one included, as far as it can tell. */
  let clients = 1
  let lastSent = Number.NEGATIVE_INFINITY
  /** When the next unit of the share is due. */
  let dueAt = 0

  return {
    next(now: number): Turn {
      const isOver = window !== undefined && now >= window.endsAt
      if (window && !isOver && window.remaining <= inFlight) {
        return { at: window.endsAt, reason: 'limit' }
      }
      if (isOver) slots = 0
      if (inFlight < Math.max(1, slots)) {
        return { at: isOver ? now : Math.max(now, dueAt), reason: 'others' }
      }
      const isFull = inFlight >= maxConcurrent
      const at = isFull ? Number.POSITIVE_INFINITY : Math.max(now, lastSent + UNANSWERED)
      return { at, reason: 'response' }
    },
    sent(now: number): void {
      inFlight++
      lastSent = now
      plan(now)
    },
    /**
     * @param rateLimit undefined if the server does not count
     * @param endsAt when the window ends, as far as this response says
     */
    admitted(rateLimit: RateLimit | undefined, endsAt: number, now: number): void {
      inFlight--
      slots = Math.min(maxConcurrent, slots + 1)
      if (!rateLimit || !window || !isSame(window, rateLimit)) {
        if (isOvertaken(rateLimit, now)) return
        window = rateLimit && begin(rateLimit, endsAt, now)
      } else {
        const { remaining, answered } = window
        if (rateLimit.remaining < remaining) measure(window, rateLimit, now)
        else window = { ...window, answered: answered + 1 }
        // Estimates are late, never early: `Date` has whole seconds, and responses take time.
        window = { ...window, endsAt: Math.min(window.endsAt, endsAt) }
      }
      plan(now)
    },
    /** After a 429. */
    rejected(rateLimit: RateLimit | undefined, endsAt: number, now: number): void {
      inFlight--
      slots = 0
      if (!rateLimit) return
      const known = window && isSame(window, rateLimit) ? window.endsAt : endsAt
      window = begin({ ...rateLimit, remaining: 0 }, Math.min(known, endsAt), now)
      clients = Math.max(2, clients)
    },
    /** There was no response: the request may have been counted. */
    lost(): void {
      inFlight--
      if (window) window = { ...window, remaining: window.remaining - 1 }
    },
  }

  /** Whether a response describes a window that ended before the current one was reported. */
  function isOvertaken(rateLimit: RateLimit | undefined, now: number): boolean {
    if (!rateLimit || !window || rateLimit.reset >= window.reset) return false
    // A minute within the day applies again where the server has lost its counts.
    const minuteEndsAt = window.endsAt - (window.reset - rateLimit.reset) * SECOND
    return now < window.endsAt && (!window.isLong || now >= minuteEndsAt)
  }

  /** Estimates how many clients there are, by how much faster `Remaining` falls than one causes. */
  function measure(last: Window, { remaining }: RateLimit, now: number): void {
    window = { ...last, remaining, answered: 0, fellAt: now }
    // After a pause, nobody knows whether the others still send.
    if (last.isLong || now - last.fellAt > SPREAD) return
    const used = (last.remaining - remaining) / (last.answered + 1 + inFlight)
    clients = used <= 1 && clients < 2 ? 1 : Math.max(1, (clients + used) / 2)
  }

  /** Spreads the share of what remains over what is left of the time for it. */
  function plan(now: number): void {
    dueAt = now
    if (!window || clients === 1 || window.isLong) return
    const { spreadUntil, remaining, limit, endsAt } = window
    const even = (Math.max(0, spreadUntil - now) * clients) / Math.max(1, remaining)
    // What is left over at the end belongs to whoever still has requests to send.
    const least = (SPREAD / limit) * clients
    dueAt = Math.min(endsAt, now + Math.max(even, least) * (0.5 + random()))
  }
}

function begin({ limit, remaining, reset }: RateLimit, endsAt: number, now: number): Window {
  const isLong = endsAt - now > MINUTE + SECOND
  const spreadUntil = Math.min(now + SPREAD, endsAt - MARGIN)
  return { reset, limit, isLong, endsAt, remaining, fellAt: now, answered: 0, spreadUntil }
}

/** Counted from a `Date`, a reset is a second off. */
function isSame(window: Window, { reset }: RateLimit): boolean {
  return Math.abs(reset - window.reset) <= 1
}
