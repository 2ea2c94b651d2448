import {
  check,
  isBoolean,
  isCount,
  isFunction,
  isOneOf,
  optional,
  type Rule,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import type { Clock } from '../../src/ports.js'
import { RULES, type RuleId } from '../verdict/rules.js'

export interface JudgeOptions {
  /** The service, with its version segment: `https://staging.example.org/v1`. Other requests are not judged. */
  readonly baseUrl: string
  /**
   * `'any'` for a service of another API: only the rules apply that need no more than Retry-After and
   * the X-RateLimit headers.
   * @default none: the Animal Adoption Store API
   */
  readonly api?: 'any' | undefined
  /**
   * How many clients share a key, this one included: with 1, every early request is certain.
   * @default undefined: it goes by what is in flight at the same time
   */
  readonly clients?: number | undefined
  /**
   * Rules that a test breaks on purpose: the report lists them, but stays ok.
   * @default none
   */
  readonly allow?: readonly RuleId[] | undefined
  /**
   * Whether the service knows the query parameter `after`.
   * @default false
   */
  readonly pagination?: boolean | undefined
  /**
   * The current time, in ms since the Unix epoch.
   * @default Date.now
   */
  readonly clock?: Clock | undefined
}

export type JudgeSettings = ReturnType<typeof readJudgeOptions>

/** @throws OptionError naming the invalid option and its value */
export function readJudgeOptions(given: JudgeOptions) {
  const { baseUrl, ...options } = readOptions(given, DEFAULTS, OPTION_RULES)
  for (const [at, id] of options.allow.entries()) {
    check(`allow[${at}]`, id, isOneOf(RULES.map(({ id }) => id)))
  }
  const { origin, pathname } = new URL(baseUrl)
  return { ...options, origin, basePath: pathname.replace(/\/+$/, '') }
}

const DEFAULTS = {
  allow: [] as readonly RuleId[],
  pagination: false,
  clock: () => Date.now(),
}

/** Secret, because it may hold a password. */
export const isServiceUrl: Rule = {
  expected:
    'an address that begins with http:// or https://, without user name, query and fragment',
  accepts: value =>
    typeof value === 'string' && /^https?:\/\/[^?#@]+$/i.test(value) && URL.canParse(value),
  secret: true,
}

const OPTION_RULES: Rules<JudgeOptions> = {
  baseUrl: isServiceUrl,
  api: optional(isOneOf(['any'])),
  clients: optional(isCount),
  allow: { expected: 'an array', accepts: Array.isArray },
  pagination: isBoolean,
  clock: isFunction,
}
