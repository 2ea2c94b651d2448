import type { Answer, ClientRequest } from './attempt.js'
import { waitBefore } from './backoff.js'
import { createBudget } from './budget.js'
import type { ClientSettings } from './client-options.js'
import { ApiKeyBannedError, ClosedError, ConnectionError } from './errors.js'
import { requestedWait } from './headers.js'
import { createSharedKey, type Pause } from './shared-through-redis.js'
import { createThrottle } from './throttle.js'

/** How requests are sent, and how their responses are read. */
interface Api {
  /** @throws ConnectionError without a complete response; any other error is final */
  send(request: ClientRequest, signal: AbortSignal | undefined): Promise<Answer>
  /**
   * The error of a 408, 429 or 5xx.
   *
   * @param now in ms since the epoch, as is `retryAt`: when the server allows a retry
   */
  explain(answer: Answer, now: number, retryAt: number): Error
  /** Whether it may be sent again after a failure that may have taken effect. */
  mayRepeat(request: ClientRequest, error: Error): boolean
}

interface Failure {
  readonly error: Error
  /** The 429, if it was one. */
  readonly rejection?: Answer | undefined
  /** When the server allows a retry, and when it is sent. */
  readonly retryAt: number
  readonly opensAt: number
}

type Outcome = { readonly answer: Answer } | { readonly failure: Failure }

/**
 * Lets requests through so that the limit of their key suffices.
 *
 * @param key what the limit belongs to, for processes that share it
 */
export function createGate(options: ClientSettings, key: string, api: Api) {
  const { time, random, maxRetries, maxWaitMs, waitForBan, shared } = options
  const onRequest = guarded(options.onRequest)
  const onWait = guarded(options.onWait)
  const onRetry = guarded(options.onRetry)
  const changed = () => throttle.startNext()
  const paused = (pause: Pause) => budget.pause(pause)
  const sharedKey = shared ? createSharedKey({ shared, key, time, changed, paused }) : undefined
  const budget = createBudget(options, sharedKey)
  const throttle = createThrottle({ ...options, onWait }, budget, sharedKey)
  const closing = new AbortController()

  return {
    send,
    /** Waiting and new requests fail. Resolves once the requests in flight have ended. */
    close(): Promise<void> {
      closing.abort(new ClosedError('The client is closed.'))
      return throttle.close()
    },
    get rateLimit() {
      return budget.rateLimit
    },
  }

  /**
   * Sends a request when its turn comes, until it succeeds or fails for good. Every request is
   * retried after a 429, which has no effect; one that may be repeated also after failures of the
   * server or of the connection. A waiting request holds no slot.
   *
   * @throws RateLimitError, ApiKeyBannedError, QueueFullError, ClosedError, the reason of the signal,
   * or the last error of the request
   */
  async function send(request: ClientRequest, signal: AbortSignal | undefined): Promise<Answer> {
    const { method, url } = request
    let failures = 0
    let admittedBefore = -1
    let last: Failure | undefined

    for (let attempt = 1; ; attempt++) {
      const job = () => sendOnce(request, signal, attempt, last)
      const outcome = await throttle.run(signal, job, attempt > 1)
      if ('answer' in outcome) return outcome.answer
      last = outcome.failure
      const { error, rejection, retryAt, opensAt } = last
      const isBan = error instanceof ApiKeyBannedError
      // While other calls of this client succeed, rejections that others caused are no failures.
      const isByOthers = rejection?.limits.rateLimit && budget.admissions > admittedBefore
      if (rejection) admittedBefore = budget.admissions
      if (!isByOthers && !isBan) failures++
      const isTooLong = retryAt - time.now() > maxWaitMs
      const mayRepeat = rejection !== undefined || api.mayRepeat(request, error)
      if (!mayRepeat || failures > maxRetries || (isBan ? !waitForBan : isTooLong)) throw error

      const waitMs = Math.max(0, opensAt - time.now())
      onRetry({ method, url, attempt, error, waitMs })
      // After a 429 the throttle waits, for all calls at once.
      if (rejection) continue
      onWait({ reason: 'retry', until: opensAt, waitMs })
      await time.until(opensAt, signal, closing.signal)
    }
  }

  async function sendOnce(
    request: ClientRequest,
    signal: AbortSignal | undefined,
    attempt: number,
    last: Failure | undefined,
  ): Promise<Outcome> {
    const { method, url } = request
    onRequest({ method, url, attempt })
    let answer: Answer
    try {
      answer = await api.send(request, signal)
    } catch (error) {
      budget.lost()
      if (!(error instanceof ConnectionError)) throw error
      const wait = waitBefore({ requested: undefined, retries: attempt - 1, again: false }, random)
      const now = time.now()
      return { failure: { error, retryAt: now, opensAt: now + wait } }
    }
    const { status, limits } = answer
    const isFailure = status === 429 || status === 408 || status >= 500
    if (status === 401) budget.refused(limits)
    // A proxy in front of the server does not count requests.
    else if (isFailure && !limits.rateLimit && status !== 429) budget.lost()
    else if (status !== 429) budget.admitted(limits)
    return isFailure ? { failure: understand(answer, attempt, last) } : { answer }
  }

  function understand(answer: Answer, attempt: number, last: Failure | undefined): Failure {
    const { status, limits, arrivedAt } = answer
    const rejection = status === 429 ? answer : undefined
    // A failure does not end when the limit resets.
    const asked = rejection ? limits : { ...limits, rateLimit: undefined }
    const requested = requestedWait(asked, arrivedAt)
    const again = rejection !== undefined && last?.rejection !== undefined
    const wait = waitBefore({ requested, retries: attempt - 1, again }, random)
    const retryAt = arrivedAt + (requested ?? wait)
    const opensAt = arrivedAt + wait
    const error = api.explain(answer, time.now(), retryAt)
    const ban = error instanceof ApiKeyBannedError ? error : undefined
    if (rejection) budget.rejected(limits, { ban, retryAt }, opensAt)
    return { error, rejection, retryAt, opensAt }
  }
}

/** An error in a hook does not affect the call. */
function guarded<T>(hook: (event: T) => void = () => {}): (event: T) => void {
  return event => {
    try {
      hook(event)
    } catch {}
  }
}
