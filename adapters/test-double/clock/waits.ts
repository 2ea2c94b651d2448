export interface Wait {
  readonly until: number
  readonly end: () => void
  readonly isDelay: boolean
  ref(hasRef: boolean): void
  cancel(): void
}

/** Waits by their ends; `onChange` is called when one is cancelled or `hasRef` may change. */
export function createWaits(onChange: () => void) {
  let waits: (Wait & { hasRef: boolean })[] = []
  return {
    add(given: Pick<Wait, 'until' | 'end' | 'isDelay'>): Wait {
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
    takeUntil: (instant: number): Wait | undefined =>
      waits[0] && waits[0].until <= instant ? waits.shift() : undefined,
    next: () => waits[0]?.until,
    delays: () => (waits.length === 0 ? 0 : waits.filter(({ isDelay }) => isDelay).length),
    drop() {
      waits = []
    },
    hasRef: () => waits.some(({ hasRef }) => hasRef),
  }
}
