import { type Awaitable, chain, isPromise, orElse } from '../lib/async.js'
import { isCount, isSize } from '../lib/options.js'
import type { RateLimitStore } from '../ports.js'
import type { Decision } from './decide.js'
import { memoryRateLimits } from './memory.js'

/** Runs a task after some ms; the function it returns cancels it. */
export type Timer = (task: () => void, ms: number) => () => void

export interface InsuranceOptions {
  readonly rateLimits: RateLimitStore
  /** How long to wait for a decision, in ms. */
  readonly timeoutMs: number
  readonly timer: Timer
  readonly onFailure: (error: unknown) => void
}

/** How long a store that hung is bypassed, in ms, so that not every request waits for it. */
const PAUSE = 1_000

/**
 * A rate limit store that always decides. Where the given one throws, rejects, hangs or returns
 * something other than a decision, this process counts by itself: a failing store leads neither to
 * 500 nor to unlimited requests.
 */
export function insureRateLimits(options: InsuranceOptions): Pick<RateLimitStore, 'consume'> {
  const { rateLimits, timeoutMs, timer, onFailure } = options
  const insurance = memoryRateLimits()
  let pausedUntil = Number.NEGATIVE_INFINITY

  return {
    consume(partition, policy, now) {
      const decideHere = () => insurance.consume(partition, policy, now)
      // Also bounded below, as the clock may be set back.
      if (now < pausedUntil && now >= pausedUntil - PAUSE) return decideHere()
      return orElse(
        () => chain(inTime(rateLimits.consume(partition, policy, now), now), checkDecision),
        error => {
          // The clock failed, not the store.
          if (!Number.isFinite(now)) throw error
          onFailure(error)
          return decideHere()
        },
      )
    },
  }

  function inTime(outcome: Awaitable<Decision>, now: number): Awaitable<Decision> {
    if (!isPromise(outcome)) return outcome
    return new Promise((resolve, reject) => {
      const cancel = timer(() => {
        pausedUntil = now + PAUSE
        reject(new Error(`The rate limit store did not answer within ${timeoutMs} ms`))
      }, timeoutMs)
      // Resolved first, as a thenable may break the rules of promises.
      Promise.resolve(outcome).then(resolve, reject).finally(cancel)
    })
  }
}

/** @throws TypeError naming the field that cannot become a header or an Error body */
function checkDecision(decision: Decision): Decision {
  const { code, limit, remaining, reset, retryAfter, window, bannedUntil } = decision ?? {}
  const rejected = code === 'rate_limit_exceeded' || code === 'api_key_banned'
  const broken =
    (!rejected && code !== undefined && 'code') ||
    (!isCount.accepts(limit) && 'limit') ||
    (!isSize.accepts(remaining) && 'remaining') ||
    (!Number.isSafeInteger(reset) && 'reset') ||
    (window !== 'minute' && window !== 'day' && 'window') ||
    (rejected && !isCount.accepts(retryAfter) && 'retryAfter') ||
    (bannedUntil !== undefined && !Number.isFinite(bannedUntil) && 'bannedUntil')
  if (broken) throw new TypeError(`The rate limit store returned no decision: check \`${broken}\``)
  return decision
}
