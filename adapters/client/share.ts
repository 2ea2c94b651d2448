import type { RateLimit } from '../../src/errors.js'
import { MINUTE, SECOND } from '../../src/rate-limit.js'

/*
 * The clients of a key cannot talk to each other: all that each sees is how fast `remaining` falls.
 * From that it estimates how many units the key loses for each request of its own, the *company* (1:
 * alone), and stops while the units left still suffice for everyone. The numbers were chosen in
 * simulations of 2 to 50 clients on Free and Pro (test/bench/README.md).
 */

/** How long a slow response may hold up the next request. */
const PATIENCE = SECOND
/** In company the units of a window are spent over this time, so that everyone can see them fall. */
const SPREAD = 10 * SECOND
/** In company the first request of a window is delayed by up to this, so that not all come at once. */
const JITTER = 3 * SECOND
/** Who finds a whole budget used checks the first guess of the company after this; half of it, half. */
const LONGEST_GUESS = 6 * SECOND
/** In company, units that nobody took are looked for this long after the spread. */
const LEFTOVERS = 10 * SECOND
/** How many requests an estimate is worth compared with the next observation. */
const WEIGHT = 2
/** The same for the first request of a window, which sees only who was faster. */
const FIRST_WEIGHT = 6
/** A caller that stays below this share of the limit per minute is left its units. */
const STEADY = 1
/** How often to look whether such a caller is still there. */
const STEADY_CHECK = 6 * SECOND

export interface ShareOptions {
  /** From 0 up to 1. */
  readonly random: () => number
  readonly maxConcurrent: number
}

/** When a client may send. Times are local, in ms since the epoch. */
export interface Share {
  /** When the next request may be sent: `now`, later, or Infinity for after the next response. */
  next(now: number): number
  /** What `next` waits for, if it waits: the reset of the limit, others, or a response. */
  waitsFor(now: number): 'limit' | 'company' | 'response'
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

export function createShare({ random, maxConcurrent }: ShareOptions): Share {
  let inFlight = 0
  let slots = 1
  let company = 1
  let isGuess = true
  let isCounted = true
  let lastSent = Number.NEGATIVE_INFINITY
  let window: Window = { ...NO_WINDOW }
  /** When the previous window ended, if this client waits for the next one in company. */
  let waitingSince: number | undefined
  let opensAt = 0

  return {
    next(now) {
      if (inFlight >= slots) return afterResponse(now)
      if (!isCounted) return now
      return now < window.endsAt ? withinWindow(now) : betweenWindows(now)
    },
    waitsFor(now) {
      if (now < window.endsAt && window.remaining - inFlight <= 0) return 'limit'
      const isOpen = inFlight < slots && (now < window.endsAt || inFlight === 0)
      return isOpen ? 'company' : 'response'
    },
    get endsAt() {
      return window.endsAt
    },
    sent(now) {
      inFlight++
      window.sent++
      lastSent = now
    },
    admitted(rateLimit, endsAt, now) {
      inFlight--
      isCounted = true
      slots = Math.min(maxConcurrent, slots + 1)
      if (rateLimit.reset < window.reset && now < window.endsAt) return
      if (rateLimit.reset === window.reset) observe(rateLimit, now)
      else enter(rateLimit, endsAt, now)
      // `Date` has whole seconds and responses take time: every estimate is late, never early.
      window.endsAt = Math.min(window.endsAt, endsAt)
    },
    rejected(rateLimit, endsAt) {
      inFlight--
      slots = 1
      if (!rateLimit) return false
      const known = rateLimit.reset === window.reset
      const own = known ? window.sent - inFlight - 1 : 0
      window = {
        ...(known ? window : NO_WINDOW),
        reset: rateLimit.reset,
        limit: rateLimit.limit,
        endsAt: known ? Math.min(window.endsAt, endsAt) : endsAt,
        remaining: 0,
        isNew: true,
      }
      const byOthers = own < rateLimit.limit
      if (byOthers) company = Math.max(company, 1.5)
      return byOthers
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

  /** A request without a response for long does not hold up all others. */
  function afterResponse(now: number): number {
    if (inFlight >= maxConcurrent) return Number.POSITIVE_INFINITY
    return Math.max(now, lastSent + PATIENCE)
  }

  function betweenWindows(now: number): number {
    // One request finds out what the new window holds.
    if (inFlight > 0) return afterResponse(now)
    if (window.isNew) {
      window.isNew = false
      slots = 1
      waitingSince = company > 1 ? window.endsAt : undefined
      opensAt = company > 1 ? window.endsAt + delay() : 0
    }
    return Math.max(now, opensAt)
  }

  function delay(): number {
    // With more clients than units, this one sits out a window now and then.
    const sitsOut = company > window.limit && random() > window.limit / company
    return random() * JITTER + (sitsOut ? MINUTE : 0)
  }

  function withinWindow(now: number): number {
    const { remaining, endsAt } = window
    // A day's budget is spent as it comes: nobody waits for the next one.
    const isShort = endsAt - now <= MINUTE + SECOND
    const each = isShort && !window.isClaimed ? company : 1
    const spare = remaining - (inFlight + roomFor(each)) * each
    if (spare < 0) return each === 1 ? endsAt : leftovers(now)
    const neighbour = steadyRate()
    const reserved = Math.min(window.limit / 2, neighbour * (endsAt - now))
    if (spare < reserved) {
      return Math.max(now, Math.min(endsAt - spare / neighbour, lastSent + STEADY_CHECK))
    }
    if (each === 1) return now
    const time = Math.max(2 * SECOND, window.enteredAt + SPREAD - now)
    const pause = (time * each) / remaining
    if (!isGuess) return Math.max(now, lastSent + pause)
    const check = (LONGEST_GUESS * window.others) / window.limit
    return Math.max(now, lastSent + Math.min(pause, check))
  }

  /**
   * How many shares must be left for one more request. The smaller a share is, the more a wrong
   * estimate costs.
   */
  function roomFor(each: number): number {
    return each === 1 ? 1 : 0.8 + 1.25 * (each / window.limit) ** 2
  }

  /**
   * Everyone has stopped, perhaps too early. Whoever saw the fewest units left is the most likely
   * to have seen the last one taken: it looks first, and is the most likely to look at all.
   */
  function leftovers(now: number): number {
    const { remaining, limit, endsAt } = window
    if (remaining - inFlight <= 0 || company > 0.6 * limit) return endsAt
    if (inFlight > 0) return Number.POSITIVE_INFINITY
    if (window.stoppedAt !== remaining) {
      window.stoppedAt = remaining
      const chance = (0.5 * limit) / (1 + Math.log(company)) ** 2 / remaining
      const from = Math.max(now, window.enteredAt + SPREAD + SECOND)
      window.looksAt =
        random() < chance ? from + LEFTOVERS * Math.min(1, remaining / company) : endsAt
    }
    return Math.max(now, Math.min(window.looksAt, endsAt))
  }

  /** Units per ms that others use, if they use them slowly and steadily; else 0. */
  function steadyRate(): number {
    const { endsAt, seenAt, others, limit } = window
    if (others === 0 || endsAt - seenAt > MINUTE + SECOND) return 0
    const elapsed = Math.max(0, seenAt - (endsAt - MINUTE))
    const rate = others / (elapsed + SECOND)
    return rate <= (STEADY * limit) / MINUTE ? rate : 0
  }

  function enter({ limit, remaining, reset }: RateLimit, endsAt: number, now: number): void {
    const sent = inFlight + 1
    const others = Math.max(0, limit - remaining - sent)
    const isFirst = window.limit === 0
    window = {
      ...NO_WINDOW,
      reset,
      limit,
      remaining,
      endsAt,
      sent,
      others,
      countedOthers: others,
      enteredAt: now,
      seenAt: now,
    }
    if (isFirst) {
      company = 1 + 2 * others
      return
    }
    const sinceReset = waitingSince === undefined ? JITTER : now - waitingSince
    const seen = Math.min(1, Math.max(0.02, sinceReset / JITTER))
    learn(1 + others, seen, FIRST_WEIGHT)
    waitingSince = undefined
  }

  function observe({ limit, remaining }: RateLimit, now: number): void {
    window.answered++
    if (remaining >= window.remaining) return
    const foundLeftovers = window.stoppedAt === window.remaining
    window.remaining = remaining
    window.seenAt = now
    // Own requests on their way count as answered: others are never overestimated.
    window.others = Math.max(window.others, limit - remaining - window.sent)
    const perRequest = 1 + (window.others - window.countedOthers) / window.answered
    window.countedOthers = window.others
    window.answered = 0
    if (foundLeftovers) window.isClaimed = true
    else learn(perRequest, 1, WEIGHT)
    isGuess = false
  }

  /**
   * Blends an observation into the estimate, as a Poisson rate with a gamma prior.
   *
   * @param units that one request of everyone used
   * @param seen how much of a round that was, up to 1
   */
  function learn(units: number, seen: number, weight: number): void {
    // A burst of one caller is not a crowd.
    const believable = Math.min(units, 2 * company + 4)
    const estimate = (believable + weight) / (seen + weight / company)
    company = Math.max(1, Math.min(estimate, Math.max(believable, company)))
    if (company < 1.05) company = 1
  }
}

interface Window {
  /** As reported, in Unix seconds. */
  reset: number
  /** By the local clock. */
  endsAt: number
  limit: number
  /** The least that a response reported. */
  remaining: number
  /** Own requests, also those on their way. */
  sent: number
  /** Units that others used, at least. */
  others: number
  /** How many of these the company was learnt from, and own responses since. */
  countedOthers: number
  answered: number
  enteredAt: number
  seenAt: number
  /** `remaining` when this client stopped for the others, and when it looks again. */
  stoppedAt: number
  looksAt: number
  /** Units were left over: nobody else takes them. */
  isClaimed: boolean
  /** The wait for the next window is not decided yet. */
  isNew: boolean
}

const NO_WINDOW: Readonly<Window> = {
  reset: 0,
  endsAt: 0,
  limit: 0,
  remaining: Number.POSITIVE_INFINITY,
  sent: 0,
  others: 0,
  countedOthers: 0,
  answered: 0,
  enteredAt: 0,
  seenAt: 0,
  stoppedAt: -1,
  looksAt: 0,
  isClaimed: false,
  isNew: true,
}
