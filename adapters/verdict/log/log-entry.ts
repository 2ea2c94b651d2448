import { retryInstant } from '../../../src/lib/retry-after.js'
import type { ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { errorOf } from './exchange.js'
import { type Captured, type Redact, redactorOf } from './redact.js'

export interface Answered extends Captured {
  readonly response: ApiResponse
  /** Time of the answer, in ms since the Unix epoch, by the store's clock. */
  readonly at: number
  readonly durationMs: number
}

/** A line of a request log, never with an API key. */
export type Entry = ReturnType<typeof entryOf>

export function entryOf(answered: Answered, redact: Redact = redactorOf(answered, 'words')) {
  const { request, response, at, durationMs } = answered
  const { status, headers, about, deliver } = response
  const { 'x-request-id': requestId = '' } = request.headers
  return {
    at,
    method: redact(request.method),
    path: redact(request.path),
    query: redact(request.query),
    operation: about?.operation ?? null,
    /** Null for a request that is never answered. */
    status: status === 0 ? null : status,
    code: errorOf(response).code,
    /** Id of the API key; null without a valid one. */
    keyId: about?.knownKey?.id ?? null,
    plan: about?.knownKey?.plan ?? null,
    limit: numberOf(headers['X-RateLimit-Limit']),
    remaining: numberOf(headers['X-RateLimit-Remaining']),
    /** Unix seconds. */
    reset: numberOf(headers['X-RateLimit-Reset']),
    /** Seconds from `at`, even if the header is a date. */
    retryAfter: secondsUntil(retryInstant(headers['Retry-After'], at), at),
    /** True if an injected fault lost the response. */
    lost: deliver !== undefined && status !== 0,
    /** True if an earlier create with the same `Idempotency-Key` stored the animal. */
    replayed: headers['Idempotent-Replayed'] !== undefined,
    /** Code of the 429 that shadow mode suppressed. */
    shadowed: about?.shadowed ?? null,
    traceId: traceIdOf(request.headers),
    requestId: REQUEST_ID.test(requestId) ? redact(requestId) : null,
    durationMs,
  }
}

/** Trace id of `traceparent` (W3C Trace Context §3.2). */
export function traceIdOf({ traceparent = '' }: ApiRequest['headers']): string | null {
  return TRACE_PARENT.exec(traceparent)?.[1] ?? null
}

/** Excludes version ff and ids of zeros; versions after 00 may append fields. */
const TRACE_PARENT =
  /^(?!ff|00-.{53})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Other ids are ignored: they could fill the log. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

function secondsUntil(instant: number | undefined, now: number): number | null {
  return instant === undefined ? null : Math.max(0, Math.ceil((instant - now) / 1_000))
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}
