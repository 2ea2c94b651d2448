import {
  check,
  isBoolean,
  isCount,
  isFunction,
  isOneOf,
  type OptionsOf,
  optional,
  settingsOf,
  typed,
  withDefault,
} from '../../../src/lib/check-options.js'
import type { Clock } from '../../../src/ports.js'
import { isServiceUrl } from '../../access-rules.js'
import { RULES, type RuleId } from '../rules/index.js'

export const JUDGE_OPTIONS = {
  /** The service, such as `https://staging.example.org/v1`. Other requests are not judged. */
  baseUrl: isServiceUrl,
  /** Sends the requests. @default the platform's */
  fetch: optional(typed<typeof globalThis.fetch>(isFunction)),
  /**
   * Number of clients that share a key, including this one: with 1, every early request is certain.
   * @default inferred from concurrent requests
   */
  clients: optional(isCount),
  /** Rules that a test breaks on purpose: the report lists them, but stays ok. @default none */
  allow: withDefault(
    typed<readonly RuleId[]>({ expected: 'an array', accepts: Array.isArray }),
    [],
  ),
  /** The service supports the query parameter `after`. @default false */
  pagination: withDefault(isBoolean, false),
  /** The current time, in ms since the Unix epoch. @default Date.now */
  clock: withDefault(typed<Clock>(isFunction), () => Date.now()),
}
/**
 * @example
 * import { judge } from 'animal-adoption-store/judge'
 *
 * const baseUrl = 'https://staging.example.org/v1'
 * const { report } = judge({ baseUrl, clients: 1, allow: ['deprecated.called'] })
 */
export interface JudgeOptions extends OptionsOf<typeof JUDGE_OPTIONS> {}

export type JudgeSettings = ReturnType<typeof readJudgeOptions>

/** @throws OptionError naming the invalid option and its value */
export function readJudgeOptions(given: JudgeOptions) {
  const { baseUrl, ...options } = settingsOf(JUDGE_OPTIONS, given)
  for (const [at, id] of options.allow.entries()) {
    check(`allow[${at}]`, id, isOneOf(RULES.map(({ id }) => id)))
  }
  const { origin, pathname } = new URL(baseUrl)
  return { ...options, origin, basePath: pathname.replace(/(?<!\/)\/+$/, '') }
}
