import { ApiError, type ApiErrorOptions, type ErrorCode } from '../../src/errors.js'

/** A 429 that waiting did not help, or that would take too long to wait for. */
export class RateLimitError extends ApiError {
  override readonly name: string = 'RateLimitError'
  /** When the next request may be sent, in ms since the epoch by the clock of the client. */
  readonly retryAt: number

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions & { retryAt: number }) {
    super(code, message, options)
    this.retryAt = options.retryAt
  }
}

/** The key is banned until `retryAt`; until then nothing is sent with it. */
export class ApiKeyBannedError extends RateLimitError {
  override readonly name = 'ApiKeyBannedError'
}

/** There is no answer, or only part of one: whether the request took effect is not known. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** The server answered what the specification does not allow; the message names the field. */
export class ContractError extends Error {
  override readonly name = 'ContractError'
}

/** Nothing was sent: too many calls are waiting already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError'
}
