import type { RateLimit } from '../../src/errors.js'
import { ApiKeyBannedError, RateLimitError } from './errors.js'
import { type Limits, untilReset } from './headers.js'
import { createPace } from './pace.js'
import type { Rejection } from './rejection.js'
import type { Closed, SharedKey } from './shared.js'
import type { Time } from './time.js'

/**
 * Why a client waits: the `limit` is exhausted; it is the turn of `others` on the key; a
 * request was `rejected` with 429; the key is `banned`; a request failed, before its `retry`.
 */
export type WaitReason = 'limit' | 'others' | 'rejected' | 'banned' | 'retry'

export interface BudgetOptions {
  readonly time: Time
  readonly random: () => number
  readonly maxConcurrent: number
  readonly maxWaitMs: number
  readonly waitForBan: boolean
  /** The units of the key, where processes share them. */
  readonly sharedKey: SharedKey | undefined
}

/** What the responses say of the limit of a key. Times are local, in ms since the epoch. */
export interface Budget {
  /** When the next request may be sent: `now`, later, or Infinity for after the next response. */
  next(now: number): number
  /** The same where a shared key counts the units. */
  nextShared(): number
  waitsFor(now: number): WaitReason | 'response'
  /** Why calls fail instead of waiting, each with its own error: a ban, or too long a wait. */
  failureAt(now: number): (() => Error) | undefined
  sent(): void
  admitted(limits: Limits): void
  /**
   * After a 429: nothing is sent before `withJitter`, or `retryAt` when others used up the limit.
   * After a ban, waiting and new calls fail until `retryAt`, unless `waitForBan` is on.
   *
   * @param withJitter when a client that backs off alone retries
   * @returns whether others used up the limit, and when requests are sent again
   */
  rejected(
    limits: Limits,
    rejection: Closed,
    withJitter: number,
  ): { readonly isByOthers: boolean; readonly opensAt: number }
  /** There was no response. */
  lost(): void
  /** Another process has learnt that nothing may be sent. */
  pause(closed: Closed): void
  /** As last reported. */
  readonly rateLimit: RateLimit | undefined
  /** How many responses were not rejected. */
  readonly admissions: number
}

interface Ban extends Rejection {
  readonly retryAt: number
}

export function createBudget(options: BudgetOptions): Budget {
  const { time, maxWaitMs, waitForBan, sharedKey } = options
  const pace = createPace(options)
  let rateLimit: RateLimit | undefined
  let admissions = 0
  let pause = { reason: 'rejected' as WaitReason, retryAt: 0, opensAt: 0 }
  let ban: Ban | undefined

  return {
    next: now => Math.max(pause.opensAt, pace.next(now)),
    nextShared: () => pause.opensAt,
    waitsFor: now => (now < pause.opensAt ? pause.reason : pace.waitsFor(now)),
    failureAt(now) {
      if (ban && now < ban.retryAt) return waitForBan ? undefined : () => bannedError(ban as Ban)
      const exhaustedUntil = pace.waitsFor(now) === 'limit' ? pace.endsAt : 0
      const retryAt = Math.max(pause.retryAt, exhaustedUntil)
      return retryAt - now > maxWaitMs ? () => tooLong(retryAt) : undefined
    },
    sent: () => pace.sent(time.now()),
    admitted(limits) {
      admissions++
      if (!limits.rateLimit) {
        pace.uncounted()
        return
      }
      rateLimit = limits.rateLimit
      const now = time.now()
      const endsAt = now + untilReset(rateLimit, limits.sentAt, now)
      pace.admitted(rateLimit, endsAt, now)
      sharedKey?.admitted(rateLimit, endsAt)
    },
    rejected(limits, rejection, withJitter) {
      rateLimit = limits.rateLimit ?? rateLimit
      const isByOthers = pace.rejected(limits.rateLimit, rejection.retryAt)
      sharedKey?.rejected(rejection)
      // Clients that take turns need no jitter.
      const opensAt = isByOthers && !rejection.ban ? rejection.retryAt : withJitter
      add('rejected', rejection, opensAt)
      return { isByOthers, opensAt }
    },
    lost: pace.lost,
    pause: closed => add('limit', closed, closed.retryAt),
    get rateLimit() {
      return rateLimit
    },
    get admissions() {
      return admissions
    },
  }

  function add(reason: WaitReason, closed: Closed, opensAt: number): void {
    const { retryAt } = closed
    if (closed.ban) ban = { ...closed.ban, retryAt }
    if (opensAt <= pause.opensAt) return
    pause = { reason: closed.ban ? 'banned' : reason, retryAt, opensAt }
  }

  function bannedError({ code, message, retryAt }: Ban): ApiKeyBannedError {
    return new ApiKeyBannedError(code, message, until(retryAt))
  }

  function tooLong(retryAt: number): RateLimitError {
    const at = new Date(retryAt).toISOString()
    const message = `The limit is exhausted until ${at}, longer than \`maxWaitMs\` (${maxWaitMs}).`
    return new RateLimitError('rate_limit_exceeded', message, until(retryAt))
  }

  function until(retryAt: number) {
    return { rateLimit, retryAt, retryAfter: Math.ceil((retryAt - time.now()) / 1000) }
  }
}
