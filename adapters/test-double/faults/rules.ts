import { ERROR_STATUS } from '../../../src/errors.js'
import {
  check,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  isSize,
  optional,
  type Rule,
  readOptions,
} from '../../../src/lib/options.js'
import { OPERATIONS } from '../../../src/pets/specification.js'
import type { FaultKind } from '../../exchanges/exchange.js'
import { CREDENTIALS } from '../../exchanges/redact.js'
import type { Fault } from './fault.js'

/**
 * @param isKey of the id of a key
 * @throws OptionError naming the field, the rule and the value
 */
export function checkFault(fault: Fault, isKey: Rule): void {
  const kinds = isOneOf(Object.keys(RULES))
  const kind = (fault as Partial<Fault>).kind
  check('kind', kind, kinds)
  const rules: Record<string, Rule> = {
    kind: kinds,
    operation: optional(isOneOf(OPERATIONS)),
    key: optional(isKey),
    requestHeaders: optional(isObject),
    from: ANY_TIME,
    until: ANY_TIME,
    nth: optional(isCount),
    chance: optional(CHANCE),
    seed: optional(isSize),
    times: optional(TIMES),
    ...RULES[kind as FaultKind],
  }
  readOptions<object, object>(fault, {}, rules)
  for (const [name, value] of Object.entries(fault.requestHeaders ?? {})) {
    checkRequestHeader(name, value)
  }
}

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

/** The scope reads them, as their value depends on the clock. */
const ANY_TIME: Rule = { expected: 'an instant or a duration', accepts: () => true }

const CHANCE: Rule = {
  expected: 'a number above 0, up to 1',
  accepts: value => typeof value === 'number' && value > 0 && value <= 1,
}

export const TIMES: Rule = {
  expected: `${isCount.expected}, or 'always'`,
  accepts: value => value === 'always' || isCount.accepts(value),
}

/** In seconds. */
const CENTURY = 36_525 * 86_400

const RULES: Record<FaultKind, Record<string, Rule>> = {
  status: {
    status: {
      expected: 'an integer from 400 to 599',
      accepts: value => isCount.accepts(value) && Number(value) >= 400 && Number(value) <= 599,
    },
    when: optional(isOneOf(['before', 'after'])),
    retryAfter: optional({
      expected: 'seconds of at least 0, { date: seconds from now, at most a century }, or null',
      accepts: value => value === null || isSize.accepts(value) || isDate(value),
    }),
    code: optional(isOneOf(Object.keys(ERROR_STATUS))),
    body: optional({
      expected: 'a string, an object or an array of plain JSON data',
      accepts: value =>
        typeof value === 'string' || (typeof value === 'object' && value !== null && isJson(value)),
    }),
    headers: optional({
      expected:
        'an object of header values, without Content-Length, Transfer-Encoding and Connection',
      accepts: value => isObject.accepts(value) && Object.entries(value as object).every(isHeader),
    }),
  },
  delay: { ms: isSize, jitter: optional(isSize), real: optional(isBoolean) },
  trickle: { bytes: isCount, ms: isSize, real: optional(isBoolean) },
  hang: {},
  reset: {},
  truncate: {},
  malformed: {},
}

/** Whether it can be sent as JSON, bigints included. @param parents to find circles */
function isJson(value: unknown, parents: readonly object[] = []): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return /^(string|boolean|bigint|undefined)$/.test(typeof value)
  if (value === null) return true
  if (parents.includes(value)) return false
  const within = [...parents, value]
  if (Array.isArray(value)) return value.every(one => isJson(one, within))
  // Test runners have an Object of their own.
  const prototype = Object.getPrototypeOf(value)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return isPlain && Object.values(value).every(one => isJson(one, within))
}

function isDate(value: unknown): boolean {
  const seconds = (value as { date?: unknown } | undefined)?.date
  return (
    Number.isSafeInteger(seconds) &&
    Math.abs(Number(seconds)) <= CENTURY &&
    Object.keys(value as object).length === 1
  )
}

/** RFC 9110 §5.6.2. */
const HEADER_NAME: Rule = {
  expected: 'an object with names of headers',
  accepts: name => /^[\w!#$%&'*+.^`|~-]+$/.test(String(name)),
}

/** RFC 9110 §5.5. The others say how long the message is. */
function isHeader([name, value]: [string, unknown]): boolean {
  return (
    HEADER_NAME.accepts(name) &&
    !/^(content-length|transfer-encoding|connection)$/i.test(name) &&
    typeof value === 'string' &&
    /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  )
}
