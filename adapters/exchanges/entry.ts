import { retryInstant } from '../../src/lib/retry-after.js'
import type { ApiResponse } from '../../src/protocol/api.js'
import { codeOf } from './exchange.js'
import { type Captured, redactorOf } from './redact.js'

/** A request that was answered. */
export interface Answered extends Captured {
  readonly response: ApiResponse
  /** When it was answered: ms since the Unix epoch, by the store's clock. */
  readonly at: number
  /** How long that took; null when nobody measured it. */
  readonly ms: number | null
}

/** One line of a request log. It never contains an API key. */
export interface Entry {
  /** Ms since the Unix epoch, by the store's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly operation: string | null
  /** Null for a request that is never answered. */
  readonly status: number | null
  /** The `code` of the Error body. */
  readonly code: string | null
  /** The id of the API key; null without a valid one. */
  readonly key: string | null
  readonly plan: string | null
  readonly limit: number | null
  readonly remaining: number | null
  /** Unix seconds. */
  readonly reset: number | null
  /** Seconds from then on, also where the header is a date. */
  readonly retryAfter: number | null
  /** An injected fault lost the response. */
  readonly lost: boolean
  /** An earlier create with the same `Idempotency-Key` stored the animal. */
  readonly replayed: boolean
  /** The code of the 429 that it would have been, if the store were not in shadow mode. */
  readonly shadowed: string | null
  readonly ms: number | null
}

export function entryOf(answered: Answered): Entry {
  const { request, response, at, ms } = answered
  const { status, headers, about, deliver } = response
  const redact = redactorOf(answered, 'words')
  return {
    at,
    method: redact(request.method),
    path: redact(request.path),
    query: redact(request.query),
    operation: about?.operation ?? null,
    status: status === 0 ? null : status,
    code: codeOf(response),
    key: about?.key?.id ?? null,
    plan: about?.key?.plan ?? null,
    limit: numberOf(headers['X-RateLimit-Limit']),
    remaining: numberOf(headers['X-RateLimit-Remaining']),
    reset: numberOf(headers['X-RateLimit-Reset']),
    retryAfter: secondsUntil(retryInstant(headers['Retry-After'], at), at),
    lost: deliver !== undefined && status !== 0,
    replayed: headers['Idempotent-Replayed'] !== undefined,
    shadowed: about?.shadowed ?? null,
    ms,
  }
}

function secondsUntil(instant: number | undefined, now: number): number | null {
  return instant === undefined ? null : Math.max(0, Math.ceil((instant - now) / 1_000))
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}
