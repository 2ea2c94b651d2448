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
 * The model. Clients of a key cannot talk to each other, but the server numbers their requests: the
 * first of a window reads 59 units remaining of 60, the next 58. So they take turns. Each sends one
 * request at the start of a window, the roll call, and its number there is its rank. The second
 * requests follow in the order of the ranks. By then each client has used one unit, so the distance
 * between the two numbers of a client is the number of clients. From there on, the next turn of a
 * client is its last number plus that: every unit has one owner, and is due at an even pace. What
 * remains after that time belongs to anyone. Only the estimate of the clients can be wrong: too low,
 * two clients use one unit, and a 429 is the worst of it; too high, units are left over.
 *
 * `npm run bench polite` and test/client/fleet.ts run fleets of clients in virtual time. There, each
 * constant below was changed and left out: those remain without which a fleet was banned, was
 * rejected more often or took longer.
 */

/** How long one request without a response holds up the next. */
const RESPONSE_PATIENCE = SECOND
/** How long the roll call takes: 100 ms for each unit of Free, more than a round trip. */
const ROLL_CALL = 6 * SECOND
/**
 * The largest rank in its first window, as a share of the limit, with which a client sends a second
 * request: as many others may come after it. Without it, 30 clients that join one by one take 1,200 s
 * instead of 290.
 */
const LARGEST_FIRST_RANK = 1 / 2
/**
 * What remains of an estimate of the clients after a window with a single turn, which measures no
 * distance. Without it, a client that once saw a ban sends one request per window for long.
 */
const UNMEASURED_DECAY = 0.95
/**
 * How many more clients there are than a rejected second request proves. Without it, fifty clients on
 * Free are rejected twice as often.
 */
const REJECTED_CLIENTS = 1.3
/**
 * By how many units all clients together have to be late before the rest counts as left over: with
 * 20 clients or more. With fewer, a wrong guess costs less, and 8 need not be late at all.
 */
const LATE_UNITS = 1.5
const TRUSTED_CLIENTS = 8
/** The part of the limit that a caller without turns keeps at most. */
const LARGEST_RESERVE = 1 / 2

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

export function createShare({ random, maxConcurrent }: ShareOptions): Share {
  let inFlight = 0
  let slots = 0
  let isCounted = true
  let window: Window = { ...NO_WINDOW }
  /** How many clients use the key, this one included, as far as it can tell. */
  let clients = 1
  /** Whether it has ever used a unit. */
  let isMember = false
  /** The number of the last request, counted through all windows, by windows of this limit. */
  let number = 0
  let numberedBy = 1
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
      return isOpen ? 'others' : 'response'
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
      else if (isOvertaken(rateLimit.reset, now)) return
      else enter(rateLimit, endsAt, now)
      // `Date` has whole seconds and responses take time: every estimate is late, never early. Where
      // the server's clock has stepped back, one 429 tells how long to wait.
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
      else if (isSameLimit) clients = Math.max(clients, limit)
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
    const endedAt = window.endsAt - (window.reset - reset) * SECOND
    return !window.isLong || now >= endedAt
  }

  function isExhausted(now: number): boolean {
    return isCounted && now < window.endsAt && window.remaining - inFlight <= 0
  }

  /** A request without a response for long does not hold up all others. */
  function afterResponse(now: number): number {
    if (inFlight >= maxConcurrent) return Number.POSITIVE_INFINITY
    return Math.max(now, lastSent + RESPONSE_PATIENCE)
  }

  function betweenWindows(now: number): number {
    // One request finds out what the new window holds.
    if (inFlight > 0) return afterResponse(now)
    slots = 0
    const { limit, endsAt } = window
    if (clients === 1) return now
    // With more clients than units, the turn may be in a later window.
    const turn = Math.max(0, numberOf(limit) + step() - lastNumber(window))
    const skipped = Math.max(0, Math.ceil(turn / limit) - 1)
    const position = (turn - skipped * limit) / Math.min(limit, step())
    return endsAt + skipped * MINUTE + position * ROLL_CALL
  }

  /** Minute and day have different limits, and take turns to apply. */
  function numberOf(limit: number): number {
    return number * (limit / numberedBy)
  }

  function takeNumber(taken: number): void {
    number = taken
    numberedBy = window.limit
  }

  function withinWindow(now: number): number {
    const { remaining, isLong } = window
    // A day's budget is spent as it comes: nobody waits for the next one.
    if (isLong || clients === 1) return now
    const units = step() * (inFlight + 1)
    return Math.max(turn(units), steadyCaller(now, remaining - units))
  }

  /** @param units that everyone uses until then, this client included */
  function turn(units: number): number {
    const { remaining, isFirst, isRollCall, limit, rank, turns } = window
    const isSecond = turns === 1 && isRollCall
    const isOver = isSecond && isFirst ? rank > LARGEST_FIRST_RANK * limit : units > remaining
    if (isOver) return leftovers()
    return timeOf(window, number + (isSecond ? rank * (inFlight + 1) : units))
  }

  function step(): number {
    return Math.round(clients)
  }

  /** When to look for units whose owners have nothing left to send. */
  function leftovers(): number {
    const { remaining, endsAt, limit } = window
    if (inFlight > 0) return Number.POSITIVE_INFINITY
    if (!isLate()) return endsAt
    // Whoever saw the fewest units left knows best.
    return Math.min(endsAt, spentAt(window) + (1 + remaining) * (SPREAD / limit))
  }

  /** Whether the units are used too slowly, because some owners have nothing left to send. */
  function isLate(): boolean {
    const margin = (clients - TRUSTED_CLIENTS) / TRUSTED_CLIENTS
    return window.lag >= Math.min(LATE_UNITS, margin)
  }

  /** When there are units to spare beside those of another caller, if one is slow and steady. */
  function steadyCaller(now: number, spare: number): number {
    const { rate, limit, endsAt } = window
    if (!(rate > 0 && rate <= limit / MINUTE)) return now
    const reserved = Math.min(LARGEST_RESERVE * limit, rate * (endsAt - now))
    return spare >= reserved ? now : endsAt - spare / rate
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
    takeNumber(lastNumber(window) - remaining)
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
    takeNumber(lastNumber(window) - remaining)
    if (window.isLong) return
    const { second, others } = window
    if (!second) window.second = { at: now, others }
    else if (now <= spentAt(window)) window.rate = (others - second.others) / (now - second.at)
    learnFromDistance(distance)
    if (clients === 1) return
    window.lag = turnAt(window, Math.min(lastSent, spentAt(window))) - number
  }

  /** @param distance between the numbers of this client's last two requests */
  function learnFromDistance(distance: number): void {
    if (clients === 1 && distance === 1) return
    const estimate = window.turns > 2 ? (clients + distance) / 2 : distance
    clients = Math.max(2, estimate)
  }

  function learnFromRank({ others, turns, wasRejected }: Window): void {
    const { rank } = window
    if (window.others === 0 && (clients === 1 || (others === 0 && turns > 1))) {
      clients = 1
      return
    }
    if (window.isFirst) clients = rank
    else if (turns === 1 && !wasRejected) clients *= UNMEASURED_DECAY
    clients = Math.max(2, clients, rank)
  }

  function learnFromRejection(): void {
    const { limit, rank, turns } = window
    window.wasRejected = true
    if (!isMember) {
      clients = limit
      // Its rank is unknown, and not all newcomers should come back at once.
      takeNumber(lastNumber(window) - step() + Math.ceil(random() * limit))
    }
    // All first requests, and the second ones of lower ranks, have used up the limit.
    if (isMember && turns === 1) clients = Math.max(clients, REJECTED_CLIENTS * (limit - rank + 1))
    clients = Math.max(2, clients)
  }
}
