import type { ArmedFault, Fault } from '../../../adapters/test-double/index.js'

/** What is armed, and how often it did something. */
export interface Armed {
  readonly fault: Fault
  readonly from: number
  readonly until: number
  left: number | 'always'
  waiting: number
  fired: number
}

/** What a request meets: a delay, and something else after it. */
export interface Met {
  readonly delay: Armed | undefined
  readonly other: Armed | undefined
}

export type FaultModel = ReturnType<typeof createFaultModel>

/** Which requests meet which faults. Each fault has a mark of its own. */
export function createFaultModel(begin: readonly Armed[] = []) {
  const all = begin.map(one => ({ ...one }))
  const armed = () => all.filter(({ left }) => left !== 0)

  return {
    arm(fault: Fault, now: number): void {
      const { from, until, nth = 1, times = from || until ? 'always' : 1 } = fault
      const end = (after: unknown, none: number) =>
        after === undefined ? none : now + Number.parseInt(`${after}`, 10) * 1_000
      all.push({
        ...{ fault, left: times, waiting: nth - 1, fired: 0 },
        ...{ from: end(from, Number.NEGATIVE_INFINITY), until: end(until, Infinity) },
      })
    },
    /** @param operation undefined for a request that is for none */
    meet(operation: string | null | undefined, key: string | null, now: number): Met {
      const ready = armed().filter(one => {
        const { fault, from, until } = one
        const isFor = (fault.operation ?? operation) === operation && (fault.key ?? key) === key
        if (!operation || !isFor || now < from || now >= until) return false
        return one.waiting === 0 || one.waiting-- === 0
      })
      const delay = ready.find(({ fault }) => fault.kind === 'delay')
      const other = ready.find(({ fault }) => fault.kind !== 'delay')
      for (const one of [delay, other]) if (one && one.left !== 'always') one.left--
      return { delay, other }
    },
    clear(): void {
      for (const one of all) one.left = 0
    },
    copy: () => createFaultModel(armed()),
    /** As `faults.list()` shows them. */
    list: () => armed().map(one => `${markOf(one.fault)} ${one.left} ${one.waiting} ${one.fired}`),
    /** The marks of those for a key, or for all, that affected no response. */
    unused: (key: string | null) =>
      all
        .filter(({ fault, fired }) => fired === 0 && (fault.key ?? null) === key)
        .map(({ fault }) => markOf(fault)),
  }
}

export function shownFault({ left, waiting = 0, fired = 0, ...fault }: ArmedFault): string {
  return `${markOf(fault)} ${left} ${waiting} ${fired}`
}

/** A header that no request has, by which it is known again. */
export function markOf({ requestHeaders }: Pick<Fault, 'requestHeaders'>): string {
  return Object.keys(requestHeaders ?? {})[0] ?? ''
}
