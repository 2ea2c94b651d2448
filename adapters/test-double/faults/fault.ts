import {
  check,
  type Declared,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  isSize,
  isString,
  isText,
  OptionError,
  type OptionsOf,
  optional,
  type Rule,
  rule,
  settingsOf,
  typed,
} from '../../../src/lib/check-options.js'
import { type Duration, durationOf, type Instant, instantOf } from '../../../src/lib/time.js'
import { OPERATIONS } from '../../../src/pets/specification.js'
import { type FaultOptions, HEADER_NAME, KINDS, kindOf } from '../../verdict/log/fault-kinds.js'
import type { Call } from '../../verdict/log/recorder.js'
import { CREDENTIALS } from '../../verdict/log/redact.js'

export type Fault = FaultScope & FaultOptions

const CHANCE = rule<number>(
  'a number above 0, up to 1',
  value => typeof value === 'number' && value > 0 && value <= 1,
)

export const TIMES = rule<number | 'always'>(
  `${isCount.expected}, or 'always'`,
  value => value === 'always' || isCount.accepts(value),
)

/** Checked by the scope, because the value depends on the clock. */
const TIME = optional(rule<Instant | Duration>('an instant or a duration', () => true))

export const SCOPE_OPTIONS = {
  /** @default every operation */
  operation: optional(isOneOf(OPERATIONS)),
  /** Id of the API key. @default every caller */
  keyId: optional(isText),
  /**
   * Headers that the request must have with exactly this value, must have (true), or must not have
   * (false). Headers that hold a credential take true and false only.
   * @default any headers
   */
  requestHeaders: optional(typed<Readonly<Record<string, string | boolean>>>(isObject)),
  /** Start: an instant, or a duration such as '30s' after arming, by the double's clock. @default at once */
  from: TIME,
  /** End, exclusive; written like `from`. @default never */
  until: TIME,
  /** Number of the first matching request to affect. @default 1 */
  nth: optional(isCount),
  /** Probability per matching request, above 0 and up to 1. @default 1 */
  chance: optional(CHANCE),
  /** Equal seeds draw equally. @default its place among the armed faults: 1, 2, 3 … */
  seed: optional(isSize),
  /** Number of requests to affect. @default 1, with `from`, `until` or `chance` 'always' */
  times: optional(TIMES),
} satisfies Declared
export interface FaultScope extends OptionsOf<typeof SCOPE_OPTIONS> {}

export type DelayFault = Extract<Fault, { kind: 'delay' }>
export type TrickleFault = Extract<Fault, { kind: 'trickle' }>
export type StatusFault = Extract<Fault, { kind: 'status' }>

/** The operation runs before its response is replaced. */
export function isAfter(fault: Fault): boolean {
  return fault.kind === 'status' && fault.when === 'after'
}

/** An armed fault: `from` and `until` are in ms since the Unix epoch. */
export type ArmedFault = Fault & {
  readonly left: number | 'always'
  readonly waiting?: number
  /** Number of responses affected so far, if any. */
  readonly fired?: number
  /** Number of draws from its seed so far, if any. */
  readonly drawn?: number
}

export interface Armed {
  readonly fault: Fault
  /** Armed by the test, restored from a snapshot, or a fault of the options. */
  readonly source: 'test' | 'restored' | Fault
  readonly at: number
  isKept: boolean
  left: number | 'always'
  waiting: number
  fired: number
  drawn: number
}

export function checkFault(fault: Fault, isKeyId: Rule): void {
  const kind = isOneOf(KINDS)
  check('kind', Object(fault).kind, kind)
  const { options } = kindOf(fault.kind)
  settingsOf<Declared>(
    { kind, ...SCOPE_OPTIONS, keyId: optional(isKeyId), ...options },
    { ...(fault as object) },
  )
  for (const [name, value] of Object.entries(fault.requestHeaders ?? {})) {
    checkRequestHeader(name, value)
  }
}

export function inMs<F extends Fault | ArmedFault>(fault: F): F {
  const rules: Declared = kindOf(fault.kind)?.options ?? {}
  const fields = Object.entries(fault).map(([name, value]) => [
    name,
    value === undefined ? value : (rules[name]?.read?.(value) ?? value),
  ])
  return Object.fromEntries(fields)
}

export type RequestHeaders = Readonly<Record<string, string | undefined>>

export interface FaultTarget extends Call {
  readonly headers: RequestHeaders
  readonly at: number
}

/** Matches the scope of a fault, apart from `nth`, `chance` and `times`. */
export function matches(fault: Fault, { operation, keyId, headers, at }: FaultTarget): boolean {
  if (operation === undefined) return false
  if ((fault.operation ?? operation) !== operation || (fault.keyId ?? keyId) !== keyId) return false
  const { from, until, requestHeaders } = fault as { from?: number; until?: number } & FaultScope
  if (at < (from ?? at) || at >= (until ?? Number.POSITIVE_INFINITY)) return false
  return requestHeaders === undefined || hasHeaders(headers, requestHeaders)
}

function hasHeaders(
  headers: RequestHeaders,
  wanted: NonNullable<FaultScope['requestHeaders']>,
): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    const own = headers[name.toLowerCase()]
    return typeof value === 'boolean' ? value === (own !== undefined) : value === own
  })
}

/** Returns the window in ms since the epoch; durations begin at `armedAt`. @throws OptionError */
export function windowOf(
  { from, until }: Pick<FaultScope, 'from' | 'until'>,
  armedAt: number,
): { readonly from?: number; readonly until?: number } {
  const start = from === undefined ? undefined : endOf('from', from, armedAt)
  const end = until === undefined ? undefined : endOf('until', until, armedAt)
  if (end !== undefined && end <= (start ?? Number.NEGATIVE_INFINITY)) {
    const got = new Date(end).toISOString()
    throw new OptionError({ option: 'until', expected: 'later than `from`', got })
  }
  return { ...(start !== undefined && { from: start }), ...(end !== undefined && { until: end }) }
}

function endOf(name: 'from' | 'until', given: Instant, armedAt: number): number {
  if (typeof given !== 'string' || !IS_DURATION.test(given)) return instantOf(name, given)
  return instantOf(name, armedAt + durationOf(name, given))
}

const IS_DURATION = /^[\d.]+(ms|s|m|h|d)$/

/** Refuses credentials, because reports, the console and snapshots show faults. */
function checkRequestHeader(name: string, value: unknown): void {
  check('requestHeaders', name, HEADER_NAME)
  const isSecret = ['authorization', ...CREDENTIALS].includes(name.toLowerCase())
  check(`requestHeaders.${name}`, value, isSecret ? PRESENCE : HEADER_VALUE)
}

const PRESENCE: Rule = {
  ...isBoolean,
  expected: 'true or false, as faults hold no credentials (`keyId` takes the id of an API key)',
  secret: true,
}

const HEADER_VALUE = rule(
  'a string, true or false',
  value => isString.accepts(value) || isBoolean.accepts(value),
)
