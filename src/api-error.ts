import { brand } from './lib/brand.js'
import type { Decision } from './limits/windows-and-bans.js'

/** Every `code` of an Error body with its status (spec §7). */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  api_key_banned: 429,
  internal_error: 500,
  storage_unavailable: 503,
} as const
export type ErrorCode = keyof typeof ERROR_STATUS

/** The limit that applies, as the three headers report it (spec §8). `reset` is in Unix seconds. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  readonly reset: number
}

/**
 * @example
 * import { ApiError } from 'animal-adoption-store'
 *
 * const error = new ApiError('storage_unavailable', 'The disk is full.', { retryAfter: 30 })
 * console.log(error.status) // prints 503
 */
export interface ApiErrorOptions extends ErrorOptions {
  /** @default ERROR_STATUS[code] */
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly rateLimit?: RateLimit | undefined
  /** Seconds to wait: on every 429, on some 503. */
  readonly retryAfter?: number | undefined
}

/** A failure that the protocol defines. `code` is for machines, `message` for people (spec §7). */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly rateLimit: RateLimit | undefined
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    // It may quote a name as long as a request.
    super(message.length > 1_000 ? `${message.slice(0, 1_000)}…` : message, options)
    this.code = code
    this.status = options.status ?? ERROR_STATUS[code]
    this.headers = options.headers ?? {}
    this.rateLimit = options.rateLimit
    this.retryAfter = options.retryAfter
  }
}
brand({ ApiError })

export function invalidRequest(message: string): ApiError {
  return new ApiError('invalid_request', message)
}

export type CredentialProblem = keyof typeof CREDENTIAL_PROBLEMS

/** Messages never repeat the credential: it may be a key. */
const CREDENTIAL_PROBLEMS = {
  invalid: 'The API key is not valid.',
  missing: 'Send an API key: Authorization: Bearer <API_KEY>.',
  empty: 'Authorization has no API key: send Authorization: Bearer <API_KEY>.',
  scheme: 'Authorization must have the scheme Bearer: Authorization: Bearer <API_KEY>.',
  alone: 'Authorization needs `Bearer` and a space in front of the API key.',
  elsewhere: 'Send the API key as Authorization: Bearer <API_KEY>, not in X-API-Key.',
} as const

/** RFC 6750 §3.1: a request without a bearer token gets no error attribute. */
export function unauthorized(problem: CredentialProblem): ApiError {
  const error = problem === 'invalid' ? ', error="invalid_token"' : ''
  const headers = { 'WWW-Authenticate': `Bearer realm="animal-adoption-store"${error}` }
  return new ApiError('unauthorized', CREDENTIAL_PROBLEMS[problem], { headers })
}

export function notFound(message: string): ApiError {
  return new ApiError('not_found', message)
}

export function methodNotAllowed(method: string, allowed: string): ApiError {
  const message = `${method} is not allowed here; use ${allowed}.`
  return new ApiError('method_not_allowed', message, { headers: { Allow: allowed } })
}

export function gone(since: number): ApiError {
  const day = new Date(since).toISOString().slice(0, 10)
  const message = `GET /pets/{petId} was removed on ${day}; use GET /pets with a status filter.`
  return new ApiError('gone', message)
}

export function payloadTooLarge(maxBodyBytes: number): ApiError {
  return new ApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`)
}

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError('unsupported_media_type', message)
}

/** draft-ietf-httpapi-idempotency-key-header-07 §2.7. */
export function idempotencyKeyReused(): ApiError {
  const message =
    'This Idempotency-Key was used for another animal; send a new key, or the same animal again.'
  return new ApiError('idempotency_key_reused', message)
}

/** RFC 6585 §4: a 429 must not be cached. */
export function rateLimited(decision: Decision): ApiError {
  const { code = 'rate_limit_exceeded', limit, window, reset, retryAfter } = decision
  // Within the range of a Date, whatever the clock says.
  const until = new Date(Math.min(reset * 1000, 8.64e15)).toISOString().replace('.000Z', 'Z')
  const message =
    code === 'api_key_banned'
      ? `The API key is banned until ${until}: too many requests after a 429.`
      : `The limit of ${limit} requests per ${window} is used up until ${until}.`
  return new ApiError(code, message, {
    headers: { 'Retry-After': String(retryAfter), 'Cache-Control': 'no-store' },
    rateLimit: rateLimitOf(decision),
    retryAfter,
  })
}

export function storageUnavailable(
  cause: unknown,
  message = 'The storage is temporarily unavailable; try again later.',
): ApiError {
  const headers = { 'Retry-After': '1' }
  return new ApiError('storage_unavailable', message, { cause, headers, retryAfter: 1 })
}

export function storageOverloaded(): ApiError {
  const message = 'The storage is temporarily overloaded; nothing was done. Try again later.'
  return storageUnavailable(undefined, message)
}

/** Only a half-closed client whose request was still waiting ever reads this. */
export function callerGone(): ApiError {
  const message = 'The client hung up before its animal was stored; nothing was done.'
  return storageUnavailable(undefined, message)
}

export function rateLimitOf({ limit, remaining, reset }: Decision): RateLimit {
  return { limit, remaining, reset }
}

/** Turns anything thrown into an ApiError. Details of unknown errors are not exposed. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  const message = 'An unexpected error occurred; the request is not at fault.'
  return new ApiError('internal_error', message, { cause: thrown })
}
