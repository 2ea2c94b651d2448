import {
  type Declared,
  isCount,
  isObject,
  isOneOf,
  isSize,
  isText,
  type OptionsOf,
  optional,
  rule,
  typed,
} from '../../../src/lib/options.js'
import type { Duration, Instant } from '../../../src/lib/time.js'
import { OPERATIONS } from '../../../src/pets/specification.js'
import type { FaultOptions } from '../../exchanges/fault-kinds.js'

/** Something that goes wrong on purpose, for the first requests that match. */
export type Fault = FaultScope & FaultOptions

const CHANCE = rule<number>(
  'a number above 0, up to 1',
  value => typeof value === 'number' && value > 0 && value <= 1,
)

export const TIMES = rule<number | 'always'>(
  `${isCount.expected}, or 'always'`,
  value => value === 'always' || isCount.accepts(value),
)

/** The scope reads them, as their value depends on the clock. */
const TIME = optional<Instant | Duration>({
  expected: 'an instant or a duration',
  accepts: () => true,
})

/** Which requests a fault applies to: those that match all of it. */
export const SCOPE_OPTIONS = {
  /** @default every operation */
  operation: optional(isOneOf(OPERATIONS)),
  /** The id of an API key. @default every caller */
  key: optional(isText),
  /**
   * Headers that the request must have with exactly this value, must have (true), or must not have
   * (false). Headers that hold a credential take true and false only.
   *
   * @default any headers
   */
  requestHeaders: optional(typed<Readonly<Record<string, string | boolean>>>(isObject)),
  /**
   * When it begins: an instant, or a duration such as '30s' after it is armed, by the double's clock.
   *
   * @default at once
   */
  from: TIME,
  /** When it is over, exclusive; written like `from`. @default never */
  until: TIME,
  /** The first matching request that it applies to. @default 1 */
  nth: optional(isCount),
  /** How likely it applies to each matching request, above 0 and up to 1. @default 1 */
  chance: optional(CHANCE),
  /** Equal seeds draw equally. @default its place among the armed faults: 1, 2, 3 … */
  seed: optional(isSize),
  /** How many requests it applies to. @default 1, with `from`, `until` or `chance` 'always' */
  times: optional(TIMES),
} satisfies Declared
export interface FaultScope extends OptionsOf<typeof SCOPE_OPTIONS> {}

export type DelayFault = Extract<Fault, { kind: 'delay' }>
export type TrickleFault = Extract<Fault, { kind: 'trickle' }>
export type StatusFault = Extract<Fault, { kind: 'status' }>

/** Whether the operation runs before its response is replaced. */
export function isAfter(fault: Fault): boolean {
  return fault.kind === 'status' && fault.when === 'after'
}

/** A fault as it is armed: `from` and `until` are in ms since the Unix epoch. */
export type ArmedFault = Fault & {
  /** How many requests it still applies to. */
  readonly left: number | 'always'
  /** How many matching requests it lets pass before. */
  readonly waiting?: number
  /** How many responses it has affected so far, unless none. */
  readonly fired?: number
  /** How many numbers were drawn from its seed, unless none. */
  readonly drawn?: number
}

/** A fault with all that changes about it. */
export interface Armed {
  readonly fault: Fault
  /** Armed by the test, restored from a snapshot, or a fault of the options. */
  readonly source: 'test' | 'restored' | Fault
  /** When it was armed, in ms. */
  readonly at: number
  left: number | 'always'
  waiting: number
  fired: number
  drawn: number
}
