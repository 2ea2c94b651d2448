import { LONGEST_TIMER } from '../../../src/lib/options.js'
import type { Duration, Instant } from '../../../src/lib/time.js'
import type { ResumeOptions, StateClock } from './clock.js'

/** A clock that a test controls. Frozen it reads no other clock; running it follows real time. */
export interface VirtualClock
  extends Pick<StateClock, 'now' | 'set' | 'advance' | 'freeze' | 'resume' | 'auto' | 'sleep'> {
  readonly frozen: boolean
  /** How much faster than real time it runs. */
  readonly scale: number
  /** `setTimeout`, `setInterval` and their counterparts on this clock. A reset clears them. */
  readonly timers: Timers
}

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

/**
 * The clock that tests see: it always forwards to the current one. A class, because accessors of an
 * object literal keep what they refer to, up to a whole double, in memory until the next full
 * garbage collection.
 */
export class CurrentClock implements VirtualClock {
  readonly #current: () => StateClock
  readonly #onChange: () => void

  /** @param onChange called when something but time has changed it */
  constructor(current: () => StateClock, onChange: () => void) {
    this.#current = current
    this.#onChange = onChange
  }

  #change(change: (clock: StateClock) => void): void {
    change(this.#current())
    this.#onChange()
  }

  get frozen(): boolean {
    return this.#current().frozen()
  }

  get scale(): number {
    return this.#current().scale()
  }

  get auto(): boolean {
    return this.#current().auto
  }

  set auto(on) {
    this.#change(clock => {
      clock.auto = on
    })
  }

  // Not on the prototype, so that tests can pass them around.
  readonly now = () => this.#current().now()
  readonly set = (instant: Instant) => this.#change(clock => clock.set(instant))
  readonly advance = (duration: Duration) => this.#change(clock => clock.advance(duration))
  readonly freeze = () => this.#change(clock => clock.freeze())
  readonly resume = (options?: ResumeOptions) => this.#change(clock => clock.resume(options))
  readonly sleep: VirtualClock['sleep'] = (ms, options) => this.#current().sleep(ms, options)
  readonly timers: Timers = createTimers((ms, end) => this.#current().wait(ms, end))
}

function createTimers(wait: StateClock['wait']): Timers {
  return {
    setTimeout: (callback, ms, ...given) => start(() => callback(...given), ms, false),
    setInterval: (callback, ms, ...given) => start(() => callback(...given), ms, true),
    clearTimeout: timer => void timer?.close(),
    clearInterval: timer => void timer?.close(),
  }

  function start(call: () => void, given: number | undefined, repeats: boolean): Timer {
    // As Node does it, also with a time that is missing or too long.
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
