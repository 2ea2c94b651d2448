import { onAbort } from './abort.js'
import type { Budget, WaitReason } from './budget.js'
import { ClosedError, QueueFullError } from './errors.js'
import type { SharedKey } from './shared.js'
import { createAlarm, type Time } from './time.js'
import { createUnits, type Unit } from './units.js'

export interface Wait {
  readonly reason: WaitReason
  /** In ms since the epoch. */
  readonly until: number
  /** How long that is from now. */
  readonly ms: number
}

export interface ThrottleOptions {
  readonly budget: Budget
  readonly time: Time
  readonly maxConcurrent: number
  readonly maxQueued: number
  readonly onWait: (wait: Wait) => void
  readonly sharedKey: SharedKey | undefined
}

/** Where every request of a key waits for its turn. */
export interface Throttle {
  /**
   * Runs the job when its turn comes; a retry goes first. The turn ends with the job.
   *
   * @throws RateLimitError for too long a wait, ApiKeyBannedError, QueueFullError, ClosedError, the
   * reason of the signal, or what the job throws
   */
  run<T>(signal: AbortSignal | undefined, job: Job<T>, isRetry: boolean): Promise<T>
  /** Waiting and new calls fail. Resolves once the last request has ended. */
  close(): Promise<void>
}

export interface Report extends Pick<Budget, 'admitted' | 'rejected'> {
  /** Nothing else starts before the job ends, because its request was rejected. */
  hold(): void
}

/** Does all that needs the turn, and reports the response; without a report, there was none. */
export type Job<T> = (report: Report) => Promise<T>

interface Waiting {
  readonly start: (unit?: Unit) => void
  readonly fail: (error: Error) => void
  stopListening?: () => void
}

export function createThrottle(options: ThrottleOptions): Throttle {
  const { budget, time, maxConcurrent, maxQueued, onWait, sharedKey } = options
  const queue = createQueue()
  const alarm = createAlarm(time)
  const units = sharedKey && createUnits(sharedKey, time, startWith, startNext)
  const holding = new Set<Job<unknown>>()
  let inFlight = 0
  let closed: { readonly done: Promise<void>; readonly finish: () => void } | undefined

  sharedKey?.listen({
    changed: startNext,
    closed(found) {
      budget.pause(found)
      startNext()
    },
    isNeeded: () => queue.size > 0,
  })

  return {
    run(signal, job, isRetry) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (!isRetry && inFlight + queue.size >= maxConcurrent + maxQueued) {
        const message = `More than ${maxQueued} calls are waiting (\`maxQueued\`).`
        return Promise.reject(new QueueFullError(message))
      }
      return new Promise((resolve, fail) => {
        const waiting: Waiting = { start: unit => resolve(takeTurn(job, unit)), fail }
        queue.add(waiting, isRetry)
        if (signal) waiting.stopListening = onAbort(signal, () => abandon(waiting, signal))
        startNext()
      })
    },
    close() {
      if (!closed) {
        let finish = () => {}
        const done = new Promise<void>(resolve => {
          finish = resolve
        })
        closed = { done, finish }
        startNext()
        if (inFlight === 0) finish()
        sharedKey?.close()
      }
      return closed.done
    },
  }

  async function takeTurn<T>(job: Job<T>, unit: Unit | undefined): Promise<T> {
    let hasResponse = false
    inFlight++
    budget.sent()
    // Calls that have to wait learn that first.
    await undefined
    try {
      return await job({
        admitted(limits) {
          hasResponse = true
          budget.admitted(limits)
        },
        hold: () => void holding.add(job),
        rejected(...response) {
          hasResponse = true
          return budget.rejected(...response)
        },
      })
    } finally {
      if (!hasResponse) budget.lost()
      holding.delete(job)
      inFlight--
      unit?.giveBack()
      if (inFlight === 0) closed?.finish()
      startNext()
    }
  }

  function abandon(waiting: Waiting, { reason }: AbortSignal): void {
    queue.delete(waiting)
    waiting.fail(reason)
    if (queue.size === 0) alarm.stop()
  }

  function startNext(): void {
    while (queue.size > 0) {
      const now = time.now()
      const failure = failureAt(now)
      if (failure) {
        failAll(failure)
        return
      }
      const isShared = units !== undefined && sharedKey?.state !== 'away'
      const at = next(now, isShared)
      if (at > now) {
        waitUntil(at, now)
        return
      }
      if (isShared) {
        units(Math.min(maxConcurrent, inFlight + queue.size))
        return
      }
      startFirst()
    }
    alarm.stop()
  }

  /** Uses a unit of the shared key. Returns whether a call waits for one. */
  function startWith(unit: Unit): boolean {
    const now = time.now()
    if (queue.size === 0 || failureAt(now) || next(now, true) > now) return false
    startFirst(unit)
    return true
  }

  function next(now: number, isShared: boolean): number {
    if (holding.size > 0) return Number.POSITIVE_INFINITY
    return isShared ? budget.nextShared() : budget.next(now)
  }

  function startFirst(unit?: Unit): void {
    const first = queue.shift()
    first?.stopListening?.()
    first?.start(unit)
  }

  /** Why waiting calls fail; each gets its own error. */
  function failureAt(now: number): (() => Error) | undefined {
    if (closed) return () => new ClosedError('The client is closed.')
    const broken = sharedKey?.failure
    return broken ? () => broken : budget.failureAt(now)
  }

  function failAll(createError: () => Error): void {
    alarm.stop()
    for (let next = queue.shift(); next; next = queue.shift()) {
      next.stopListening?.()
      next.fail(createError())
    }
  }

  /** One timer for all waiting calls; a response needs none. */
  function waitUntil(at: number, now: number): void {
    if (!alarm.set(at, startNext, error => failAll(() => error as Error))) return
    const reason = budget.waitsFor(now)
    if (reason !== 'response') onWait({ reason, until: at, ms: at - now })
  }
}

/** Retries first, then the others, each in their order. */
function createQueue() {
  const retries = new Set<Waiting>()
  const calls = new Set<Waiting>()
  // Kept, because a new iterator steps over all that have been deleted.
  let oldest = calls.values()

  return {
    get size() {
      return retries.size + calls.size
    },
    add: (waiting: Waiting, isRetry: boolean) => (isRetry ? retries : calls).add(waiting),
    delete: (waiting: Waiting) => retries.delete(waiting) || calls.delete(waiting),
    shift(): Waiting | undefined {
      for (const retry of retries) {
        retries.delete(retry)
        return retry
      }
      let next = oldest.next()
      if (next.done) {
        oldest = calls.values()
        next = oldest.next()
      }
      if (!next.done) calls.delete(next.value)
      return next.value
    },
  }
}
