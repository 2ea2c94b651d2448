import type { RateLimit } from '../../src/api-error.js'
import type { ClientSettings } from './client-options.js'
import { ApiKeyBannedError, RateLimitError } from './errors.js'
import type { WaitReason } from './hooks.js'
import { createPace, type Turn } from './pace.js'
import { type AnnouncedLimits, untilReset } from './rate-limit-headers.js'
import type { Pause, SharedKey } from './shared-through-redis.js'

export type RateLimiter = ReturnType<typeof createRateLimiter>

/**
 * Decides how long the client waits, and why. The first reason that applies counts:
 * 1. a ban, a 429 or a limit exhausted elsewhere: `Retry-After` or the reset
 *    (`rate-limit-headers.ts`), plus jitter (`backoff.ts`)
 * 2. with `shared`, no free unit of the key in Redis (`shared-through-redis.ts`)
 * 3. without it, the pace: an exhausted window, or the turn of others on the key (`pace.ts`)
 * Calls queue for all three in `throttle.ts`. A request that failed without a 429 also waits for
 * its own backoff in `sender.ts`. Times are local, in ms since the epoch.
 */
export function createRateLimiter(options: ClientSettings, sharedKey: SharedKey | undefined) {
  const { time, maxWait: maxWaitMs, waitForBan } = options
  const pace = createPace(options)
  let rateLimit: RateLimit | undefined
  let admissions = 0
  let paused = { reason: 'rejected' as WaitReason, retryAt: 0, opensAt: 0 }
  let banned: Pause | undefined

  return {
    next(now: number): Turn | { readonly at: number; readonly reason: WaitReason } {
      if (now < paused.opensAt) return { at: paused.opensAt, reason: paused.reason }
      return sharedKey && !sharedKey.isAway ? { at: now, reason: 'others' } : pace.next(now)
    },
    /** The error of calls that fail instead of waiting, because of a ban or `maxWait`. */
    failureAt(now: number): Error | undefined {
      if (banned && now < banned.retryAt) return waitForBan ? undefined : bannedError(banned)
      const { at, reason } = pace.next(now)
      const retryAt = Math.max(paused.retryAt, reason === 'limit' ? at : 0)
      return retryAt - now > maxWaitMs ? tooLong(retryAt) : undefined
    },
    sent: () => pace.sent(time.now()),
    admitted(limits: AnnouncedLimits): void {
      admissions++
      rateLimit = limits.rateLimit ?? rateLimit
      const now = time.now()
      const endsAt = limits.rateLimit ? now + untilReset(limits.rateLimit, limits.sentAt, now) : 0
      pace.admitted(limits.rateLimit, endsAt, now)
      if (limits.rateLimit) sharedKey?.admitted(limits.rateLimit, endsAt)
    },
    /** @param opensAt when the client retries: `pause.retryAt` plus jitter */
    rejected(limits: AnnouncedLimits, pause: Pause, opensAt: number): void {
      rateLimit = limits.rateLimit ?? rateLimit
      pace.rejected(limits.rateLimit, pause.retryAt, time.now())
      sharedKey?.rejected(pause)
      add('rejected', pause, opensAt)
    },
    /** After a 401, the limits are those for the address: once exhausted, nothing is sent. */
    refused({ rateLimit, sentAt }: AnnouncedLimits): void {
      const now = time.now()
      pace.rejected(undefined, now, now)
      if (rateLimit?.remaining !== 0) return
      const retryAt = now + untilReset(rateLimit, sentAt, now)
      add('limit', { retryAt }, retryAt)
    },
    lost: pace.lost,
    /** Another process has learned that nothing may be sent. */
    pause: (pause: Pause) => add('limit', pause, pause.retryAt),
    get rateLimit() {
      return rateLimit
    },
    /** Counts the responses other than 429. */
    get admissions() {
      return admissions
    },
  }

  function add(reason: WaitReason, pause: Pause, opensAt: number): void {
    const { retryAt } = pause
    if (pause.ban) banned = pause
    if (opensAt <= paused.opensAt) return
    paused = { reason: pause.ban ? 'banned' : reason, retryAt, opensAt }
  }

  function bannedError({ ban, retryAt }: Pause): Error {
    const { code = 'api_key_banned', message = 'The API key is banned.' } = ban ?? {}
    return new ApiKeyBannedError(code, message, until(retryAt))
  }

  function tooLong(retryAt: number): Error {
    const at = new Date(retryAt).toISOString()
    const message = `The limit is exhausted until ${at}, longer than \`maxWait\` (${maxWaitMs} ms).`
    return new RateLimitError('rate_limit_exceeded', message, until(retryAt))
  }

  function until(retryAt: number) {
    return { rateLimit, retryAt, retryAfter: Math.ceil((retryAt - time.now()) / 1000) }
  }
}
