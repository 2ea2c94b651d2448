import { LONGEST_TIMER } from '../../src/lib/options.js'
import type { Clock } from '../../src/ports.js'
import { onAbort } from './abort.js'

/**
 * Waits `ms` milliseconds, a whole number, then resolves to anything. When `signal` aborts, it
 * resolves or rejects immediately. A function that ignores the signal works too, but its timers run
 * to their end. So both of these work:
 *
 *     import { setTimeout } from 'node:timers/promises'
 *     createClient({ …, sleep: setTimeout })
 *     createClient({ …, sleep: (ms, options) => setTimeout(ms, undefined, options) })
 */
export type Sleep = (ms: number, options: { readonly signal?: AbortSignal }) => Promise<unknown>

/** Time that never goes back: an instant, once waited for, is past, whatever the clock shows. */
export interface Time {
  /** In ms since the epoch. */
  now(): number
  /**
   * Calls back at the instant, unless the returned function is called before.
   *
   * @param failed if `sleep` rejects by itself
   */
  at(instant: number, reached: () => void, failed: (error: unknown) => void): () => void
  /** Resolves at the instant, or rejects with the reason of the first signal that aborts. */
  until(instant: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void>
  /**
   * Does some work, unless the time limit or the signal ends it before. The signal that the work is
   * given aborts when it ends without success.
   *
   * @param timedOut what is thrown after `ms`
   */
  within<T>(
    ms: number,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
    timedOut: () => Error,
  ): Promise<T>
}

/**
 * @param clock the platform's by default, looked up at each call because tests replace it
 * @param sleep the timers of the platform by default
 */
export function createTime(clock: Clock = () => Date.now(), sleep?: Sleep): Time {
  let earliest = Number.NEGATIVE_INFINITY
  const now = () => (earliest = Math.max(earliest, clock()))
  const start = sleep ? sleeper(sleep) : startTimer

  return {
    now,
    at,
    async until(instant, ...signals) {
      for (const signal of signals) signal?.throwIfAborted()
      if (instant <= now()) return
      const cleanups: (() => void)[] = []
      try {
        await new Promise<void>((resolve, reject) => {
          cleanups.push(at(instant, resolve, reject))
          for (const signal of signals) {
            if (signal) cleanups.push(onAbort(signal, () => reject(signal.reason)))
          }
        })
      } finally {
        for (const cleanup of cleanups) cleanup()
      }
    },
    within(ms, signal, work, timedOut) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const working = new AbortController()
      return new Promise((resolve, reject) => {
        const stop = (reason: unknown) => {
          cleanUp()
          // Also ends work that ignores signals.
          reject(reason)
          working.abort(reason)
        }
        const stopTimer = at(now() + ms, () => stop(timedOut()), stop)
        const stopListening = signal && onAbort(signal, () => stop(signal.reason))
        try {
          work(working.signal).then(value => {
            cleanUp()
            resolve(value)
          }, stop)
        } catch (error) {
          stop(error)
        }

        function cleanUp(): void {
          stopTimer()
          stopListening?.()
        }
      })
    },
  }

  function at(instant: number, reached: () => void, failed: (error: unknown) => void): () => void {
    const end = () => {
      earliest = Math.max(earliest, instant)
      reached()
    }
    // Timers have no fractions of a millisecond, and would end before the instant.
    return start(Math.ceil(instant - now()), end, failed)
  }
}

/** One timer at a time. */
export function createAlarm(time: Time) {
  let current: { readonly at: number; readonly stop: () => void } | undefined

  return { set, stop }

  /** Returns whether it is a new one; at Infinity there is none. */
  function set(at: number, ring: () => void, failed: (error: unknown) => void): boolean {
    if (current?.at === at) return false
    stop()
    if (at === Number.POSITIVE_INFINITY) return false
    const reached = () => {
      current = undefined
      ring()
    }
    current = { at, stop: time.at(at, reached, failed) }
    return true
  }

  function stop(): void {
    current?.stop()
    current = undefined
  }
}

type Start = (ms: number, end: () => void, failed: (error: unknown) => void) => () => void

const startTimer: Start = (ms, end) => {
  const step = Math.min(ms, LONGEST_TIMER)
  let stop: () => void
  const timer = setTimeout(() => {
    if (ms > step) stop = startTimer(ms - step, end, end)
    else end()
  }, step)
  stop = () => clearTimeout(timer)
  return () => stop()
}

function sleeper(sleep: Sleep): Start {
  return (ms, end, failed) => {
    const stop = new AbortController()
    const { signal } = stop
    const wait = async () => {
      let left = ms
      for (; left > LONGEST_TIMER && !signal.aborted; left -= LONGEST_TIMER) {
        await sleep(LONGEST_TIMER, { signal })
      }
      if (!signal.aborted) await sleep(left, { signal })
    }
    wait().then(
      () => {
        if (!signal.aborted) end()
      },
      error => {
        if (!signal.aborted) failed(error)
      },
    )
    return () => stop.abort()
  }
}
