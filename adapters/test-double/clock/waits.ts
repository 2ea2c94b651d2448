/** Something that waits for a time of the clock. */
export interface Wait {
  readonly until: number
  readonly end: () => void
  /** Whether it delays a request. */
  readonly isDelay: boolean
  /** @param hasRef whether the process stays alive for it */
  ref(hasRef: boolean): void
  cancel(): void
}

/** Waits in the order in which they end; those of the same time in the order in which they began. */
export interface Waits {
  add(wait: Pick<Wait, 'until' | 'end' | 'isDelay'>): Wait
  /** Ends delays, however much of their time is left. */
  endDelays(): void
  /** Removes and returns the next one, if it ends by then. */
  takeUntil(instant: number): Wait | undefined
  next(): number | undefined
  delays(): number
  /** @returns how many it has dropped */
  drop(): number
  /** Whether the process stays alive for one of them. */
  hasRef(): boolean
}

/** @param onChange called when one is cancelled, or `hasRef` may have changed */
export function createWaits(onChange: () => void): Waits {
  let waits: (Wait & { hasRef: boolean })[] = []
  return {
    add(given) {
      const one = {
        ...given,
        // A delayed call keeps the process alive by itself.
        hasRef: !given.isDelay,
        ref(hasRef: boolean) {
          one.hasRef = hasRef
          onChange()
        },
        cancel() {
          const at = waits.indexOf(one)
          if (at >= 0) waits.splice(at, 1)
          onChange()
        },
      }
      waits.splice(waits.findLastIndex(({ until }) => until <= one.until) + 1, 0, one)
      return one
    },
    endDelays() {
      for (const delay of waits.filter(({ isDelay }) => isDelay)) {
        delay.cancel()
        delay.end()
      }
    },
    takeUntil: instant => (waits[0] && waits[0].until <= instant ? waits.shift() : undefined),
    next: () => waits[0]?.until,
    delays: () => waits.filter(({ isDelay }) => isDelay).length,
    drop() {
      const dropped = waits.length
      waits = []
      return dropped
    },
    hasRef: () => waits.some(({ hasRef }) => hasRef),
  }
}
