import { isCount, type OptionsOf, optional, rule, settingsOf } from '../lib/check-options.js'

export interface Limits extends OptionsOf<typeof LIMITS> {}
const LIMITS = {
  /** Requests per calendar minute. */
  perMinute: isCount,
  /** Requests per UTC day. */
  perDay: isCount,
  /**
   * Rejections allowed per calendar minute; the next one starts a ban. `Infinity` disables bans.
   * @default Math.max(10, Math.floor(perMinute / 2))
   */
  banAfterRejections: optional(
    rule<number>(isCount.expected, value => value === Infinity || isCount.accepts(value)),
  ),
}

/** Plans of spec §8. Enterprise is custom: each key has its own limits. */
export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const
export type Plan = (typeof PLAN_NAMES)[number]

export type PlanTable = Readonly<Record<Exclude<Plan, 'enterprise'> | 'anonymous', Limits>>

/** Requests without a valid key get the numbers of Free, per address, and are never banned. */
export const PLANS: PlanTable = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  anonymous: { perMinute: 60, perDay: 1_000, banAfterRejections: Number.POSITIVE_INFINITY },
}

/** Checks limits set by the host. @throws OptionError naming the field */
export function checkLimits(field: string, limits: Limits | undefined): Limits {
  return settingsOf(LIMITS, limits, `${field}.`)
}
