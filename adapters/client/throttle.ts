import { onAbort } from './abort.js'
import type { ClientSettings } from './client-options.js'
import { ClosedError, QueueFullError } from './errors.js'
import type { RateLimiter } from './rate-limiter.js'
import type { SharedKey, Unit } from './shared-through-redis.js'

interface Waiting {
  readonly start: (unit: Unit | undefined) => void
  readonly fail: (error: unknown) => void
  stopListening?: () => void
}

export function createThrottle(
  options: ClientSettings,
  limiter: Pick<RateLimiter, 'next' | 'failureAt' | 'sent'>,
  sharedKey: SharedKey | undefined,
) {
  const { time, maxConcurrent, maxQueued, onWait } = options
  /** Retries come first. Sets, because any call may leave early. */
  const [retries, calls] = [new Set<Waiting>(), new Set<Waiting>()]
  const waitingCalls = () => retries.size + calls.size
  const next = () => takeFirst(retries, calls)
  let timer: { readonly at: number; readonly stop: () => void } | undefined
  let inFlight = 0
  let closing: Promise<void> | undefined
  let finish = () => {}

  return {
    /** Runs the job when its turn comes, retries first. The turn ends with the job. */
    async run<T>(signal: AbortSignal | undefined, job: () => Promise<T>, isRetry: boolean) {
      signal?.throwIfAborted()
      if (!isRetry && inFlight + waitingCalls() >= maxConcurrent + maxQueued) {
        throw new QueueFullError(`More than ${maxQueued} calls are waiting (\`maxQueued\`).`)
      }
      const unit = await turn(signal, isRetry)
      try {
        return await job()
      } finally {
        inFlight--
        unit?.giveBack()
        if (inFlight === 0) finish()
        startNext()
      }
    },
    startNext,
    /** Rejects waiting and new calls. Resolves once the last request has ended. */
    close(): Promise<void> {
      closing ??= new Promise(resolve => {
        finish = resolve
      })
      startNext()
      if (inFlight === 0) finish()
      sharedKey?.close()
      return closing
    },
  }

  function turn(signal: AbortSignal | undefined, isRetry: boolean) {
    return new Promise<Unit | undefined>((start, fail) => {
      const waiting: Waiting = { start, fail }
      const queue = isRetry ? retries : calls
      queue.add(waiting)
      if (signal) {
        waiting.stopListening = onAbort(signal, () => {
          queue.delete(waiting)
          fail(signal.reason)
          startNext()
        })
      }
      startNext()
    })
  }

  function startNext(): void {
    while (waitingCalls() > 0) {
      const now = time.now()
      const closed = closing && new ClosedError('The client is closed.')
      const failure = closed ?? sharedKey?.failure ?? limiter.failureAt(now)
      if (failure) {
        next()?.fail(failure)
        continue
      }
      const { at, reason } = limiter.next(now)
      if (at > now) {
        const isNew = setTimer(at)
        if (isNew && reason !== 'response') onWait?.({ reason, until: at, waitMs: at - now })
        return
      }
      const shared = sharedKey?.isAway ? undefined : sharedKey
      const unit = shared?.take(Math.min(maxConcurrent, inFlight + waitingCalls()))
      if (shared && !unit) break
      inFlight++
      limiter.sent()
      next()?.start(unit)
    }
    setTimer(Number.POSITIVE_INFINITY)
  }

  /** Returns true if the timer is new; Infinity clears it. */
  function setTimer(at: number): boolean {
    if (timer?.at === at) return false
    timer?.stop()
    timer = undefined
    if (at === Number.POSITIVE_INFINITY) return false
    const reached = () => {
      timer = undefined
      startNext()
    }
    timer = { at, stop: time.at(at, reached) }
    return true
  }
}

function takeFirst(retries: Set<Waiting>, calls: Set<Waiting>): Waiting | undefined {
  const queue = retries.size > 0 ? retries : calls
  const [first] = queue
  if (first) queue.delete(first)
  first?.stopListening?.()
  return first
}
