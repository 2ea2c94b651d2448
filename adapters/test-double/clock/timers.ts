import { LONGEST_TIMER } from '../../../src/lib/check-options.js'
import type { Wait } from './waits.js'

/** Timers shaped like the global ones, for code that takes them as an option. */
export interface Timers {
  setTimeout<Arguments extends unknown[]>(
    callback: (...given: Arguments) => void,
    ms?: number,
    ...given: Arguments
  ): Timer
  setInterval: Timers['setTimeout']
  clearTimeout(timer: Timer | null | undefined): void
  clearInterval: Timers['clearTimeout']
}

/** The subset of Node's `Timeout` that makes sense here. */
export interface Timer {
  ref(): Timer
  unref(): Timer
  hasRef(): boolean
  refresh(): Timer
  close(): Timer
}

export function createTimers(
  wait: (ms: number, end: () => void) => Pick<Wait, 'cancel' | 'ref'>,
): Timers {
  return {
    setTimeout: (callback, ms, ...given) => start(() => callback(...given), ms, false),
    setInterval: (callback, ms, ...given) => start(() => callback(...given), ms, true),
    clearTimeout: timer => void timer?.close(),
    clearInterval: timer => void timer?.close(),
  }

  function start(call: () => void, given: number | undefined, repeats: boolean): Timer {
    // Like Node, also for a missing or too long time.
    const wanted = Number(given)
    const ms = wanted >= 1 && wanted <= LONGEST_TIMER ? wanted : 1
    let one = wait(ms, end)
    let hasRef = true
    const timer: Timer = {
      ref: () => setRef(true),
      unref: () => setRef(false),
      hasRef: () => hasRef,
      refresh() {
        one.cancel()
        one = wait(ms, end)
        return setRef(hasRef)
      },
      close() {
        one.cancel()
        return timer
      },
    }
    return timer

    function setRef(on: boolean): Timer {
      hasRef = on
      one.ref(on)
      return timer
    }

    function end(): void {
      if (repeats) timer.refresh()
      call()
    }
  }
}
