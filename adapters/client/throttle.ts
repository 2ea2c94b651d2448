import type { RateLimit } from '../../src/errors.js'
import { onAbort } from './abort.js'
import { ApiKeyBannedError, ClosedError, QueueFullError, RateLimitError } from './errors.js'
import { type Limits, untilReset } from './headers.js'
import { createQueue } from './queue.js'
import type { Rejection } from './rejection.js'
import { createShare } from './share.js'
import type { Closed, SharedKey } from './shared.js'
import type { Time } from './time.js'

/**
 * Why a client waits: the `limit` is exhausted; it is the turn of others on the key (`company`); a
 * request was `rejected` with 429; the key is `banned`; a request failed, before its `retry`.
 */
export type WaitReason = 'limit' | 'company' | 'rejected' | 'banned' | 'retry'

export interface Wait {
  readonly reason: WaitReason
  /** In ms since the epoch. */
  readonly until: number
  /** How long that is from now. */
  readonly ms: number
}

export interface ThrottleOptions {
  readonly time: Time
  readonly random: () => number
  readonly maxConcurrent: number
  readonly maxQueued: number
  readonly maxWaitMs: number
  readonly waitForBan: boolean
  readonly onWait: (wait: Wait) => void
  /** The units of the key, where processes share them. */
  readonly sharedKey: SharedKey | undefined
}

/** Where every request of a key waits for its turn. */
export interface Throttle {
  /**
   * Resolves when the request may be sent; a retry goes first. Each turn ends with `leave` or
   * `reject`.
   *
   * @throws RateLimitError for too long a wait, ApiKeyBannedError, QueueFullError, ClosedError, or
   * the reason of the signal
   */
  enter(signal: AbortSignal | undefined, isRetry: boolean): Promise<void>
  /** @param limits of the response, if there was one */
  leave(limits: Limits | undefined): void
  /**
   * After a 429: nothing is sent before `withJitter`, or `retryAt` when others used up the limit.
   * After a ban, waiting and new calls fail until `retryAt`, unless `waitForBan` is on.
   *
   * @param retryAt when the response allows a retry
   * @param withJitter when a client that backs off alone retries
   * @returns whether others used up the limit, and when requests are sent again
   */
  reject(
    limits: Limits,
    rejection: Rejection,
    retryAt: number,
    withJitter: number,
  ): { readonly isByOthers: boolean; readonly opensAt: number }
  /** Waiting and new calls fail. Resolves once the last request has ended. */
  close(): Promise<void>
  /** As last reported. */
  readonly rateLimit: RateLimit | undefined
  /** How many responses were not rejected. */
  readonly admitted: number
}

interface Waiting {
  readonly start: () => void
  readonly fail: (error: Error) => void
  stopListening?: () => void
}

interface Pause {
  readonly reason: WaitReason
  /** When the server allows a retry, and when this client sends it. */
  readonly retryAt: number
  readonly opensAt: number
}

interface Ban extends Rejection {
  readonly retryAt: number
}

export function createThrottle(options: ThrottleOptions): Throttle {
  const { time, maxConcurrent, maxQueued, maxWaitMs, waitForBan, onWait, sharedKey } = options
  const share = createShare(options)
  const queue = createQueue<Waiting>()
  let rateLimit: RateLimit | undefined
  let inFlight = 0
  let admitted = 0
  let pause: Pause = { reason: 'rejected', retryAt: 0, opensAt: 0 }
  let ban: Ban | undefined
  let alarm: { readonly at: number; readonly stop: () => void } | undefined
  /** Units of the shared key, requested or in use, and functions that return one each. */
  let units = 0
  const ends: (() => void)[] = []
  let closed: { readonly done: Promise<void>; readonly finish: () => void } | undefined

  const listener = {
    changed: startNext,
    closed(found: Closed) {
      stop('limit', found, found.retryAt)
      startNext()
    },
    isNeeded: () => queue.size > 0,
  }

  return {
    enter(signal, isRetry) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (!isRetry && inFlight + queue.size >= maxConcurrent + maxQueued) {
        const message = `More than ${maxQueued} calls are waiting (\`maxQueued\`).`
        return Promise.reject(new QueueFullError(message))
      }
      return new Promise((start, fail) => {
        const waiting: Waiting = { start, fail }
        const remove = isRetry ? queue.pushFirst(waiting) : queue.push(waiting)
        if (signal) waiting.stopListening = onAbort(signal, () => leaveQueue(signal, fail, remove))
        startNext()
      })
    },
    leave(limits) {
      if (limits) admitted++
      if (limits?.rateLimit) {
        rateLimit = limits.rateLimit
        const now = time.now()
        const endsAt = now + untilReset(rateLimit, limits.sentAt, now)
        share.admitted(rateLimit, endsAt, now)
        sharedKey?.admitted(rateLimit, endsAt)
      } else if (limits) share.uncounted()
      else share.lost()
      end()
    },
    reject(limits, rejection, retryAt, withJitter) {
      rateLimit = limits.rateLimit ?? rateLimit
      const isByOthers = share.rejected(limits.rateLimit, retryAt)
      const banned = rejection.code === 'api_key_banned' ? rejection : undefined
      sharedKey?.rejected({ ban: banned, retryAt })
      // Clients that take turns need no jitter.
      const opensAt = isByOthers && !banned ? retryAt : withJitter
      stop('rejected', { ban: banned, retryAt }, opensAt)
      end()
      return { isByOthers, opensAt }
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
    get rateLimit() {
      return rateLimit
    },
    get admitted() {
      return admitted
    },
  }

  function stop(reason: WaitReason, { ban: rejection, retryAt }: Closed, opensAt: number): void {
    if (rejection) ban = { ...rejection, retryAt }
    if (opensAt <= pause.opensAt) return
    pause = { reason: rejection ? 'banned' : reason, retryAt, opensAt }
  }

  function end(): void {
    inFlight--
    ends.pop()?.()
    if (inFlight === 0) closed?.finish()
    startNext()
  }

  function startNext(): void {
    while (queue.size > 0) {
      const now = time.now()
      const failure = failureAt(now)
      if (failure) {
        failAll(failure)
        return
      }
      const isShared = sharedKey !== undefined && sharedKey.state !== 'away'
      const at = Math.max(pause.opensAt, isShared ? 0 : share.next(now))
      if (at > now) {
        wake(at, now)
        return
      }
      if (isShared) {
        askForUnits(sharedKey)
        return
      }
      startFirst(now)
    }
    stopAlarm()
  }

  function startFirst(now: number): void {
    inFlight++
    share.sent(now)
    const first = queue.shift()
    first?.stopListening?.()
    first?.start()
  }

  function leaveQueue(signal: AbortSignal, fail: Waiting['fail'], remove: () => void): void {
    remove()
    fail(signal.reason)
    if (queue.size === 0) stopAlarm()
  }

  function askForUnits(key: SharedKey): void {
    key.start(listener)
    if (key.state !== 'ready') return
    while (units < Math.min(maxConcurrent, inFlight + queue.size)) {
      units++
      void key.run(useUnit).then(giveBack, giveBackLater)
    }
  }

  /** Resolves when the request has ended, or at once if none is waiting any more. */
  function useUnit(): Promise<boolean> {
    const now = time.now()
    if (queue.size === 0 || failureAt(now) || pause.opensAt > now) return Promise.resolve(false)
    return new Promise(resolve => {
      ends.push(() => resolve(true))
      startFirst(now)
    })
  }

  function giveBack(): void {
    units--
    startNext()
  }

  /** Redis failed, and the connection may need a moment to notice. */
  function giveBackLater(): void {
    time.at(time.now() + 1_000, giveBack, giveBack)
  }

  /** Why waiting calls fail; each gets its own error. */
  function failureAt(now: number): (() => Error) | undefined {
    if (closed) return () => new ClosedError('The client is closed.')
    const broken = sharedKey?.failure
    if (broken) return () => broken
    if (ban && now < ban.retryAt) return waitForBan ? undefined : () => bannedError(ban as Ban, now)
    const exhaustedUntil = share.waitsFor(now) === 'limit' ? share.endsAt : 0
    const retryAt = Math.max(pause.retryAt, exhaustedUntil)
    return retryAt - now > maxWaitMs ? () => tooLong(retryAt, now) : undefined
  }

  /** One timer for all waiting calls; a response needs none. */
  function wake(at: number, now: number): void {
    if (alarm?.at === at) return
    stopAlarm()
    if (at === Number.POSITIVE_INFINITY) return
    alarm = { at, stop: time.at(at, ring, error => failAll(() => error as Error)) }
    const reason = now < pause.opensAt ? pause.reason : share.waitsFor(now)
    if (reason !== 'response') onWait({ reason, until: at, ms: at - now })
  }

  function ring(): void {
    alarm = undefined
    startNext()
  }

  function stopAlarm(): void {
    alarm?.stop()
    alarm = undefined
  }

  function failAll(createError: () => Error): void {
    stopAlarm()
    for (let next = queue.shift(); next; next = queue.shift()) {
      next.stopListening?.()
      next.fail(createError())
    }
  }

  function bannedError({ code, message, retryAt }: Ban, now: number): ApiKeyBannedError {
    const retryAfter = secondsUntil(retryAt, now)
    return new ApiKeyBannedError(code, message, { rateLimit, retryAfter, retryAt })
  }

  function tooLong(retryAt: number, now: number): RateLimitError {
    const until = new Date(retryAt).toISOString()
    const message = `The limit is exhausted until ${until}, longer than \`maxWaitMs\` (${maxWaitMs}).`
    const retryAfter = secondsUntil(retryAt, now)
    return new RateLimitError('rate_limit_exceeded', message, { rateLimit, retryAfter, retryAt })
  }
}

function secondsUntil(instant: number, now: number): number {
  return Math.ceil((instant - now) / 1000)
}
