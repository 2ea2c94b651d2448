import type { Limits, RateLimitSnapshot, Usage } from '../../../src/index.js'
import { usualBanAfter } from '../scenario.js'

export interface Told {
  readonly code: 'rate_limit_exceeded' | 'api_key_banned' | undefined
  /** The headers, as text. */
  readonly limit: string
  readonly remaining: string
  readonly reset: string
  readonly retryAfter: string | undefined
  readonly window: 'minute' | 'day'
  /** When the ban ends that begins with it, in ms. */
  readonly bannedUntil: number | undefined
}

export interface Budget {
  /** The latest time that counted. */
  at: number
  minute: { number: number; admitted: number; rejected: number }
  day: { number: number; admitted: number }
  ban: { end: number; level: number }
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const
/** Minutes of the first bans; all further ones are as long as the last. */
const BANS = [5, 10, 20, 40, 60]

export type LimitModel = ReturnType<typeof createLimitModel>

/** The limits of the specification (spec §8), written once more and for reading only. */
export function createLimitModel() {
  let budgets = new Map<string, Budget>()

  return {
    /** @param now the clock of the server, in ms since the epoch */
    ask(partition: string, policy: Limits, now: number): Told {
      const budget = budgets.get(partition) ?? unused()
      budgets.set(partition, budget)
      return ask(budget, policy, now)
    },
    /** The counts are gone: the process ended. */
    forget(): void {
      budgets = new Map()
    },
    /** The counts are these. */
    restore(snapshot: RateLimitSnapshot): void {
      budgets = new Map(snapshot.map(([partition, usage]) => [partition, budgetOf(usage)]))
    },
  }
}

function ask(budget: Budget, policy: Limits, now: number): Told {
  const { perMinute, perDay } = policy
  // A small step back holds the clock where it was.
  const isHeld = budget.at > now && budget.at - now <= MINUTE
  const at = isHeld ? budget.at : Math.floor(now)
  const banEnd = budget.ban.end > at + HOUR + SECOND ? 0 : budget.ban.end
  const windows = windowsAt(budget, at)
  const { minute, day } = windows
  const minuteEnd = (minute.number + 1) * MINUTE
  const dayEnd = (day.number + 1) * DAY
  const isDayUsedUp = day.admitted >= perDay
  const isUsedUp = isDayUsedUp || minute.admitted >= perMinute

  if (at < banEnd) return refusal('api_key_banned', banEnd)
  Object.assign(budget, { at, minute, day })
  budget.ban.end = banEnd
  if (!isUsedUp) {
    minute.admitted++
    day.admitted++
    const left = { minute: perMinute - minute.admitted, day: perDay - day.admitted }
    const isDay = left.day <= left.minute
    return {
      code: undefined,
      limit: String(isDay ? perDay : perMinute),
      remaining: String(Math.min(left.day, left.minute)),
      reset: String((isDay ? dayEnd : minuteEnd) / SECOND),
      retryAfter: undefined,
      window: isDay ? 'day' : 'minute',
      bannedUntil: undefined,
    }
  }
  const allowed = policy.banAfterRejections ?? usualBanAfter(perMinute)
  if (minute.rejected < allowed) {
    minute.rejected++
    return refusal('rate_limit_exceeded', 0)
  }
  minute.rejected = 0
  const isRemembered = banEnd !== 0 && at - banEnd < DAY
  const level = isRemembered ? budget.ban.level + 1 : 1
  const length = (BANS[level - 1] ?? 60) * MINUTE
  budget.ban = { end: Math.ceil((at + length) / SECOND) * SECOND, level }
  return refusal('api_key_banned', budget.ban.end)

  function refusal(code: 'rate_limit_exceeded' | 'api_key_banned', banned: number): Told {
    const windowEnd = isDayUsedUp ? dayEnd : isUsedUp ? minuteEnd : 0
    const end = Math.max(banned, windowEnd)
    return {
      code,
      limit: String(isDayUsedUp ? perDay : perMinute),
      remaining: '0',
      reset: String(end / SECOND),
      retryAfter: String(Math.ceil((end - Math.floor(now)) / SECOND)),
      window: isDayUsedUp ? 'day' : 'minute',
      bannedUntil: banned > banEnd ? banned : undefined,
    }
  }
}

/** Counts belong to one minute and one day; in any other, they begin again. */
function windowsAt(budget: Budget, at: number): Pick<Budget, 'minute' | 'day'> {
  const [minute, day] = [Math.floor(at / MINUTE), Math.floor(at / DAY)]
  return {
    minute:
      budget.minute.number === minute
        ? budget.minute
        : { number: minute, admitted: 0, rejected: 0 },
    day: budget.day.number === day ? budget.day : { number: day, admitted: 0 },
  }
}

function budgetOf(usage: Usage): Budget {
  const {
    lastSeenAt: at,
    minuteCount,
    rejections: rejected,
    dayCount,
    bannedUntil,
    banLevel,
  } = usage
  return {
    at,
    minute: { number: Math.floor(at / MINUTE), admitted: minuteCount, rejected },
    day: { number: Math.floor(at / DAY), admitted: dayCount },
    ban: { end: bannedUntil, level: banLevel },
  }
}

function unused(): Budget {
  return {
    at: Number.NEGATIVE_INFINITY,
    minute: { number: Number.NaN, admitted: 0, rejected: 0 },
    day: { number: Number.NaN, admitted: 0 },
    ban: { end: 0, level: 0 },
  }
}
