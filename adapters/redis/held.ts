import { banAfter, type Decision, decide, type Usage } from '../../src/limits/decide.js'
import type { Policy } from '../../src/limits/plans.js'

/** The state of a partition on the server, as a reply tells it. */
export interface ServerState {
  /** After the reply. */
  readonly usage: Usage
  /** How many units it took. */
  readonly granted: number
  /** The clock that decided, in ms since the epoch. */
  readonly now: number
}

/** When a command was sent and its reply received, by this process's monotonic clock in ms. */
export interface RoundTrip {
  readonly sent: number
  readonly received: number
}

interface Held {
  /** As the server would have it, had it decided each request of this process so far. */
  usage: Usage
  /** Leased units left. */
  left: number
  readonly policy: Policy
  /** What the server's clock is ahead of the monotonic one. */
  readonly ahead: number
  checkedAt: number
}

/** How often the server is asked whether a ban still stands, in ms: another process may lift it. */
const BAN_CHECK = 5_000
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/**
 * What this process decides without the server: requests during a ban, which change nothing there,
 * and requests for units that it has leased. Both by `decide`, on the state that the server told.
 *
 * @param inspect reads the current state on the server
 */
export function createHeld(
  clock: 'server' | 'store',
  inspect: (partition: string) => Promise<Usage | undefined>,
) {
  const table = new Map<string, Held>()

  return {
    /** Undefined where the server has to decide. */
    decide(partition: string, policy: Policy, now: number): Decision | undefined {
      const held = table.get(partition)
      if (!held) return undefined
      const at = timeOf(held, now)
      const { decision, usage } = decide(held.usage, policy, at)
      if (decision.code === 'api_key_banned' && decision.bannedUntil === undefined) {
        checkBan(partition, held)
        return decision
      }
      const isLeased = held.left > 0 && isEqual(held.policy, policy) && decision.code === undefined
      if (!isLeased || !isSame(MINUTE, held.usage.lastSeen, at)) return undefined
      held.usage = usage
      held.left--
      return decision
    },

    /** Takes over what a reply leaves to this process. */
    settle(
      partition: string,
      policy: Policy,
      state: ServerState | undefined,
      trip: RoundTrip,
    ): void {
      if (!state) {
        // The ban is over; what is left of a lease is not.
        if (table.get(partition)?.left === 0) table.delete(partition)
        return
      }
      const { usage, granted, now } = state
      const left = Math.max(0, granted - 1)
      const { minuteCount, dayCount } = usage
      table.set(partition, {
        usage: { ...usage, minuteCount: minuteCount - left, dayCount: dayCount - left },
        left,
        policy,
        // Never behind the server for a lease, which ends with the minute, and never ahead for a ban.
        ahead: now - (granted > 0 ? trip.sent : trip.received),
        checkedAt: trip.received,
      })
    },

    /** Drops what is held, and returns the units that the day may have back. */
    giveBack(partition: string, now: number): number {
      const held = table.get(partition)
      table.delete(partition)
      return held && isSame(DAY, held.usage.lastSeen, timeOf(held, now)) ? held.left : 0
    },

    forget(partition?: string): void {
      if (partition === undefined) table.clear()
      else table.delete(partition)
    },
  }

  function timeOf({ ahead }: Held, now: number): number {
    return clock === 'store' ? now : performance.now() + ahead
  }

  /** Without waiting, so that an outage does not lift a ban. */
  function checkBan(partition: string, held: Held): void {
    if (performance.now() - held.checkedAt < BAN_CHECK) return
    held.checkedAt = performance.now()
    inspect(partition).then(usage => {
      const isCurrent = table.get(partition) === held
      if (isCurrent && usage?.bannedUntil !== held.usage.bannedUntil) table.delete(partition)
    }, ignore)
  }
}

/** By value: the record of a key may be replaced by the same one. */
function isEqual(one: Policy, other: Policy): boolean {
  const { perMinute, perDay } = one
  return (
    perMinute === other.perMinute && perDay === other.perDay && banAfter(one) === banAfter(other)
  )
}

function isSame(length: number, one: number, other: number): boolean {
  return Math.floor(one / length) === Math.floor(other / length)
}

function ignore(): void {}
