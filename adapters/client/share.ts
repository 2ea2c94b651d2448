import type { RateLimit } from '../../src/errors.js'
import { MINUTE, SECOND } from '../../src/limits/decide.js'
import {
  lastNumber,
  MARGIN,
  NO_WINDOW,
  SPREAD,
  spentAt,
  timeOf,
  turnAt,
  type Window,
} from './window.js'

/*
 * The clients of a key cannot talk to each other, but the server numbers their requests: the first
 * of a window reads 59 units remaining of 60, the next 58. So they take turns. Each sends one
 * request at the start of a window, the roll call, and its number there is its rank. The second
 * requests follow in the order of the ranks. By then everyone has used one unit, so the distance
 * between the two numbers of a client is the number of clients, the *company* (1: alone). From there
 * on, the next turn of a client is its last number plus the company: every unit has one owner.
 * Simulations chose the constants (test/bench/README.md).
 */

/** How long a slow response may hold up the next request. */
const PATIENCE = SECOND
/** The roll call takes this time; the other requests of the window follow. */
const ROLL_CALL = 6 * SECOND
/** A newcomer does not know the company; with a rank beyond this share of the limit, it sits out. */
const BLIND = 1 / 2
/** A client with one turn per window takes the company for this much smaller in the next. */
const HOPE = 0.95
/** A rejected second request proves a least company; the likely one is this much larger. */
const CAUTION = 1.3
/** A caller with at most this share of the limit per minute is left its units. */
const STEADY = 1.05
/** How often to check whether such a caller is still there. */
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
  let slots = 0
  let isCounted = true
  let window: Window = { ...NO_WINDOW }
  /** Clients on the key, as far as this one can tell; 1: alone. */
  let company = 1
  /** Whether it has ever used a unit. */
  let isMember = false
  /** The number of the last request, counted through all windows. */
  let number = 0
  let lastSent = Number.NEGATIVE_INFINITY

  return {
    next(now) {
      if (isExhausted(now)) return window.endsAt
      if (inFlight >= Math.max(1, slots)) return afterResponse(now)
      if (!isCounted) return now
      return Math.max(now, now < window.endsAt ? withinWindow(now) : betweenWindows(now))
    },
    waitsFor(now) {
      if (isExhausted(now)) return 'limit'
      const isOpen = inFlight < Math.max(1, slots) && (now < window.endsAt || inFlight === 0)
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
      if (isSame(rateLimit.reset)) observe(rateLimit, now)
      else if (rateLimit.reset < window.reset && now < window.endsAt) return
      else enter(rateLimit, endsAt, now)
      // `Date` has whole seconds and responses take time: every estimate is late, never early.
      window.endsAt = Math.min(window.endsAt, endsAt)
    },
    rejected(rateLimit, endsAt) {
      inFlight--
      slots = 0
      if (!rateLimit) return false
      const { limit, reset } = rateLimit
      const isKnown = isSame(reset)
      const own = isKnown ? window.sent - inFlight - 1 : 0
      const isSameLimit = limit === window.limit && !window.isLong
      if (!isKnown) window = { ...NO_WINDOW, reset, limit, endsAt }
      window.remaining = 0
      window.endsAt = Math.min(window.endsAt, endsAt)
      if (own >= limit) return false
      if (endsAt - lastSent <= MINUTE + SECOND) learnFromRejection()
      // After a ban, nobody sends a second request unless the first ones leave units for it.
      else if (isSameLimit) company = Math.max(company, limit)
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

  function isExhausted(now: number): boolean {
    return isCounted && now < window.endsAt && window.remaining - inFlight <= 0
  }

  /** A request without a response for long does not hold up all others. */
  function afterResponse(now: number): number {
    if (inFlight >= maxConcurrent) return Number.POSITIVE_INFINITY
    return Math.max(now, lastSent + PATIENCE)
  }

  function betweenWindows(now: number): number {
    // One request finds out what the new window holds.
    if (inFlight > 0) return afterResponse(now)
    slots = 0
    const { limit, endsAt } = window
    if (company === 1) return now
    // With more clients than units, the turn may be in a later window.
    const turn = Math.max(0, number + step() - lastNumber(window))
    const skipped = Math.max(0, Math.ceil(turn / limit) - 1)
    const place = (turn - skipped * limit) / Math.min(limit, step())
    return endsAt + skipped * MINUTE + place * ROLL_CALL
  }

  function withinWindow(now: number): number {
    const { remaining, isLong } = window
    // A day's budget is spent as it comes: nobody waits for the next one.
    if (isLong || company === 1) return now
    const units = step() * (inFlight + 1)
    return Math.max(turn(units), steadyCaller(now, remaining - units))
  }

  /** @param units that everyone uses until then, this client included */
  function turn(units: number): number {
    const { remaining, isFirst, isRollCall, limit, rank, turns } = window
    const isSecond = turns === 1 && isRollCall
    const isOver = isSecond && isFirst ? rank > BLIND * limit : units > remaining
    if (isOver) return leftovers()
    return timeOf(window, number + (isSecond ? rank * (inFlight + 1) : units))
  }

  function step(): number {
    return Math.round(company)
  }

  /** When to look for units whose owners have nothing left to send. */
  function leftovers(): number {
    const { remaining, endsAt, limit } = window
    if (inFlight > 0) return Number.POSITIVE_INFINITY
    if (!isLate()) return endsAt
    // Whoever saw the fewest units left knows best.
    return Math.min(endsAt, spentAt(window) + (1 + remaining) * (SPREAD / limit))
  }

  /** Whether the units are used too slowly. With few clients, a wrong guess costs little. */
  function isLate(): boolean {
    return window.lag >= Math.min(1.5, (company - 8) / 8)
  }

  /** When there are units to spare beside those of another caller, if one is slow and steady. */
  function steadyCaller(now: number, spare: number): number {
    const { rate, limit, endsAt } = window
    if (!(rate > 0 && rate <= (STEADY * limit) / MINUTE)) return now
    const reserved = Math.min(limit / 2, rate * (endsAt - now))
    return spare >= reserved ? now : Math.min(endsAt - spare / rate, lastSent + STEADY_CHECK)
  }

  /** The first response of a window. */
  function enter({ limit, remaining, reset }: RateLimit, endsAt: number, now: number): void {
    const previous = window
    const isContinued = previous.limit === limit
    const sameClock = previous.endsAt + (reset - previous.reset) * SECOND
    // Unless the clock was set meanwhile, the earlier estimate is the better one.
    const end = isContinued && endsAt - sameClock < MARGIN ? Math.min(endsAt, sameClock) : endsAt
    const startedAt = isContinued ? end - MINUTE : now
    const rank = limit - remaining
    const others = Math.max(0, rank - inFlight - 1)
    window = {
      ...NO_WINDOW,
      reset,
      limit,
      remaining,
      endsAt: end,
      isLong: end - now > MINUTE + SECOND,
      isFirst: !isMember,
      isRollCall: !isMember || now <= startedAt + ROLL_CALL + SECOND,
      rank,
      turns: 1,
      sent: inFlight + 1,
      others,
      countedOthers: others,
    }
    if (window.isLong) return
    learnFromRank(previous)
    isMember = true
    number = lastNumber(window) - remaining
    const rollCallEnd = isContinued ? startedAt + ROLL_CALL : now
    window.from = { at: Math.max(now, rollCallEnd), number }
  }

  function observe({ limit, remaining }: RateLimit, now: number): void {
    window.answered++
    if (remaining >= window.remaining) return
    window.remaining = remaining
    // Own requests on their way count as answered: others are never overestimated.
    window.others = Math.max(window.others, limit - remaining - window.sent)
    const distance = 1 + (window.others - window.countedOthers) / window.answered
    window.countedOthers = window.others
    window.answered = 0
    window.turns++
    number = lastNumber(window) - remaining
    if (window.isLong) return
    const { second, others } = window
    if (!second) window.second = { at: now, others }
    else if (now <= spentAt(window)) window.rate = (others - second.others) / (now - second.at)
    learnFromDistance(distance)
    if (company === 1) return
    window.lag = turnAt(window, Math.min(lastSent, spentAt(window))) - number
  }

  /** @param distance between the numbers of this client's last two requests */
  function learnFromDistance(distance: number): void {
    if (company === 1 && distance === 1) return
    const estimate = window.turns > 2 ? (company + distance) / 2 : distance
    company = Math.max(2, estimate)
  }

  function learnFromRank({ others, turns, wasRejected }: Window): void {
    const { rank } = window
    if (window.others === 0 && (company === 1 || (others === 0 && turns > 1))) {
      company = 1
      return
    }
    if (window.isFirst) company = rank
    else if (turns === 1 && !wasRejected) company *= HOPE
    company = Math.max(2, company, window.isRollCall ? rank : 0)
  }

  function learnFromRejection(): void {
    const { limit, rank, turns } = window
    window.wasRejected = true
    if (!isMember) {
      company = limit
      number = lastNumber(window) - step() + Math.ceil(random() * limit)
    } else if (turns === 0) company = Math.max(company, limit + 1)
    // All first requests, and the second ones of lower ranks, have used up the limit.
    else if (turns === 1) company = Math.max(company, CAUTION * (limit - rank + 1))
    company = Math.max(2, company)
  }
}
