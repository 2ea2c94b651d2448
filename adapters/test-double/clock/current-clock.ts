import type { Duration, Instant } from '../../../src/lib/time.js'
import type { ResumeOptions, StateClock } from './clock.js'
import { createTimers, type Timers } from './timers.js'

/** A clock that a test controls. Frozen it reads no other clock; running it follows real time. */
export interface VirtualClock
  extends Pick<StateClock, 'now' | 'set' | 'advance' | 'freeze' | 'resume' | 'auto' | 'sleep'> {
  readonly frozen: boolean
  /** How much faster than real time it runs. */
  readonly scale: number
  /** `setTimeout`, `setInterval` and their counterparts on this clock. A reset clears them. */
  readonly timers: Timers
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
