import { MINUTE } from '../../src/limits/windows-and-bans.js'
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

/** Time that never goes back: once waited for, an instant has passed, whatever the clock shows. */
export type Time = ReturnType<typeof createTime>

/** @param clock looked up at each call by default, because tests replace it */
export function createTime(clock: Clock = () => Date.now(), sleep?: Sleep) {
  let earliest = Number.NEGATIVE_INFINITY
  const now = () => (earliest = Math.max(earliest, clock()))
  const start = sleep ? sleeper(sleep) : startTimer

  return {
    now,
    at,
    /** Resolves at the instant, or rejects with the reason of the first signal that aborts. */
    async until(instant: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
      const given = signals.filter(signal => signal !== undefined)
      for (const signal of given) signal.throwIfAborted()
      await new Promise<void>((resolve, reject) => {
        const end = (settle: () => void) => {
          for (const stop of stops) stop()
          settle()
        }
        const stops = [
          at(instant, () => end(resolve)),
          ...given.map(signal => onAbort(signal, () => end(() => reject(signal.reason)))),
        ]
      })
    },
    /** Runs work within a time limit. Its signal aborts when it fails or is cut short. */
    within<T>(
      ms: number,
      signal: AbortSignal | undefined,
      work: (signal: AbortSignal) => Promise<T>,
      timedOut: () => Error,
    ): Promise<T> {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const working = new AbortController()
      return new Promise((resolve, reject) => {
        const stop = (reason: unknown) => {
          cleanUp()
          // Also ends work that ignores signals.
          reject(reason)
          working.abort(reason)
        }
        const stopTimer = at(now() + ms, () => stop(timedOut()))
        const stopListening = signal && onAbort(signal, () => stop(signal.reason))
        const cleanUp = () => {
          stopTimer()
          stopListening?.()
        }
        work(working.signal).then(value => {
          cleanUp()
          resolve(value)
        }, stop)
      })
    },
  }

  /** Calls back at the instant, unless cancelled by the returned function. */
  function at(instant: number, reached: () => void): () => void {
    let stop = wait()
    return () => stop()

    function wait(): () => void {
      const from = now()
      // Timers stand still while a laptop sleeps, and have no fractions of a millisecond.
      const ms = Math.min(Math.max(0, Math.ceil(instant - from)), MINUTE)
      return start(ms, () => {
        earliest = Math.max(earliest, Math.min(instant, from + ms))
        if (now() >= instant) reached()
        else stop = wait()
      })
    }
  }
}

type Start = (ms: number, end: () => void) => () => void

const startTimer: Start = (ms, end) => {
  const timer = setTimeout(end, ms)
  return () => clearTimeout(timer)
}

function sleeper(sleep: Sleep): Start {
  return (ms, end) => {
    const stop = new AbortController()
    const { signal } = stop
    const ended = () => signal.aborted || end()
    sleep(ms, { signal }).then(ended, ended)
    return () => stop.abort()
  }
}
