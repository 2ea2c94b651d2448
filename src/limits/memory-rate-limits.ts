import type { RateLimitStore } from '../ports.js'
import type { Limits } from './plans.js'
import { CLOCK_SKEW, DAY, type Decision, decide, type Usage } from './windows-and-bans.js'

/** Addresses counted separately, so that strangers cannot fill memory. Others share one budget. */
const ADDRESSES = 10_000
const ADDRESS = 'addr:'
const SHARED_ADDRESS = 'addr:overflow'

const ours = new WeakSet<RateLimitStore['consume']>()

/** True for a store of this process, which answers synchronously and never fails. */
export function countsHere({ consume }: RateLimitStore): boolean {
  return ours.has(consume)
}

/** Start of the UTC day, before which entries are dropped. */
export function startOfDay(now: number): number {
  // The skew is subtracted, so that a clock that steps back over midnight still finds its counts.
  return Math.floor((now - CLOCK_SKEW) / DAY) * DAY
}

/** True if usage does not affect the day that begins at `start`. */
export function isPast({ lastSeenAt, bannedUntil }: Usage, start: number): boolean {
  // A ban is remembered for a day after its end, longer than the counts.
  return Math.max(lastSeenAt, bannedUntil + DAY) < start
}

/**
 * Counts usage in this process. The first request of a UTC day drops earlier days, except bans.
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryRateLimitStore, memoryStorage } from 'animal-adoption-store/memory'
 *
 * const rateLimitStore = memoryRateLimitStore()
 * const store = createStore({ storage: memoryStorage(), rateLimitStore, apiKeys: {} })
 * await rateLimitStore.reset('web')
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
    const isNewAddress = known === undefined && partition.startsWith(ADDRESS)
    const name = isNewAddress && addresses >= ADDRESSES ? SHARED_ADDRESS : partition
    const { decision, usage } = decide(known ?? table.get(name), limits, now)
    if (isNewAddress && name === partition) addresses++
    table.set(name, usage)
    return decision
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
