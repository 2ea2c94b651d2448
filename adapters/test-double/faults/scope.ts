import {
  check,
  type Declared,
  isOneOf,
  OptionError,
  optional,
  type Rule,
  settingsOf,
} from '../../../src/lib/options.js'
import { durationOf, type Instant, instantOf } from '../../../src/lib/time.js'
import { FAULT_KINDS, type FaultKind, HEADER_NAME } from '../../exchanges/fault-kinds.js'
import type { Call } from '../../exchanges/recorder.js'
import { CREDENTIALS } from '../../exchanges/redact.js'
import { type Fault, type FaultScope, SCOPE_OPTIONS } from './fault.js'

/**
 * @param isKey of the id of a key
 * @throws OptionError naming the field, the rule and the value
 */
export function checkFault(fault: Fault, isKey: Rule): void {
  const kind = isOneOf(Object.keys(FAULT_KINDS))
  check('kind', Object(fault).kind, kind)
  const { options } = FAULT_KINDS[fault.kind as FaultKind]
  settingsOf<Declared>(
    { kind, ...SCOPE_OPTIONS, key: optional(isKey), ...options },
    { ...(fault as object) },
  )
  for (const [name, value] of Object.entries(fault.requestHeaders ?? {})) {
    checkRequestHeader(name, value)
  }
}

export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** A request as faults look at it. */
export interface FaultTarget extends Call {
  /** Names in lower case. */
  readonly headers: RequestHeaders
  /** When it arrived, in ms. */
  readonly at: number
}

/** Whether a fault is for this request, apart from `nth`, `chance` and `times`. */
export function matches(fault: Fault, { operation, key, headers, at }: FaultTarget): boolean {
  if (operation === undefined) return false
  if ((fault.operation ?? operation) !== operation || (fault.key ?? key) !== key) return false
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

/**
 * The window of a fault in ms since the Unix epoch.
 *
 * @param armedAt what durations count from
 * @throws OptionError
 */
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
  return {
    ...(start !== undefined && { from: start }),
    ...(end !== undefined && { until: end }),
  }
}

function endOf(name: 'from' | 'until', given: Instant, armedAt: number): number {
  if (typeof given !== 'string' || !IS_DURATION.test(given)) return instantOf(name, given)
  return instantOf(name, armedAt + durationOf(name, given))
}

const IS_DURATION = /^[\d.]+(ms|s|m|h|d)$/

/** A fault is shown by reports, the console and snapshots, none of which may hold a credential. */
function checkRequestHeader(name: string, value: unknown): void {
  check('requestHeaders', name, HEADER_NAME)
  const isSecret = ['authorization', ...CREDENTIALS].includes(name.toLowerCase())
  check(`requestHeaders.${name}`, value, isSecret ? PRESENCE : HEADER_VALUE)
}

const PRESENCE: Rule = {
  expected: 'true or false, as faults hold no credentials (`key` takes the id of an API key)',
  accepts: value => typeof value === 'boolean',
  secret: true,
}

const HEADER_VALUE: Rule = {
  expected: 'a string, true or false',
  accepts: value => typeof value === 'string' || typeof value === 'boolean',
}
