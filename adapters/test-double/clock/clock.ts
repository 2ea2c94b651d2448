import {
  check,
  isObject,
  LONGEST_TIMER,
  type OptionsOf,
  rule,
  settingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import {
  type Duration,
  durationOf,
  type Instant,
  instantOf,
  LATEST,
} from '../../../src/lib/time.js'
import type { Clock } from '../../../src/ports.js'
import { createTimers, type Timers } from './timers.js'
import { createWaits, type Wait } from './waits.js'

export const isScale = rule<number>(
  'a number above 0, up to 1,000,000',
  value => typeof value === 'number' && value > 0 && value <= 1_000_000,
)

export const RESUME_OPTIONS = {
  /** Speed relative to real time. @default 1 */
  scale: withDefault(isScale, 1),
}
/**
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const { clock } = createTestDouble()
 * clock.resume({ scale: 1_000 })
 */
export interface ResumeOptions extends OptionsOf<typeof RESUME_OPTIONS> {}

/** A clock as plain data. Without `now`, a running clock shows real time. */
export interface ClockState {
  readonly frozen: boolean
  readonly now?: number | undefined
  readonly scale?: number | undefined
  readonly auto?: boolean | undefined
}

/** A function that returns ms since the Unix epoch, frozen or running along real time. */
export type VirtualClock = Clock &
  Pick<
    ControlledClock,
    'frozen' | 'scale' | 'auto' | 'set' | 'advance' | 'freeze' | 'resume' | 'sleep' | 'timers'
  >

export interface ClockListener {
  onWait?(): void
  onChange?(): void
}

/** A base class whose instances are functions: `clock()` returns what its `read` returns. */
const CallableClock = class {
  constructor() {
    const clock: ControlledClock = Object.setPrototypeOf(() => clock.read(), new.target.prototype)
    // biome-ignore lint/correctness/noConstructorReturn: the fields of the derived class become those of the function.
    return clock
  }
} as unknown as abstract new () => Clock

/**
 * The clock of a double. A class, because accessors of an object literal keep whatever they refer
 * to, up to a whole double, in memory until the next full garbage collection.
 */
export class ControlledClock extends CallableClock {
  readonly #waits = createWaits(() => this.#timer.ref(this.#waits.hasRef()))
  readonly #timer = createProcessTimer(() => this.#endWaits())
  readonly #listener: ClockListener
  readonly source: Clock
  #frozenAt: number | undefined
  #from = { own: 0, real: 0 }
  #scale = 1
  #auto = false
  #instant: number | undefined
  #restores = 0

  constructor(state: ClockState, listener: ClockListener = {}, source: Clock = Date.now) {
    super()
    this.#listener = listener
    this.source = source
    this.#begin(state)
  }

  get frozen(): boolean {
    return this.#frozenAt !== undefined
  }

  /** Speed relative to real time. */
  get scale(): number {
    return this.#scale
  }

  /** Jumps ahead to the end of a delay fault, and to the time that a Retry-After names. @default false */
  get auto(): boolean {
    return this.#auto
  }

  set auto(on: boolean) {
    this.#auto = on
    this.#listener.onChange?.()
  }

  // Own properties, so that tests can pass them around.

  /** Sets the time, also back. @throws OptionError */
  readonly set = (instant: Instant): void => {
    this.#move(instantOf('set', instant))
    this.#listener.onChange?.()
  }

  /** Advances by a duration such as '61s'. Delays, sleeps and timers end in their order. @throws OptionError */
  readonly advance = (duration: Duration): void => {
    this.#move(instantOf('now', this.read() + durationOf('advance', duration)))
    this.#listener.onChange?.()
  }

  readonly freeze = (): void => {
    this.#freeze()
    this.#listener.onChange?.()
  }

  /** Lets a frozen clock run. @throws OptionError */
  readonly resume = (options?: ResumeOptions): void => {
    const { scale } = settingsOf(RESUME_OPTIONS, options)
    const own = this.read()
    this.#scale = scale
    this.#frozenAt = undefined
    this.#runFrom(own)
    this.#listener.onChange?.()
  }

  /** Like `setTimeout` of `node:timers/promises`. A reset drops the wait. @throws the signal's reason */
  readonly sleep = (
    ms: number,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      check('ms', ms, isWait)
      check('options', options, isObject)
      const { signal } = options
      signal?.throwIfAborted()
      const abort = () => {
        cancel()
        reject(signal?.reason)
      }
      // Registered first, because a wait of 0 ms ends at once.
      signal?.addEventListener('abort', abort, { once: true })
      const { cancel } = this.#wait(ms, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
    })

  /** `setTimeout`, `setInterval` and their counterparts on this clock. A reset clears them. */
  readonly timers: Timers = createTimers((ms, end) => this.#wait(ms, end))

  /** Ms since the Unix epoch. */
  read(): number {
    const { own, real } = this.#from
    return this.#frozenAt ?? Math.floor(own + (this.source() - real) * this.#scale)
  }

  /** Stays the same until the next microtask, so that all changes of a request have one instant. */
  instant(): number {
    if (this.#frozenAt !== undefined) return this.#frozenAt
    if (this.#instant === undefined) {
      this.#instant = this.read()
      queueMicrotask(() => {
        this.#instant = undefined
      })
    }
    return this.#instant
  }

  delay(ms: number): Promise<void> {
    return new Promise(resolve => {
      // Every delay has to end, and the clock cannot be set beyond its last instant.
      const { until } = this.#wait(Math.min(ms, LATEST - this.read()), resolve, true)
      if (this.#auto) this.reach(until)
    })
  }

  endDelays(): void {
    this.#waits.endDelays()
  }

  delays(): number {
    return this.#waits.delays()
  }

  next(): number | undefined {
    return this.#waits.next()
  }

  /** Ms of its source until its next wait ends; Infinity for none, and while it is frozen. */
  untilNext(): number {
    const next = this.frozen ? undefined : this.next()
    return next === undefined ? Number.POSITIVE_INFINITY : (next - this.read()) / this.#scale
  }

  /** Ends the waits that are over since its source has jumped. */
  catchUp(): void {
    if (!this.frozen) this.#endWaits()
  }

  reach(instant: number): void {
    if (instant > this.read()) this.#move(instantOf('now', instant))
  }

  stand(instant: number): void {
    this.#freeze()
    this.#move(instant)
  }

  restore(state: ClockState): void {
    this.#waits.endDelays()
    this.#timer.stop()
    this.#waits.drop()
    this.#restores++
    this.#begin(state)
  }

  dump(): ClockState & { readonly now: number } {
    return { now: this.read(), ...this.#settings() }
  }

  /** Changes whenever anything but time changes the clock. */
  revision(): unknown {
    const { own, real } = this.#from
    const place = this.frozen ? { now: this.#frozenAt } : { offset: own - real * this.#scale }
    return { ...this.#settings(), ...place }
  }

  #settings() {
    return {
      frozen: this.frozen,
      ...(this.#scale !== 1 && { scale: this.#scale }),
      ...(this.#auto && { auto: true }),
    }
  }

  #begin({ frozen, now, scale = 1, auto = false }: ClockState): void {
    this.#frozenAt = frozen ? (now ?? 0) : undefined
    this.#from = { own: now ?? this.source(), real: this.source() }
    this.#scale = scale
    this.#auto = auto
    this.#instant = undefined
  }

  #freeze(): void {
    this.#frozenAt ??= this.read()
    this.#timer.stop()
  }

  #wait(ms: number, end: () => void, isDelay = false): Wait {
    const wait = this.#waits.add({ until: this.read() + ms, end, isDelay })
    this.#listener.onWait?.()
    if (this.#frozenAt === undefined) this.#endWaits()
    else if (ms <= 0) this.#endUntil(this.#frozenAt)
    return wait
  }

  #move(instant: number): void {
    this.#instant = undefined
    if (this.#frozenAt === undefined) this.#runFrom(instant)
    else this.#endUntil(instant)
  }

  #runFrom(own: number): void {
    this.#from = { own, real: this.source() }
    this.#endWaits()
  }

  /** Ends every wait at its own time. A wait may begin others, or move or restore the clock. */
  #endUntil(instant: number): void {
    const before = this.#restores
    for (let wait = this.#waits.takeUntil(instant); wait; wait = this.#waits.takeUntil(instant)) {
      const reached = Math.max(this.#frozenAt ?? 0, wait.until)
      this.#frozenAt = reached
      wait.end()
      if (this.#restores > before) return
      if (this.#frozenAt === undefined) return void this.reach(instant)
      if (this.#frozenAt < reached || this.#frozenAt > instant) return
    }
    this.#frozenAt = instant
  }

  #endWaits(): void {
    try {
      let due = this.#waits.takeUntil(this.read())
      for (; due; due = this.#waits.takeUntil(this.read())) due.end()
    } finally {
      this.#startTimer()
    }
  }

  #startTimer(): void {
    this.#timer.stop()
    const next = this.#waits.next()
    if (next === undefined || this.frozen) return
    this.#timer.start(Math.ceil((next - this.read()) / this.#scale))
    this.#timer.ref(this.#waits.hasRef())
  }
}

function createProcessTimer(onEnd: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    start(ms: number) {
      timer = setTimeout(onEnd, Math.min(ms, LONGEST_TIMER))
    },
    stop: () => clearTimeout(timer),
    /** @param hasRef keeps the process alive; browsers ignore it */
    ref(hasRef: boolean) {
      const { ref, unref }: Partial<NodeJS.Timeout> = timer ?? {}
      const apply = hasRef ? ref : unref
      apply?.call(timer)
    },
  }
}

const isWait = rule('a number of ms', ms => typeof ms === 'number' && ms < Infinity)
