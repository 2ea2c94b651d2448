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
}

/** @param sleep the timers of the platform if there is none */
export function createTime(clock: Clock, sleep: Sleep | undefined): Time {
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
          for (const signal of signals) cleanups.push(onAbort(signal, () => reject(signal?.reason)))
        })
      } finally {
        for (const cleanup of cleanups) cleanup()
      }
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
    sleep(ms, { signal }).then(
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
