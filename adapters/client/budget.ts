import type { RateLimit } from '../../src/errors.js'
import type { ClientSettings } from './client-options.js'
import { ApiKeyBannedError, RateLimitError } from './errors.js'
import { type AnnouncedLimits, untilReset } from './headers.js'
import type { WaitReason } from './hooks.js'
import { createPace, type Turn } from './pace.js'
import type { Pause, SharedKey } from './shared-through-redis.js'

export type Budget = ReturnType<typeof createBudget>

/**
 * What the responses say of the limit of a key. Times are local, in ms since the epoch.
 *
 * @param sharedKey the units of the key, where processes share them
 */
export function createBudget(options: ClientSettings, sharedKey: SharedKey | undefined) {
  const { time, maxWaitMs, waitForBan } = options
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
    /** Why a call fails instead of waiting: a ban, or too long a wait. */
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
    /** @param opensAt when a client that backs off retries */
    rejected(limits: AnnouncedLimits, pause: Pause, opensAt: number): void {
      rateLimit = limits.rateLimit ?? rateLimit
      pace.rejected(limits.rateLimit, pause.retryAt, time.now())
      sharedKey?.rejected(pause)
      add('rejected', pause, opensAt)
    },
    /** After a 401, whose limits are those of the address: once it has used them up, nothing is sent. */
    refused({ rateLimit, sentAt }: AnnouncedLimits): void {
      const now = time.now()
      pace.rejected(undefined, now, now)
      if (rateLimit?.remaining !== 0) return
      const retryAt = now + untilReset(rateLimit, sentAt, now)
      add('limit', { retryAt }, retryAt)
    },
    /** There was no response. */
    lost: pace.lost,
    /** Another process has learnt that nothing may be sent. */
    pause: (pause: Pause) => add('limit', pause, pause.retryAt),
    /** As last reported. */
    get rateLimit() {
      return rateLimit
    },
    /** How many responses were not rejected. */
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
    const message = `The limit is exhausted until ${at}, longer than \`maxWaitMs\` (${maxWaitMs}).`
    return new RateLimitError('rate_limit_exceeded', message, until(retryAt))
  }

  function until(retryAt: number) {
    return { rateLimit, retryAt, retryAfter: Math.ceil((retryAt - time.now()) / 1000) }
  }
}
