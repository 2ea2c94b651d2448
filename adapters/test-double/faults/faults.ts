import { ERROR_STATUS, type ErrorCode } from '../../../src/errors.js'
import {
  check,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  isSize,
  isText,
  optional,
  type Rule,
  readOptions,
} from '../../../src/lib/options.js'
import { OPERATIONS, type Operation } from '../../../src/pets/specification.js'
import type { FaultKind } from '../../exchanges/exchange.js'
import type { Call } from '../../exchanges/recorder.js'

/** Something that goes wrong on purpose, for the first requests that match. */
export type Fault = FaultScope &
  (
    | {
        /** An error response. */
        readonly kind: 'status'
        /**
         * Whether the operation has run when it fails: with 'after', an animal is stored and the client
         * gets an error.
         *
         * @default 'before'
         */
        readonly when?: 'before' | 'after'
        /** From 400 to 599. */
        readonly status: number
        /**
         * Seconds; `{ date: seconds }` for the HTTP-date that far from now, negative for the past;
         * null for none.
         *
         * @default null
         */
        readonly retryAfter?: number | { readonly date: number } | null
        /** Of the Error body. @default one that fits the status */
        readonly code?: ErrorCode
        /** Instead of the Error body: text as it is, anything else as JSON. */
        readonly body?: string | object
        /** Added to the usual headers, or in their place. */
        readonly headers?: Readonly<Record<string, string>>
      }
    | {
        /** Waits, then handles the request as usual. */
        readonly kind: 'delay'
        readonly ms: number
        /** Waits in real time instead of on the double's clock. @default false */
        readonly real?: boolean
      }
    | {
        /**
         * `hang`: never a response, and the operation does not run. The others run it and lose the
         * response, which is the worst case for a client: `reset` cuts the connection, `truncate`
         * cuts it after half of the body, `malformed` sends half of the body as if it were all.
         */
        readonly kind: 'hang' | 'reset' | 'truncate' | 'malformed'
      }
  )

export interface FaultScope {
  /** @default every operation */
  readonly operation?: Operation
  /** The id of an API key. @default every caller */
  readonly key?: string
  /** The first matching request that it applies to. @default 1 */
  readonly nth?: number
  /** How many requests it applies to. @default 1 */
  readonly times?: number | 'always'
}

export type DelayFault = Extract<Fault, { kind: 'delay' }>
export type StatusFault = Extract<Fault, { kind: 'status' }>

/** A fault, with how many requests it still applies to. */
export type ArmedFault = Fault & {
  readonly left: number | 'always'
  /** How many matching requests it lets pass before. */
  readonly waiting?: number
}

export interface Faults {
  /**
   * Arms a fault, after those already armed.
   *
   * @throws OptionError
   */
  arm(fault: Fault): ArmedFault
  list(): readonly ArmedFault[]
  clear(): void
  /** Takes what applies to this request: a delay, another fault, both, or undefined. */
  take(call: Call): TakenFaults | undefined
}

export interface TakenFaults {
  readonly delay: DelayFault | undefined
  readonly fault: Exclude<Fault, DelayFault> | undefined
}

/** @param begin the faults armed at the start, such as those of a snapshot */
export function createFaults(
  keyIds: () => readonly string[],
  begin: readonly (Fault | ArmedFault)[] = [],
): Faults {
  let armed: Armed[] = []
  for (const one of begin) arm(one)

  return {
    arm,
    list: () => armed.map(show),
    clear() {
      armed = []
    },
    take(call) {
      if (armed.length === 0) return undefined
      const ready = armed.filter(({ fault }) => matches(fault, call)).filter(isReady)
      if (ready.length === 0) return undefined
      return {
        delay: use(ready.find(one => one.fault.kind === 'delay')) as DelayFault | undefined,
        fault: use(ready.find(one => one.fault.kind !== 'delay')) as Exclude<Fault, DelayFault>,
      }
    },
  }

  function arm(given: Fault | ArmedFault): ArmedFault {
    const { left, waiting, ...fault } = { left: undefined, waiting: undefined, ...given }
    // A restored fault may be for a key that is added after it.
    checkFault(fault as Fault, left === undefined ? isOneOf(keyIds()) : isText)
    const one = {
      fault: fault as Fault,
      left: left ?? fault.times ?? 1,
      waiting: waiting ?? (left === undefined ? (fault.nth ?? 1) - 1 : 0),
    }
    check('left', one.left, TIMES)
    check('waiting', one.waiting, isSize)
    armed.push(one)
    return show(one)
  }

  function use(one: Armed | undefined): Fault | undefined {
    if (!one) return undefined
    if (one.left !== 'always') one.left--
    if (one.left === 0) armed = armed.filter(other => other !== one)
    return one.fault
  }
}

interface Armed {
  readonly fault: Fault
  left: number | 'always'
  waiting: number
}

function matches({ operation, key }: Fault, call: Call): boolean {
  if (call.operation === undefined) return false
  return (operation ?? call.operation) === call.operation && (key ?? call.key) === call.key
}

/** Whether it applies to a request that matches; counts those before. */
function isReady(one: Armed): boolean {
  if (one.waiting === 0) return true
  one.waiting--
  return false
}

function show({ fault, left, waiting }: Armed): ArmedFault {
  return { ...fault, left, ...(waiting > 0 && { waiting }) }
}

function checkFault(fault: Fault, isKey: Rule): void {
  const kinds = isOneOf(Object.keys(RULES))
  const kind = (fault as Partial<Fault>).kind
  check('kind', kind, kinds)
  const rules: Record<string, Rule> = {
    kind: kinds,
    operation: optional(isOneOf(OPERATIONS)),
    key: optional(isKey),
    nth: optional(isCount),
    times: optional(TIMES),
    ...RULES[kind as FaultKind],
  }
  readOptions<object, object>(fault, {}, rules)
}

const TIMES: Rule = {
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
  delay: { ms: isSize, real: optional(isBoolean) },
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

/** RFC 9110 §5.5, §5.6.2. The others say how long the message is. */
function isHeader([name, value]: [string, unknown]): boolean {
  return (
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
    !/^(content-length|transfer-encoding|connection)$/i.test(name) &&
    typeof value === 'string' &&
    /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  )
}
