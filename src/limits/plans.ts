import { isCount, optional, type Rules, readOptions, rule } from '../lib/options.js'

/** The limits of one partition. All three are integers of at least 1. */
export interface Policy {
  readonly perMinute: number
  readonly perDay: number
  /**
   * How many rejections one calendar minute allows; the next one starts a ban.
   * @default Math.max(10, Math.floor(perMinute / 2))
   */
  readonly banAfter?: number
}

/** The plans of spec §8. Enterprise is custom: each key has its own limits. */
export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const
export type Plan = (typeof PLAN_NAMES)[number]

export type PlanTable = Readonly<Record<Exclude<Plan, 'enterprise'> | 'anonymous', Policy>>

/** Requests without a valid key have the numbers of Free, per address, and are never banned. */
export const PLANS: PlanTable = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  anonymous: { perMinute: 60, perDay: 1_000, banAfter: Number.POSITIVE_INFINITY },
}

/**
 * Checks a policy of the host. `banAfter: Infinity` disables bans.
 *
 * @throws OptionError naming the field
 */
export function checkPolicy(field: string, policy: Policy | undefined): Policy {
  return readOptions(policy, {}, POLICY_RULES, `${field}.`)
}

const POLICY_RULES: Rules<Policy> = {
  perMinute: isCount,
  perDay: isCount,
  banAfter: optional(rule(isCount.expected, value => value === Infinity || isCount.accepts(value))),
}
