import type { RateLimitStore } from '../ports.js'
import type { Limits } from './plans.js'
import { CLOCK_SKEW, DAY, type Decision, decide, type Usage } from './windows-and-bans.js'

/** Addresses counted separately. All others share a budget, so strangers cannot fill memory. */
const ADDRESSES = 10_000
const ADDRESS = 'addr:'
const SHARED_ADDRESS = 'addr:overflow'

/** `consume` of every table below. */
const ours = new WeakSet<RateLimitStore['consume']>()

/** Whether a store counts in this process: then it answers synchronously and never fails. */
export function countsHere({ consume }: RateLimitStore): boolean {
  return ours.has(consume)
}

/** When the UTC day of an instant begins, for entries to be dropped. */
export function startOfDay(now: number): number {
  // Delayed by the skew: a clock that steps back over midnight still finds its counts.
  return Math.floor((now - CLOCK_SKEW) / DAY) * DAY
}

/** Whether usage says nothing about the day that begins then. */
export function isPast({ lastSeen, bannedUntil }: Usage, start: number): boolean {
  // A ban is remembered for a day after its end, so its entry outlives the counts.
  return Math.max(lastSeen, bannedUntil + DAY) < start
}

/**
 * Counts usage in this process, for as long as it lives. There is no timer: entries of a past UTC
 * day are dropped by the first request of the next one, unless they remember a ban.
 */
export function memoryRateLimitStore(): RateLimitStore {
  const table = new Map<string, Usage>()
  let addresses = 0
  let today = Number.NEGATIVE_INFINITY

  ours.add(consume)
  return {
    consume,
    inspect: partition => table.get(partition),
    reset(partition) {
      if (partition === undefined) table.clear()
      else table.delete(partition)
      countAddresses()
    },
    dump: () => [...table],
    restore(snapshot) {
      table.clear()
      for (const [partition, usage] of snapshot) table.set(partition, usage)
      countAddresses()
    },
  }

  function consume(partition: string, limits: Limits, now: number): Decision {
    const start = startOfDay(now)
    if (start > today || start < today - DAY) startDay(start)
    const known = table.get(partition)
    const name = known === undefined ? partitionFor(partition) : partition
    const { decision, usage } = decide(known ?? table.get(name), limits, now)
    if (known === undefined && name === partition && partition.startsWith(ADDRESS)) addresses++
    table.set(name, usage)
    return decision
  }

  function partitionFor(partition: string): string {
    return addresses >= ADDRESSES && partition.startsWith(ADDRESS) ? SHARED_ADDRESS : partition
  }

  function startDay(start: number): void {
    today = start
    for (const [partition, usage] of table) {
      if (isPast(usage, start)) table.delete(partition)
    }
    countAddresses()
  }

  function countAddresses(): void {
    addresses = 0
    for (const partition of table.keys()) if (partition.startsWith(ADDRESS)) addresses++
  }
}
