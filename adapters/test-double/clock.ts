import { type Duration, durationOf, type Instant, instantOf } from './time.js'

/**
 * A clock that a test commands. Frozen it reads no other clock; running it goes on in real time.
 */
export interface VirtualClock {
  /** Ms since the Unix epoch. */
  now(): number
  /** Sets it, also back. @throws OptionError */
  set(instant: Instant): void
  /**
   * `advance('61s')`, `advance(61_000)`; ends the delays that are over by then. @throws OptionError
   */
  advance(duration: Duration): void
  freeze(): void
  /** Runs in real time from where it stands. */
  resume(): void
  readonly frozen: boolean
}

/** What a clock is made from, as plain data; running without `now` it follows the real time. */
export interface ClockState {
  readonly frozen: boolean
  readonly now?: number | undefined
}

export interface WaitingClock extends VirtualClock {
  /** Resolves when `ms` have passed on this clock, at the latest when the waiting are released. */
  wait(ms: number): Promise<void>
  /** Ends every wait now. */
  release(): void
  /** How far it is from the real time; undefined when it is frozen. */
  readonly offset: number | undefined
}

/** The longest that a timer of Node can be. */
const LONGEST_TIMER = 2 ** 31 - 1

export function createClock(state: ClockState): WaitingClock {
  const waiting = new Set<{ readonly until: number; readonly end: () => void }>()
  let frozenAt = state.frozen ? (state.now ?? 0) : undefined
  let offset = state.frozen || state.now === undefined ? 0 : state.now - Date.now()
  let timer: NodeJS.Timeout | undefined

  const clock: WaitingClock = {
    now: () => frozenAt ?? Date.now() + offset,
    set(instant) {
      shift(instantOf(instant) - clock.now())
    },
    advance(duration) {
      shift(durationOf(duration))
    },
    freeze() {
      frozenAt ??= clock.now()
      clearTimeout(timer)
    },
    resume() {
      if (frozenAt === undefined) return
      offset = frozenAt - Date.now()
      frozenAt = undefined
      endWaits()
    },
    get frozen() {
      return frozenAt !== undefined
    },
    get offset() {
      return frozenAt === undefined ? offset : undefined
    },
    wait(ms) {
      return new Promise(resolve => {
        waiting.add({ until: clock.now() + ms, end: resolve })
        endWaits()
      })
    },
    release() {
      clearTimeout(timer)
      for (const { end } of waiting) end()
      waiting.clear()
    },
  }
  return clock

  function shift(ms: number): void {
    instantOf(clock.now() + ms)
    if (frozenAt === undefined) offset += ms
    else frozenAt += ms
    endWaits()
  }

  /** Ends the waits that are over; on a running clock, calls itself again for the next one. */
  function endWaits(): void {
    clearTimeout(timer)
    const now = clock.now()
    for (const wait of [...waiting].sort((a, b) => a.until - b.until)) {
      if (wait.until > now) {
        if (frozenAt === undefined) timer = startTimer(wait.until - now)
        return
      }
      waiting.delete(wait)
      wait.end()
    }
  }

  /** No wait keeps a process alive. */
  function startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(endWaits, Math.min(Math.ceil(ms), LONGEST_TIMER)).unref()
  }
}
