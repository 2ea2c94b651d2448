/** Timers shaped like the global ones, for code that takes them as an option. */
export interface Timers {
  setTimeout<Arguments extends unknown[]>(
    callback: (...given: Arguments) => void,
    ms?: number,
    ...given: Arguments
  ): Timer
  clearTimeout(timer: Timer | null | undefined): void
  setInterval<Arguments extends unknown[]>(
    callback: (...given: Arguments) => void,
    ms?: number,
    ...given: Arguments
  ): Timer
  clearInterval(timer: Timer | null | undefined): void
}

/** As much of Node's `Timeout` as has a meaning here. */
export interface Timer {
  ref(): Timer
  unref(): Timer
  hasRef(): boolean
  /** Starts again from now. */
  refresh(): Timer
  close(): Timer
}

/** Calls back at its time, unless it is cancelled before. */
interface Wait {
  cancel(): void
  /** Whether the process stays alive for it. */
  ref(hasRef: boolean): void
}

export function createTimers(wait: (ms: number, end: () => void) => Wait): Timers {
  return {
    setTimeout: (callback, ms, ...given) => start(() => callback(...given), ms, false),
    setInterval: (callback, ms, ...given) => start(() => callback(...given), ms, true),
    clearTimeout: timer => void timer?.close(),
    clearInterval: timer => void timer?.close(),
  }

  function start(call: () => void, given: number | undefined, repeats: boolean): Timer {
    // As the platforms do it.
    const ms = Math.max(1, given || 0)
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
