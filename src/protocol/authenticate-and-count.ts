import {
  type ApiError,
  type CredentialProblem,
  rateLimited,
  rateLimitOf,
  unauthorized,
} from '../api-error.js'
import type { Emit } from '../events.js'
import { type Awaitable, chain } from '../lib/async.js'
import type { Limits } from '../limits/plans.js'
import type { Decision } from '../limits/windows-and-bans.js'
import type { RateLimitStore } from '../ports.js'
import { type ApiKeys, credentialProblem, type KnownKey } from './api-keys.js'
import type { ApiRequest } from './api-request.js'

export interface Caller {
  readonly token: string | undefined
  /** Address of the caller; undefined for calls within this process. */
  readonly client: string | undefined
  /** ms since the epoch */
  readonly now: number
  /** Request headers, which explain an invalid credential; absent for direct calls. */
  readonly headers?: ApiRequest['headers'] | undefined
  /** Why the request could not be read. It counts like any other. */
  readonly refusal?: ApiError | undefined
}

export interface Admission {
  /** Undefined without a valid key. */
  readonly knownKey: KnownKey | undefined
  /** Undefined if rate limiting is off. */
  readonly decision: Decision | undefined
  readonly limits: Limits | undefined
  /** Code of the rejection that shadow mode suppressed. */
  readonly shadowed?: Decision['code'] | undefined
  /** 429, the refusal of the request, or 401; undefined if admitted. */
  readonly failure: ApiError | undefined
}

/** For requests that need no key and are not counted: preflights, and paths outside the API. */
export const UNCOUNTED: Admission = {
  knownKey: undefined,
  decision: undefined,
  limits: undefined,
  failure: undefined,
}

interface AdmissionOptions {
  readonly apiKeys: ApiKeys
  /** Undefined turns rate limiting off. */
  readonly rateLimitStore: Pick<RateLimitStore, 'consume'> | undefined
  readonly anonymous: Limits
  /** True admits requests over their limit. */
  readonly isShadow: boolean
  readonly emit: Emit
}

export type AdmissionControl = ReturnType<typeof createAdmissionControl>

/**
 * Guards every operation except the host's own. Callers without a valid key are counted by address,
 * so that strangers can neither use up nor ban a key (spec §5, §8).
 */
export function createAdmissionControl(options: AdmissionOptions) {
  const { apiKeys, rateLimitStore, anonymous, isShadow, emit } = options

  return {
    identify,
    admit(caller: Caller): Awaitable<Admission> {
      const { token, client = 'local', now } = caller
      const knownKey = identify(token, now)
      const limits = knownKey ? knownKey.limits : anonymous
      if (!rateLimitStore) return admission(caller, knownKey, limits, undefined)
      const partition = knownKey ? knownKey.id : `addr:${client}`
      return chain(rateLimitStore.consume(partition, limits, now), decision => {
        if (decision.code !== undefined) announce(partition, decision)
        const admitted = admission(caller, knownKey, limits, isShadow ? undefined : decision)
        return isShadow ? { ...admitted, decision, shadowed: decision.code } : admitted
      })
    },
  }

  function identify(token: string | undefined, now: number): KnownKey | undefined {
    return token === undefined ? undefined : apiKeys.find(token, now)
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

function admission(
  { token, refusal, headers }: Caller,
  knownKey: KnownKey | undefined,
  limits: Limits,
  decision: Decision | undefined,
): Admission {
  const rejected = decision?.code !== undefined ? rateLimited(decision) : undefined
  const failure = rejected ?? refusal ?? (knownKey ? undefined : unauthorized(problem()))
  return { knownKey, decision, limits, failure }

  function problem(): CredentialProblem {
    return token === undefined ? credentialProblem(headers) : 'invalid'
  }
}
