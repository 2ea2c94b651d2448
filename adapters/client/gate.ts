import { waitBefore } from './backoff.js'
import { type BudgetOptions, createBudget } from './budget.js'
import { ApiKeyBannedError, ClosedError, ConnectionError } from './errors.js'
import { type Limits, requestedWait } from './headers.js'
import type { Rejection } from './rejection.js'
import { createSharedKey, type SharedOptions } from './shared.js'
import { createThrottle, type Report, type ThrottleOptions, type Wait } from './throttle.js'

/** A request about to be sent. */
export interface Sending {
  readonly method: string
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

/** A response, as far as it concerns the gate. */
export interface Reply {
  readonly status: number
  readonly limits: Limits
  /** When its headers came, in ms since the epoch. */
  readonly arrivedAt: number
}

/** What an API is asked, and how its responses are read. */
export interface Api<Q, R extends Reply> {
  /**
   * @param onRejection called for the headers of a 429 whose body takes longer
   * @throws ConnectionError without a complete response; any other error is final
   */
  send(
    request: Q,
    signal: AbortSignal | undefined,
    onRejection: (rejection: Reply) => void,
  ): Promise<R>
  /**
   * The error of a 408, 429 or 5xx.
   *
   * @param now in ms since the epoch, as is `retryAt`: when the server allows a retry
   */
  explain(reply: R, now: number, retryAt: number): Promise<Error>
  /** Whether it may be sent again after a failure that may have taken effect. */
  mayRepeat(request: Q, error: Error): boolean
}

/** What the hooks learn about a request. */
interface Named {
  readonly method: string
  readonly url: string
}

export interface GateOptions
  extends Omit<BudgetOptions, 'sharedKey'>,
    Omit<ThrottleOptions, 'budget' | 'onWait' | 'sharedKey'> {
  readonly maxRetries: number
  readonly shared?: SharedOptions['shared'] | undefined
  readonly onRequest?: ((sending: Sending) => void) | undefined
  readonly onWait?: ((wait: Wait) => void) | undefined
  readonly onRetry?: ((retrying: Retrying) => void) | undefined
}

/** Lets requests through so that the limit of their key suffices. */
export interface Gate<Q, R> {
  /**
   * Sends a request when its turn comes, until it succeeds or fails for good. Every request is
   * retried after a 429, which has no effect; one that may be repeated also after failures of the
   * server or of the connection. A waiting request holds no slot.
   *
   * @throws RateLimitError, ApiKeyBannedError, QueueFullError, ClosedError, the reason of the signal,
   * or the last error of the request
   */
  send(request: Q, signal: AbortSignal | undefined): Promise<R>
  /** Waiting and new requests fail. Resolves once the requests in flight have ended. */
  close(): Promise<void>
  readonly rateLimit: Limits['rateLimit']
}

interface Failure {
  readonly error: Error
  /** A 429. */
  readonly isRejected: boolean
  /** Others used up the limit. */
  readonly isByOthers: boolean
  /** When the server allows a retry, and when it is sent. */
  readonly retryAt: number
  readonly opensAt: number
}

type Outcome<R> =
  | { readonly reply: R; readonly failure?: undefined }
  | { readonly failure: Failure }

/** What preceded an attempt. */
interface Progress {
  /** 1 for the first. */
  readonly attempt: number
  /** Whether the previous response was a 429. */
  readonly wasRejected: boolean
}

/** @param key what the limit belongs to, for processes that share it */
export function createGate<Q extends Named, R extends Reply>(
  options: GateOptions,
  key: string,
  api: Api<Q, R>,
): Gate<Q, R> {
  const { time, random, maxRetries, maxWaitMs, waitForBan, shared } = options
  const onRequest = guarded(options.onRequest)
  const onWait = guarded(options.onWait)
  const onRetry = guarded(options.onRetry)
  const sharedKey = shared === undefined ? undefined : createSharedKey({ shared, key, time })
  const budget = createBudget({ ...options, sharedKey })
  const throttle = createThrottle({ ...options, onWait, budget, sharedKey })
  const closing = new AbortController()

  return {
    // Not the loop itself: a waiting call takes little memory.
    send: (request, signal) =>
      throttle
        .run(signal, report => sendOnce(report, request, signal, FIRST), false)
        .then(outcome =>
          outcome.failure ? retry(outcome.failure, request, signal) : outcome.reply,
        ),
    close() {
      closing.abort(new ClosedError('The client is closed.'))
      return throttle.close()
    },
    get rateLimit() {
      return budget.rateLimit
    },
  }

  async function retry(failed: Failure, request: Q, signal: AbortSignal | undefined): Promise<R> {
    const { method, url } = request
    let failure = failed
    let failures = 0
    let admittedBefore = -1

    for (let attempt = 1; ; attempt++) {
      const { error, isRejected, isByOthers, retryAt, opensAt } = failure
      const isBan = error instanceof ApiKeyBannedError
      // While other calls of this client succeed, rejections that others caused are no failures.
      const isForeign = isByOthers && budget.admissions > admittedBefore
      if (isRejected) admittedBefore = budget.admissions
      if (!isForeign && !isBan) failures++
      const isTooLong = retryAt - time.now() > maxWaitMs && !isBan
      const mayRepeat = isRejected || api.mayRepeat(request, error)
      if (!mayRepeat || failures > maxRetries || isTooLong || (isBan && !waitForBan)) throw error

      const waitMs = Math.max(0, opensAt - time.now())
      onRetry({ method, url, attempt, error, waitMs })
      // After a 429 the throttle waits, for all calls at once.
      if (!isRejected) {
        onWait({ reason: 'retry', until: opensAt, ms: waitMs })
        await time.until(opensAt, signal, closing.signal)
      }
      const progress = { attempt: attempt + 1, wasRejected: isRejected }
      const job = (report: Report) => sendOnce(report, request, signal, progress)
      const outcome = await throttle.run(signal, job, true)
      if (!outcome.failure) return outcome.reply
      failure = outcome.failure
    }
  }

  async function sendOnce(
    report: Report,
    request: Q,
    signal: AbortSignal | undefined,
    progress: Progress,
  ): Promise<Outcome<R>> {
    const { attempt } = progress
    let rejection: Reply | undefined
    onRequest({ method: request.method, url: request.url, attempt })
    try {
      const reply = await api.send(request, signal, head => {
        if (head.status !== 429) return
        rejection = head
        report.hold()
      })
      const { status, limits } = reply
      const isFailure = status === 429 || status === 408 || status >= 500
      // A proxy in front of the server does not count requests, and a 401 has the limits of the address.
      const isOfKey = status !== 401 && status !== 429 && (!isFailure || limits.rateLimit)
      if (isOfKey) report.admitted(limits)
      return isFailure ? { failure: await understand(report, reply, progress) } : { reply }
    } catch (error) {
      if (rejection) {
        const { retryAt, opensAt } = retryTimes(rejection, progress)
        report.rejected(rejection.limits, { ban: undefined, retryAt }, opensAt)
      }
      if (!(error instanceof ConnectionError)) throw error
      const now = time.now()
      const wait = waitBefore({ requested: undefined, retries: attempt - 1, again: false }, random)
      return { failure: { ...NOT_REJECTED, error, retryAt: now, opensAt: now + wait } }
    }
  }

  async function understand(report: Report, reply: R, progress: Progress): Promise<Failure> {
    const { status, limits } = reply
    const isRejected = status === 429
    const { retryAt, opensAt } = retryTimes(reply, progress)
    const error = await api.explain(reply, time.now(), retryAt)
    if (!isRejected) return { ...NOT_REJECTED, error, retryAt, opensAt }
    const ban = error instanceof ApiKeyBannedError ? rejectionOf(error) : undefined
    return { error, isRejected, retryAt, ...report.rejected(limits, { ban, retryAt }, opensAt) }
  }

  /** When the server allows a retry, and when a client that backs off alone sends it. */
  function retryTimes({ status, limits, arrivedAt }: Reply, { attempt, wasRejected }: Progress) {
    const isRejected = status === 429
    // A failure does not end when the limit resets.
    const asked = isRejected ? limits : { ...limits, rateLimit: undefined }
    const requested = requestedWait(asked, arrivedAt)
    const again = isRejected && wasRejected
    const wait = waitBefore({ requested, retries: attempt - 1, again }, random)
    return { retryAt: arrivedAt + (requested ?? wait), opensAt: arrivedAt + wait }
  }
}

const FIRST: Progress = { attempt: 1, wasRejected: false }
const NOT_REJECTED = { isRejected: false, isByOthers: false } as const

function rejectionOf({ code, message, status }: ApiKeyBannedError): Rejection {
  return { code, message, status }
}

/** An error in a hook does not affect the call. */
function guarded<T>(hook: (event: T) => void = () => {}): (event: T) => void {
  return event => {
    try {
      hook(event)
    } catch {}
  }
}
