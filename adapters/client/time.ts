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
  /** Calls back at the instant, unless the returned function is called before. */
  at(instant: number, reached: () => void): () => void
  /** Resolves at the instant, or rejects with the reason of the signal. */
  until(instant: number, signal?: AbortSignal): Promise<void>
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
export function createTime(clock: Clock = () => Date.now(), sleep: Sleep = startTimer): Time {
  let earliest = Number.NEGATIVE_INFINITY
  const now = () => (earliest = Math.max(earliest, clock()))

  return {
    now,
    at,
    async until(instant, signal) {
      signal?.throwIfAborted()
      let stop = () => {}
      const reached = new Promise<void>(resolve => {
        stop = at(instant, resolve)
      })
      await unlessAborted(reached, signal).finally(stop)
    },
    async within(ms, signal, work, timedOut) {
      signal?.throwIfAborted()
      const working = new AbortController()
      const stopTimer = at(now() + ms, () => working.abort(timedOut()))
      const stopListening = signal && onAbort(signal, () => working.abort(signal.reason))
      try {
        return await unlessAborted(work(working.signal), working.signal)
      } catch (error) {
        working.abort(error)
        throw error
      } finally {
        stopTimer()
        stopListening?.()
      }
    },
  }

  function at(instant: number, reached: () => void): () => void {
    const stopped = new AbortController()
    const { signal } = stopped
    const end = () => {
      if (signal.aborted) return
      earliest = Math.max(earliest, instant)
      reached()
    }
    // Timers have no fractions of a millisecond, and would end before the instant.
    const ms = Math.min(Math.max(0, Math.ceil(instant - now())), LONGEST_TIMER)
    sleep(ms, { signal }).then(end, end)
    return () => stopped.abort()
  }
}

const startTimer: Sleep = (ms, { signal }) =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => clearTimeout(timer))
  })

/** Also ends work that ignores signals. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    onAbort(signal, () => reject(signal.reason))
    work.then(resolve, reject)
  })
}
