import { createNotifier } from '../../src/lib/listeners.js'
import type { Answer, ClientRequest } from './attempt.js'
import { waitBefore } from './backoff.js'
import type { ClientSettings } from './client-options.js'
import { ApiKeyBannedError, ClosedError, ConnectionError } from './errors.js'
import type { Degraded, Wait } from './hooks.js'
import { requestedWait } from './rate-limit-headers.js'
import { createRateLimiter } from './rate-limiter.js'
import { createSharedKey, type Pause } from './shared-through-redis.js'
import { createThrottle } from './throttle.js'

interface Api {
  /** @throws ConnectionError without a complete response; any other error is final */
  send(request: ClientRequest, signal: AbortSignal | undefined): Promise<Answer>
  /** Returns the error of a 408, 429 or 5xx. Times are in ms since the epoch. */
  explain(answer: Answer, now: number, retryAt: number): Error
  /** Allows a retry after a failure that may have taken effect. */
  mayRepeat(request: ClientRequest, error: Error): boolean
}

interface Failure {
  readonly error: Error
  readonly rejection?: Answer | undefined
  readonly retryAt: number
  readonly opensAt: number
}

type Outcome = { readonly answer: Answer } | { readonly failure: Failure }

/** Sends requests in turn, with retries. `key` names the limit for processes that share it. */
export function createSender(options: ClientSettings, key: string, api: Api) {
  const { time, random, maxRetries, maxWait: maxWaitMs, waitForBan, shared } = options
  const notify = createNotifier(options.onListenerError)
  const onWait = (wait: Wait) => notify('onWait', options.onWait, wait)
  const changed = () => throttle.startNext()
  const paused = (pause: Pause) => limiter.pause(pause)
  const onDegraded = (failure: Degraded) => notify('onDegraded', options.onDegraded, failure)
  const onRecovered = () => notify('onRecovered', options.onRecovered, {})
  const sharedKey = shared
    ? createSharedKey({ shared, key, time, changed, paused, onDegraded, onRecovered })
    : undefined
  const limiter = createRateLimiter(options, sharedKey)
  const throttle = createThrottle({ ...options, onWait }, limiter, sharedKey)
  const closing = new AbortController()

  return {
    send,
    close(): Promise<void> {
      closing.abort(new ClosedError('The client is closed.'))
      return throttle.close()
    },
    get rateLimit() {
      return limiter.rateLimit
    },
  }

  /**
   * Sends a request when its turn comes, until it succeeds or fails for good. A 429 has no effect,
   * so every request is retried after it. A waiting request holds no slot.
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
      // While other calls of this client succeed, a 429 is the fault of others and no failure.
      const isByOthers = rejection?.limits.rateLimit && limiter.admissions > admittedBefore
      if (rejection) admittedBefore = limiter.admissions
      if (!isByOthers && !isBan) failures++
      const isTooLong = retryAt - time.now() > maxWaitMs
      const mayRepeat = rejection !== undefined || api.mayRepeat(request, error)
      if (!mayRepeat || failures > maxRetries || (isBan ? !waitForBan : isTooLong)) throw error

      const waitMs = Math.max(0, opensAt - time.now())
      notify('onRetry', options.onRetry, { method, url, attempt, error, waitMs })
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
    notify('onRequest', options.onRequest, { method, url, attempt })
    let answer: Answer
    try {
      answer = await api.send(request, signal)
    } catch (error) {
      limiter.lost()
      if (!(error instanceof ConnectionError)) throw error
      const wait = waitBefore({ requested: undefined, retries: attempt - 1, again: false }, random)
      const now = time.now()
      return { failure: { error, retryAt: now, opensAt: now + wait } }
    }
    const { status, limits } = answer
    const isFailure = status === 429 || status === 408 || status >= 500
    if (status === 401) limiter.refused(limits)
    // A proxy in front of the server does not count requests.
    else if (isFailure && !limits.rateLimit && status !== 429) limiter.lost()
    else if (status !== 429) limiter.admitted(limits)
    return isFailure ? { failure: understand(answer, attempt, last) } : { answer }
  }

  function understand(answer: Answer, attempt: number, last: Failure | undefined): Failure {
    const { status, limits, arrivedAt } = answer
    const rejection = status === 429 ? answer : undefined
    // A server failure outlasts the reset of the limit.
    const asked = rejection ? limits : { ...limits, rateLimit: undefined }
    const requested = requestedWait(asked, arrivedAt)
    const again = rejection !== undefined && last?.rejection !== undefined
    const wait = waitBefore({ requested, retries: attempt - 1, again }, random)
    const retryAt = arrivedAt + (requested ?? wait)
    const opensAt = arrivedAt + wait
    const error = api.explain(answer, time.now(), retryAt)
    const ban = error instanceof ApiKeyBannedError ? error : undefined
    if (rejection) limiter.rejected(limits, { ban, retryAt }, opensAt)
    return { error, rejection, retryAt, opensAt }
  }
}
