import {
  check,
  isObject,
  LONGEST_TIMER,
  type OptionsOf,
  type Rule,
  rule,
  settingsOf,
  withDefault,
} from '../../../src/lib/options.js'
import {
  type Duration,
  durationOf,
  type Instant,
  instantOf,
  LATEST,
} from '../../../src/lib/time.js'
import { createWaits, type Wait } from './waits.js'

/** A clock as the state of a double has it. */
export interface StateClock {
  /** Ms since the Unix epoch. */
  now(): number
  /** Does some work at one instant, however long it takes. */
  hold<T>(work: () => T): T
  /**
   * Sets it, also back.
   *
   * @throws OptionError
   */
  set(instant: Instant): void
  /**
   * `advance('61s')`, `advance(61_000)`. Delays, sleeps and timers that are over by then end in the
   * order of their time.
   *
   * @throws OptionError
   */
  advance(duration: Duration): void
  freeze(): void
  /**
   * Runs on from where it stands.
   *
   * @throws OptionError
   */
  resume(options?: ResumeOptions): void
  frozen(): boolean
  scale(): number
  /**
   * Whether it jumps ahead by itself: to the end of a delay fault, and to the time that a
   * Retry-After names.
   *
   * @default false
   */
  auto: boolean
  /**
   * Resolves once `ms` have passed on this clock, like `setTimeout` of `node:timers/promises`. A
   * reset drops it.
   *
   * @throws the signal's reason
   */
  sleep(ms: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /** Begins a wait, for a sleep or a timer. */
  wait(ms: number, end: () => void): Pick<Wait, 'cancel' | 'ref'>
  /** Waits for `ms`, or until the delays are ended; `hasRef` keeps the process alive meanwhile. */
  delay(ms: number, hasRef?: boolean): Promise<void>
  endDelays(): void
  /** Ends the delays and forgets sleeps and timers. @returns how many it forgot */
  drop(): number
  /** Goes to an instant, unless it is past it already. */
  reach(instant: number): void
  /** When the next wait ends; undefined when nothing waits. */
  next(): number | undefined
  /** How many delays are going on. */
  delays(): number
  dump(): ClockState & { readonly now: number }
  /** Equal until something other than time changes the clock. */
  revision(): unknown
}

export const isScale = rule<number>(
  'a number above 0, up to 1,000,000',
  value => typeof value === 'number' && value > 0 && value <= 1_000_000,
)

const RESUME_OPTIONS = {
  /**
   * How many ms pass in one ms of real time.
   *
   * @default 1
   */
  scale: withDefault(isScale, 1),
}
export interface ResumeOptions extends OptionsOf<typeof RESUME_OPTIONS> {}

/** A clock as plain data. Without `now`, a running one shows the real time. */
export interface ClockState {
  readonly frozen: boolean
  readonly now?: number | undefined
  readonly scale?: number | undefined
  readonly auto?: boolean | undefined
}

/** @param onWait called when a delay, a sleep or a timer begins */
export function createClock(state: ClockState, onWait = () => {}): StateClock {
  const waits = createWaits(() => timer.ref(waits.hasRef()))
  const timer = createProcessTimer(endWaits)
  let frozenAt = state.frozen ? (state.now ?? 0) : undefined
  /** Where it ran on from: in its own time, and in real time. */
  let from = { own: state.now ?? Date.now(), real: Date.now() }
  let scale = state.scale ?? 1
  let held: number | undefined

  const clock: StateClock = {
    auto: state.auto ?? false,
    hold(work) {
      if (frozenAt !== undefined || held !== undefined) return work()
      held = clock.now()
      try {
        return work()
      } finally {
        held = undefined
      }
    },
    now: () => frozenAt ?? held ?? Math.floor(from.own + (Date.now() - from.real) * scale),
    set: instant => move(instantOf('set', instant)),
    advance: duration => move(instantOf('now', clock.now() + durationOf('advance', duration))),
    reach(instant) {
      if (instant > clock.now()) move(instantOf('now', instant))
    },
    freeze() {
      frozenAt ??= clock.now()
      timer.stop()
    },
    resume(options) {
      const faster = settingsOf(RESUME_OPTIONS, options).scale
      const own = clock.now()
      scale = faster
      frozenAt = undefined
      runFrom(own)
    },
    frozen: () => frozenAt !== undefined,
    scale: () => scale,
    sleep: (ms, options) => sleep(wait, ms, options),
    wait,
    delay: (ms, hasRef = false) => delay(clock, wait, ms, hasRef),
    endDelays: waits.endDelays,
    drop() {
      waits.endDelays()
      timer.stop()
      return waits.drop()
    },
    next: waits.next,
    delays: waits.delays,
    dump: () => ({ now: clock.now(), ...settingsOfClock(clock) }),
    revision: () => ({
      ...settingsOfClock(clock),
      ...(frozenAt === undefined ? { offset: from.own - from.real * scale } : { now: frozenAt }),
    }),
  }
  return clock

  function wait(ms: number, end: () => void, isDelay = false): Wait {
    const one = waits.add({ until: clock.now() + ms, end, isDelay })
    onWait()
    if (frozenAt === undefined) endWaits()
    else if (ms <= 0) endUntil(frozenAt)
    return one
  }

  function move(instant: number): void {
    held = undefined
    if (frozenAt === undefined) runFrom(instant)
    else endUntil(instant)
  }

  function runFrom(own: number): void {
    from = { own, real: Date.now() }
    endWaits()
  }

  /** Every wait ends at its own time. It may begin others, or move or resume the clock for good. */
  function endUntil(instant: number): void {
    for (let wait = waits.takeUntil(instant); wait; wait = waits.takeUntil(instant)) {
      const { until, end } = wait
      const reached = Math.max(frozenAt ?? 0, until)
      frozenAt = reached
      end()
      if (frozenAt === undefined) return void clock.reach(instant)
      if (frozenAt < reached || frozenAt > instant) return
    }
    frozenAt = instant
  }

  function endWaits(): void {
    try {
      for (let due = waits.takeUntil(clock.now()); due; due = waits.takeUntil(clock.now()))
        due.end()
    } finally {
      // Also when one of them has thrown.
      startTimer()
    }
  }

  function startTimer(): void {
    timer.stop()
    const next = waits.next()
    if (next === undefined || frozenAt !== undefined) return
    timer.start(Math.ceil((next - clock.now()) / scale))
    timer.ref(waits.hasRef())
  }
}

/** The timer of the process that ends waits while a clock runs. */
function createProcessTimer(onEnd: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    start(ms: number) {
      timer = setTimeout(onEnd, Math.min(ms, LONGEST_TIMER))
    },
    stop: () => clearTimeout(timer),
    /** @param hasRef whether the process stays alive for it; browsers have no such thing */
    ref(hasRef: boolean) {
      const { ref, unref }: Partial<NodeJS.Timeout> = timer ?? {}
      const apply = hasRef ? ref : unref
      apply?.call(timer)
    },
  }
}

function settingsOfClock({ frozen, scale, auto }: StateClock) {
  return {
    frozen: frozen(),
    ...(scale() !== 1 && { scale: scale() }),
    ...(auto && { auto: true }),
  }
}

function delay(
  clock: StateClock,
  wait: (ms: number, end: () => void, isDelay: boolean) => Wait,
  ms: number,
  hasRef: boolean,
): Promise<void> {
  return new Promise(resolve => {
    // The clock cannot be set beyond its last instant, and every delay has to end.
    const { until, ref } = wait(Math.min(ms, LATEST - clock.now()), resolve, true)
    ref(hasRef)
    if (clock.auto) clock.reach(until)
  })
}

function sleep(
  wait: StateClock['wait'],
  ms: number,
  options: Parameters<StateClock['sleep']>[1] = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    check('ms', ms, isWait)
    check('options', options, isObject)
    const { signal } = options
    signal?.throwIfAborted()
    const abort = () => {
      cancel()
      reject(signal?.reason)
    }
    // Before the wait, which ends at once if it is over already.
    signal?.addEventListener('abort', abort, { once: true })
    const { cancel } = wait(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
  })
}

const isWait: Rule = {
  expected: 'a number of ms',
  accepts: value => typeof value === 'number' && value < Number.POSITIVE_INFINITY,
}
