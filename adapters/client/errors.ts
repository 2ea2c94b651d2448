import { ApiError, type ApiErrorOptions, type ErrorCode } from '../../src/api-error.js'
import { brand } from '../../src/lib/brand.js'

/** A 429 after the last retry, or a wait longer than `maxWait`. */
export class RateLimitError extends ApiError {
  override readonly name: string = 'RateLimitError'
  /** Earliest instant of the next request, in ms since the epoch by the client's clock. */
  readonly retryAt: number

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions & { retryAt: number }) {
    super(code, message, options)
    this.retryAt = options.retryAt
  }
}

/** The key is banned until `retryAt`; nothing is sent with it until then. */
export class ApiKeyBannedError extends RateLimitError {
  override readonly name = 'ApiKeyBannedError'
}

/** The response was missing or incomplete. `cause` is the platform's error, if there is one. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  /** True if the server may have added the animal nevertheless; always false for reads. */
  readonly mayHaveTakenEffect: boolean

  constructor(message: string, options: ErrorOptions & { mayHaveTakenEffect: boolean }) {
    super(message, options)
    this.mayHaveTakenEffect = options.mayHaveTakenEffect
  }
}

/** A response that violates the specification; the message names the field. */
export class ContractError extends Error {
  override readonly name = 'ContractError'
}

/** Nothing was sent, because `maxQueued` calls are waiting already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError'
}

/** Nothing was sent, because the client is closed. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError'
}
brand({
  RateLimitError,
  ApiKeyBannedError,
  ConnectionError,
  ContractError,
  QueueFullError,
  ClosedError,
})
