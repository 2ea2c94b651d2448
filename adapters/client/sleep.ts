import type { Clock } from '../../src/ports.js'
import { onAbort } from './abort.js'

/**
 * Waits `ms` milliseconds, a whole number, then resolves to anything. When `signal` aborts, it
 * resolves or rejects at once; one that ignores the signal works too, but its timers run to their
 * end. So both of these work:
 *
 *     import { setTimeout } from 'node:timers/promises'
 *     createClient({ …, sleep: setTimeout })
 *     createClient({ …, sleep: (ms, options) => setTimeout(ms, undefined, options) })
 */
export type Sleep = (ms: number, options: { readonly signal?: AbortSignal }) => Promise<unknown>

/** `setTimeout` as a promise, in every runtime. */
export const platformSleep: Sleep = (ms, { signal }) =>
  new Promise<void>(resolve => {
    let timer: ReturnType<typeof setTimeout>
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const start = (left: number) => {
      const step = Math.min(left, LONGEST_TIMER)
      timer = setTimeout(() => (left > step ? start(left - step) : end()), step)
    }
    start(ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })

/** Anything longer ends at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Time that never goes back: an instant that was waited for has come, whatever the clock shows. */
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

export function createTime({ clock, sleep }: { clock: Clock; sleep: Sleep }): Time {
  let earliest = Number.NEGATIVE_INFINITY
  const now = () => (earliest = Math.max(earliest, clock()))

  return { now, at, until }

  function at(instant: number, reached: () => void, failed: (error: unknown) => void): () => void {
    const stop = new AbortController()
    const { signal } = stop
    // Timers have no fractions of a millisecond, and would end before the instant.
    sleep(Math.ceil(instant - now()), { signal }).then(
      () => {
        if (signal.aborted) return
        earliest = Math.max(earliest, instant)
        reached()
      },
      error => {
        if (!signal.aborted) failed(error)
      },
    )
    return () => stop.abort()
  }

  async function until(
    instant: number,
    ...signals: readonly (AbortSignal | undefined)[]
  ): Promise<void> {
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
  }
}
