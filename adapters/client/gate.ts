import type { RateLimit } from '../../src/errors.js'
import type { Clock } from '../../src/ports.js'
import { type ApiKeyBannedError, RateLimitError } from './errors.js'
import type { Told } from './retry.js'

/** Resolves after `ms`, or as soon as the signal is aborted; never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

export interface GateOptions {
  readonly clock: Clock
  readonly sleep: Sleep
  readonly maxWaitMs: number
}

/** Where every request of an API key waits until it may be sent. */
export interface Gate {
  /**
   * Waits its turn, at least until `notBefore`, and counts the request as sent.
   *
   * @throws RateLimitError when the wait would be too long, ApiKeyBannedError, the signal's reason
   */
  enter(notBefore: number, signal: AbortSignal | undefined): Promise<void>
  /** A request is over, with what its answer says about the limit, or without an answer. */
  leave(answer?: Pick<Told, 'rateLimit' | 'sentAt'>): void
  /** Nothing is sent before `opensAt`; `retryAt` is what the server said. */
  block(retryAt: number, opensAt: number): void
  /** Every call is rejected with this until its `retryAt`, those that wait as well. */
  ban(error: ApiKeyBannedError): void
  /** What the last answer said. */
  readonly rateLimit: RateLimit | undefined
}

const NO_ANSWER = { rateLimit: undefined, sentAt: undefined }

export function createGate({ clock, sleep, maxWaitMs }: GateOptions): Gate {
  const waiting = new Set<AbortController>()
  let last: RateLimit | undefined
  let inFlight = 0
  /** Of the window that ends last: its end as told, and by our clock, and what is left of it. */
  let reset = 0
  let resetAt = 0
  let remaining = Number.POSITIVE_INFINITY
  let blocked = { retryAt: 0, opensAt: 0 }
  let banned: ApiKeyBannedError | undefined

  return {
    async enter(notBefore, signal) {
      for (;;) {
        signal?.throwIfAborted()
        const now = clock()
        if (banned && now < banned.retryAt) throw banned
        const usedUp = now < resetAt && remaining - inFlight <= 0
        const retryAt = Math.max(blocked.retryAt, usedUp ? resetAt : 0)
        if (retryAt - now > maxWaitMs) throw tooLong(retryAt, now)
        const until = Math.max(notBefore, blocked.opensAt, retryAt)
        if (now >= until) break
        await wait(until - now, signal)
      }
      inFlight++
    },
    leave({ rateLimit, sentAt } = NO_ANSWER) {
      inFlight--
      if (rateLimit) learn(rateLimit, sentAt)
      // It may have been counted all the same.
      else remaining--
      wake()
    },
    block(retryAt, opensAt) {
      if (opensAt > blocked.opensAt) blocked = { retryAt, opensAt }
      wake()
    },
    ban(error) {
      banned = error
      wake()
    },
    get rateLimit() {
      return last
    },
  }

  /** Answers arrive out of order: a later window replaces, within one the least that is left counts. */
  function learn(rateLimit: RateLimit, sentAt: number | undefined): void {
    last = rateLimit
    const now = clock()
    if (rateLimit.reset < reset && now < resetAt) return
    const endsAt = now + rateLimit.reset * 1000 - (sentAt ?? now)
    const isNew = rateLimit.reset !== reset
    reset = rateLimit.reset
    // `Date` has whole seconds and the answer took its time: each estimate is late, never early.
    resetAt = isNew ? endsAt : Math.min(resetAt, endsAt)
    remaining = isNew ? rateLimit.remaining : Math.min(remaining, rateLimit.remaining)
  }

  async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const awake = new AbortController()
    const abort = () => awake.abort()
    waiting.add(awake)
    signal?.addEventListener('abort', abort)
    await sleep(ms, awake.signal)
    signal?.removeEventListener('abort', abort)
    waiting.delete(awake)
  }

  /** Whoever waits looks again whether it still has to. */
  function wake(): void {
    for (const awake of waiting) awake.abort()
  }

  function tooLong(retryAt: number, now: number): RateLimitError {
    const until = new Date(retryAt).toISOString()
    const message = `The limit is used up until ${until}, longer than \`maxWaitMs\` (${maxWaitMs}).`
    const retryAfter = Math.ceil((retryAt - now) / 1000)
    return new RateLimitError('rate_limit_exceeded', message, {
      rateLimit: last,
      retryAfter,
      retryAt,
    })
  }
}
