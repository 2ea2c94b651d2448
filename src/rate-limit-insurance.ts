import type { ApiKeys, KnownKey } from './api-keys.js'
import { type Awaitable, isPromise } from './awaitable.js'
import { rateLimited, rateLimitOf, unauthorized } from './errors.js'
import type { Emit } from './events.js'
import { memoryRateLimits } from './memory-rate-limits.js'
import type { Policy } from './plans.js'
import type { RateLimitStore } from './ports.js'
import type { Decision } from './rate-limit.js'

export interface MeterOptions {
  readonly apiKeys: ApiKeys
  /** Undefined: nothing is counted. */
  readonly rateLimits: RateLimitStore | undefined
  readonly anonymous: Policy
  readonly emit: Emit
}

/** Someone asking to be let in, and what became of it; that is noted also when the gate throws. */
export interface Visit {
  /** The API key as sent; undefined when none was. */
  readonly token: string | undefined
  /** The caller's address; requests of this process itself have none. */
  readonly client: string | undefined
  /** When, in ms since the epoch: the one instant that all of an answer goes by. */
  now: number
  key: KnownKey | undefined
  decision: Decision | undefined
}

/** The one gate in front of every operation that is not the host's own. */
export interface Meter {
  /**
   * Takes one unit of the key's budget. Without a valid key the address is counted, so a stranger
   * can neither use up nor ban a key (spec §8). Gives a promise only where usage is counted
   * elsewhere.
   *
   * @throws ApiError `rate_limit_exceeded`, `api_key_banned`
   */
  count(visit: Visit): Awaitable<void>
  /** Refuses a visit without a valid key (spec §5). @throws ApiError `unauthorized` */
  authenticate(visit: Visit): void
}

export function createMeter(options: MeterOptions): Meter {
  const { apiKeys, rateLimits, anonymous, emit } = options
  let insurance: RateLimitStore | undefined

  return {
    count(visit) {
      const key = visit.token === undefined ? undefined : apiKeys.find(visit.token)
      visit.key = key
      if (!rateLimits) return
      const partition = key ? key.id : `addr:${visit.client ?? 'local'}`
      const policy = key ? key.policy : anonymous
      const decision = consume(rateLimits, partition, policy, visit.now)
      return isPromise(decision)
        ? decision.then(decision => settle(visit, partition, decision))
        : settle(visit, partition, decision)
    },
    authenticate({ key, token }) {
      if (!key) throw unauthorized(token !== undefined)
    },
  }

  function consume(
    limits: RateLimitStore,
    partition: string,
    policy: Policy,
    now: number,
  ): Awaitable<Decision> {
    try {
      const outcome = limits.consume(partition, policy, now)
      if (!isPromise(outcome)) return told(outcome)
      // Resolved first, as a thenable may be odd.
      return Promise.resolve(outcome)
        .then(told)
        .catch(error => insured(partition, policy, now, error))
    } catch (error) {
      return insured(partition, policy, now, error)
    }
  }

  /**
   * A store that fails leaves neither 500 nor an unlimited door: this process counts by itself
   * meanwhile.
   */
  function insured(
    partition: string,
    policy: Policy,
    now: number,
    error: unknown,
  ): Awaitable<Decision> {
    if (!Number.isFinite(now)) throw error
    emit('ratelimit.degraded', { error })
    insurance ??= memoryRateLimits()
    return insurance.consume(partition, policy, now)
  }

  function told(decision: Decision | undefined): Decision {
    if (typeof decision?.remaining !== 'number') {
      throw new TypeError('The rate limit store gave no decision')
    }
    return decision
  }

  function settle(visit: Visit, partition: string, decision: Decision): void {
    visit.decision = decision
    if (decision.code === undefined) return
    announce(partition, decision)
    throw rateLimited(decision)
  }

  function announce(partition: string, decision: Decision): void {
    if (decision.code === 'rate_limit_exceeded') {
      emit('limit.exceeded', { partition, rateLimit: rateLimitOf(decision) })
    }
    if (decision.bannedUntil !== undefined) {
      emit('key.banned', { keyId: partition, bannedUntil: decision.bannedUntil })
    }
  }
}
