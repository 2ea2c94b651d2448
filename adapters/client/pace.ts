import type { RateLimit } from '../../src/api-error.js'
import { MINUTE, SECOND } from '../../src/limits/windows-and-bans.js'
import type { ClientSettings } from './client-options.js'

/*
 * Clients that share a key cannot talk to each other. Each begins a window with one request, and
 * estimates the number of clients by how fast `Remaining` falls beside its own requests. It spreads
 * its share of the rest evenly over the next seconds. A rejected client waits for the next window.
 */

/** Period over which a share is spread: long enough to count, and short beside the window. */
const SPREAD = 20 * SECOND
/** Unplanned end of a window, because clocks and networks are not exact. */
const MARGIN = 2 * SECOND
/** Delay of the next request by one without a response. */
const UNANSWERED = SECOND

type PaceOptions = Pick<ClientSettings, 'random' | 'maxConcurrent'>
export type Pace = ReturnType<typeof createPace>

export interface Turn {
  /** When the next request may be sent, in ms; Infinity for after the next response. */
  readonly at: number
  readonly reason: 'limit' | 'others' | 'response'
}

type Window = Readonly<ReturnType<typeof begin>>

export function createPace({ random, maxConcurrent }: PaceOptions) {
  let window: Window | undefined
  let inFlight = 0
  /** Most requests in flight: one more after each response, one after a rejection. */
  let slots = 0
  /** Estimated number of clients on the key, including this one. */
  let clients = 1
  let lastSent = Number.NEGATIVE_INFINITY
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
    /** @param rateLimit undefined if the server does not count */
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
    rejected(rateLimit: RateLimit | undefined, endsAt: number, now: number): void {
      inFlight--
      slots = 0
      if (!rateLimit) return
      const known = window && isSame(window, rateLimit) ? window.endsAt : endsAt
      window = begin({ ...rateLimit, remaining: 0 }, Math.min(known, endsAt), now)
      clients = Math.max(2, clients)
    },
    /** Without a response, the request may have been counted. */
    lost(): void {
      inFlight--
      if (window) window = { ...window, remaining: window.remaining - 1 }
    },
  }

  /** A response about a window that ended before the current one was reported. */
  function isOvertaken(rateLimit: RateLimit | undefined, now: number): boolean {
    if (!rateLimit || !window || rateLimit.reset >= window.reset) return false
    // If the server has lost its counts, a minute within the day applies again.
    const minuteEndsAt = window.endsAt - (window.reset - rateLimit.reset) * SECOND
    return now < window.endsAt && (!window.isLong || now >= minuteEndsAt)
  }

  /** Estimates the number of clients by how much faster `Remaining` falls than one causes. */
  function measure(last: Window, { remaining }: RateLimit, now: number): void {
    window = { ...last, remaining, answered: 0, fellAt: now }
    // After a pause, the others may have stopped sending.
    if (last.isLong || now - last.fellAt > SPREAD) return
    const used = (last.remaining - remaining) / (last.answered + 1 + inFlight)
    clients = used <= 1 && clients < 2 ? 1 : Math.max(1, (clients + used) / 2)
  }

  function plan(now: number): void {
    dueAt = now
    if (!window || clients === 1 || window.isLong) return
    const { spreadUntil, remaining, limit, endsAt } = window
    const even = (Math.max(0, spreadUntil - now) * clients) / Math.max(1, remaining)
    // Near the end of a window, unused requests are up for grabs.
    const least = (SPREAD / limit) * clients
    dueAt = Math.min(endsAt, now + Math.max(even, least) * (0.5 + random()))
  }
}

function begin({ limit, remaining, reset }: RateLimit, endsAt: number, now: number) {
  // Such as a day's.
  const isLong = endsAt - now > MINUTE + SECOND
  const spreadUntil = Math.min(now + SPREAD, endsAt - MARGIN)
  return { reset, limit, isLong, endsAt, remaining, fellAt: now, answered: 0, spreadUntil }
}

/** Resets counted from a `Date` may be a second off. */
function isSame(window: Window, { reset }: RateLimit): boolean {
  return Math.abs(reset - window.reset) <= 1
}
