import { ApiError } from '../../src/errors.js'
import { type Answer, type AttemptOptions, attempt, type ClientRequest } from './attempt.js'
import { waitBefore } from './backoff.js'
import { ConnectionError } from './errors.js'
import { requestedWait } from './headers.js'
import { readRejection, toError } from './rejection.js'
import type { Throttle, ThrottleOptions } from './throttle.js'

/** A request about to be sent. */
export interface Sending {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** 1 for the first. */
  readonly attempt: number
}

/** A request that failed and is sent again. */
export interface Retrying extends Sending {
  readonly error: Error
  /** The least it waits, in ms. */
  readonly waitMs: number
}

export interface RetryOptions
  extends AttemptOptions,
    Pick<ThrottleOptions, 'random' | 'maxWaitMs' | 'waitForBan' | 'onWait'> {
  readonly throttle: Throttle
  readonly maxRetries: number
  readonly retryCreates: boolean
  readonly onRequest: (sending: Sending) => void
  readonly onRetry: (retrying: Retrying) => void
  /** Aborts when the client closes. */
  readonly closing: AbortSignal
}

/**
 * Sends a request, whose turn it is, until it succeeds or fails for good. Every request is retried
 * after a 429, which has no effect; reads also after failures of the server or of the connection. A
 * waiting request holds no slot.
 *
 * @throws ApiError, ConnectionError, ContractError, ClosedError, or the reason of the signal
 */
export async function send(
  request: ClientRequest,
  signal: AbortSignal | undefined,
  options: RetryOptions,
): Promise<Answer> {
  const { method, url } = request
  const { throttle, time, random, maxRetries, maxWaitMs, waitForBan, closing } = options
  let failures = 0
  let wasRejected = false
  let admittedBefore = -1

  for (let attempts = 1; ; attempts++) {
    if (attempts > 1) await throttle.enter(signal, true)
    options.onRequest({ method, url, attempt: attempts })
    const outcome = await sendOnce()
    if (!(outcome instanceof Error) && outcome.status < 300) return outcome

    const failure = await understand(outcome, attempts - 1)
    const { error, isBan, isRejected, isByOthers, retryAt, opensAt } = failure
    const isHarmless = isRejected || mayRepeat(outcome, error)
    // While other calls of this client succeed, rejections that others caused are no failures.
    const isForeign = isByOthers && throttle.admitted > admittedBefore
    if (isRejected) admittedBefore = throttle.admitted
    if (!isForeign && !isBan) failures++
    const isTooLong = retryAt - time.now() > maxWaitMs && !isBan
    if (!isHarmless || failures > maxRetries || isTooLong || (isBan && !waitForBan)) throw error

    const waitMs = opensAt - time.now()
    options.onRetry({ method, url, attempt: attempts, error, waitMs })
    wasRejected = isRejected
    // After a 429 the throttle waits, for all calls at once.
    if (isRejected) continue
    options.onWait({ reason: 'retry', until: opensAt, ms: waitMs })
    await time.until(opensAt, signal, closing)
  }

  /** Ends the turn, unless the answer is a 429, which has to be read first. */
  async function sendOnce(): Promise<Answer | ConnectionError> {
    try {
      const answer = await attempt(request, signal, options)
      const { status, limits } = answer
      // A proxy in front of the server does not count requests.
      const isCounted = limits.rateLimit !== undefined || (status < 500 && status !== 408)
      if (status !== 429) throttle.leave(isCounted ? limits : undefined)
      return answer
    } catch (error) {
      throttle.leave(undefined)
      if (error instanceof ConnectionError) return error
      throw error
    }
  }

  async function understand(outcome: Answer | ConnectionError, retries: number): Promise<Failure> {
    const now = time.now()
    if (outcome instanceof Error) {
      const opensAt = now + waitBefore({ requested: undefined, retries, again: false }, random)
      return { ...NOT_REJECTED, error: outcome, retryAt: now, opensAt }
    }
    const { status, text, limits } = outcome
    const isRejected = status === 429
    // A failure does not end when the limit resets.
    const asked = isRejected ? limits : { ...limits, rateLimit: undefined }
    const requested = requestedWait(asked, now)
    const wait = waitBefore({ requested, retries, again: isRejected && wasRejected }, random)
    const retryAt = now + (requested ?? wait)
    const rejection = await readRejection(status, text)
    const error = toError(rejection, limits.rateLimit, now, retryAt)
    if (!isRejected) return { ...NOT_REJECTED, error, retryAt, opensAt: now + wait }
    const { isByOthers, opensAt } = throttle.reject(limits, rejection, retryAt, now + wait)
    const isBan = rejection.code === 'api_key_banned'
    return { error, isRejected, isByOthers, isBan, retryAt, opensAt }
  }

  function mayRepeat(outcome: Answer | ConnectionError, error: Error): boolean {
    if (method === 'GET') {
      return outcome instanceof Error || outcome.status >= 500 || outcome.status === 408
    }
    const isUnavailable = error instanceof ApiError && error.code === 'storage_unavailable'
    return options.retryCreates && isUnavailable
  }
}

interface Failure {
  readonly error: Error
  /** A 429. */
  readonly isRejected: boolean
  /** Others used up the limit. */
  readonly isByOthers: boolean
  readonly isBan: boolean
  /** When the server allows a retry, and when it is sent. */
  readonly retryAt: number
  readonly opensAt: number
}

const NOT_REJECTED = { isRejected: false, isByOthers: false, isBan: false } as const
