import { DAY, MINUTE } from '../../src/limits/windows-and-bans.js'
import type { WaitReason } from '../client/hooks.js'
import { readLimits, requestedWait } from '../client/rate-limit-headers.js'
import type { Time } from '../client/time.js'
import type { Reply } from './check-types.js'
import type { Deadline } from './deadline.js'
import { VerifyError } from './verify-error.js'

export type Budget = ReturnType<typeof createBudget>

/** Below the ban threshold of any plan. */
const MAX_REJECTIONS = 3
/** The specification has no longer window than a day; a minute more, as clocks differ. */
export const LONGEST_WINDOW = DAY + MINUTE

/** Keeps the requests of one key within its limit. @param name of the key, in messages */
export function createBudget(name: string, time: Time, deadline: Deadline) {
  let limit: number | undefined
  let remaining = Number.POSITIVE_INFINITY
  let underWay = 0
  let resetAt = 0
  let rejections = 0
  let vainWaits = 0

  return {
    /** The announced limit; undefined before the first reply, or without headers. */
    get limit() {
      return limit
    },
    /** @throws VerifyError if no wait could make room for so many requests */
    plan(requests: number): void {
      if (remaining >= requests || deadline.allows(resetAt - time.now())) return
      const room = `The ${name} has ${remaining} requests until ${instantOf(resetAt)}`
      throw new VerifyError(`${room}, and this may take ${requests}; choose fewer checks`)
    },
    /** Resolves once a request is within the limit. @throws VerifyError if that takes too long */
    async ready(): Promise<void> {
      // Headers still at 0 after two resets are wrong; a check reports them.
      if (remaining <= 0 && time.now() < resetAt && vainWaits < 2) {
        await pause(resetAt, 'limit')
        if (limit !== undefined && limit > 1) vainWaits++
        remaining = limit ?? Number.POSITIVE_INFINITY
      }
      remaining--
      underWay++
    },
    note({ headers }: Reply): void {
      const { rateLimit, sentAt } = readLimits(headers)
      if (!rateLimit) return
      const untilReset = rateLimit.reset * 1000 - (sentAt ?? time.now())
      limit = rateLimit.limit
      // A reset beyond any window is wrong, so it is not waited for; a check reports it.
      const isCredible = untilReset <= LONGEST_WINDOW
      const announced = isCredible ? rateLimit.remaining : Number.POSITIVE_INFINITY
      underWay = Math.max(0, underWay - 1)
      // Concurrent replies may come in any order.
      remaining = underWay > 0 ? Math.min(remaining, announced) : announced
      resetAt = isCredible ? time.now() + untilReset : 0
      if (remaining > 0) vainWaits = 0
    },
    /** Waits as a 429 demands. @throws VerifyError after too many of them */
    async rejected({ headers }: Reply): Promise<void> {
      rejections++
      if (rejections > MAX_REJECTIONS) {
        throw new VerifyError(`Others use the ${name} as well: its requests keep getting 429`)
      }
      const now = time.now()
      const wait = requestedWait(readLimits(headers), now) ?? 61_000
      await pause(now + wait, 'rejected')
    },
  }

  async function pause(until: number, reason: WaitReason): Promise<void> {
    const ms = until - time.now()
    if (!deadline.allows(ms)) {
      throw new VerifyError(`The ${name} is exhausted until ${instantOf(until)}; continue then`)
    }
    await deadline.wait(ms, reason)
  }
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
