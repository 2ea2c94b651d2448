import {
  check,
  isCount,
  isOneOf,
  isSize,
  isText,
  optional,
  type Rule,
  readOptions,
} from '../../src/options.js'
import { OPERATIONS, type Operation } from '../../src/specification.js'
import type { Look } from './exchange.js'

/** Something that goes wrong on purpose, for the first requests that it fits. */
export type Fault = FaultScope &
  (
    | {
        /** An Error answer instead of the operation, which does not take place. */
        readonly kind: 'status'
        readonly status: 429 | 500 | 503
        /**
         * Seconds; `{ date: seconds }` for the HTTP-date so far from now, also in the past; null
         * for none.
         * @default null
         */
        readonly retryAfter?: number | { readonly date: number } | null
      }
    | {
        /** Waits on the double's clock; then the request is handled as ever. */
        readonly kind: 'delay'
        readonly ms: number
      }
    | {
        /**
         * `hang`: no answer ever, and the operation does not take place. The others take effect and
         * lose the answer, which is the worst case for a client: `reset` cuts the connection
         * instead, `truncate` after half of the body, `malformed` sends half of the body as if it
         * were all.
         */
        readonly kind: 'hang' | 'reset' | 'truncate' | 'malformed'
      }
  )

export interface FaultScope {
  /** @default every operation */
  readonly operation?: Operation
  /** The id of an API key. @default every caller */
  readonly key?: string
  /** How many of the first requests that it fits. @default 1 */
  readonly times?: number | 'always'
}

export type FaultKind = Fault['kind']

/** A fault with how many requests it still waits for. */
export type ArmedFault = Fault & { readonly left: number | 'always' }

export interface Faults {
  /** Arms a fault behind those that are armed. @throws OptionError naming what would be right */
  arm(fault: Fault): ArmedFault
  list(): readonly ArmedFault[]
  clear(): void
  /** Takes the faults that apply to this request: a delay, another fault, or both. */
  take(look: Look): {
    readonly delay?: number
    readonly fault?: Exclude<Fault, { kind: 'delay' }>
  }
}

/** @param begin armed from the beginning, such as those of a snapshot */
export function createFaults(
  keyIds: () => readonly string[],
  begin: readonly (Fault | ArmedFault)[] = [],
): Faults {
  let armed: { readonly fault: Fault; left: number | 'always' }[] = []
  for (const { ...one } of begin) {
    const { left, ...fault } = { left: undefined, ...one }
    arm(fault, left)
  }

  return {
    arm: fault => arm(fault),
    list: () => armed.map(show),
    clear() {
      armed = []
    },
    take(look) {
      const delay = next(look, ({ kind }) => kind === 'delay')
      const fault = next(look, ({ kind }) => kind !== 'delay')
      return {
        ...(delay?.kind === 'delay' && { delay: delay.ms }),
        ...(fault && fault.kind !== 'delay' && { fault }),
      }
    },
  }

  function arm(fault: Fault, given?: ArmedFault['left']): ArmedFault {
    // A restored fault may be for a key that is added after it.
    checkFault(fault, given === undefined ? isOneOf(keyIds()) : isText)
    const left = given ?? fault.times ?? 1
    check('left', left, TIMES)
    const one = { fault: { ...fault }, left }
    armed.push(one)
    return show(one)
  }

  function next(look: Look, fits: (fault: Fault) => boolean): Fault | undefined {
    const found = armed.find(({ fault }) => fits(fault) && isMeant(fault, look))
    if (!found) return undefined
    if (found.left !== 'always') found.left--
    if (found.left === 0) armed = armed.filter(one => one !== found)
    return found.fault
  }
}

function isMeant({ operation, key }: Fault, look: Look): boolean {
  if (look.operation === undefined) return false
  return (operation ?? look.operation) === look.operation && (key ?? look.key) === look.key
}

function show({ fault, left }: { fault: Fault; left: number | 'always' }): ArmedFault {
  return { ...fault, left }
}

function checkFault(fault: Fault, isKey: Rule): void {
  const kinds = isOneOf(Object.keys(RULES))
  const kind = (fault as Fault | null)?.kind
  check('kind', kind, kinds)
  const rules: Record<string, Rule> = {
    kind: kinds,
    operation: optional(isOneOf(OPERATIONS)),
    key: optional(isKey),
    times: optional(TIMES),
    ...RULES[kind as FaultKind],
  }
  readOptions<object, object>(fault, {}, rules)
}

const TIMES: Rule = {
  expected: `${isCount.expected}, or 'always'`,
  accepts: value => value === 'always' || isCount.accepts(value),
}

const RULES: Record<FaultKind, Record<string, Rule>> = {
  status: {
    status: isOneOf([429, 500, 503]),
    retryAfter: optional({
      expected: 'seconds of at least 0, { date: seconds from now, at most a century }, or null',
      accepts: value => value === null || isSize.accepts(value) || isDate(value),
    }),
  },
  delay: { ms: isSize },
  hang: {},
  reset: {},
  truncate: {},
  malformed: {},
}

/** In seconds. */
const CENTURY = 36_525 * 86_400

function isDate(value: unknown): boolean {
  const seconds = (value as { date?: unknown } | undefined)?.date
  return (
    Number.isSafeInteger(seconds) &&
    Math.abs(Number(seconds)) <= CENTURY &&
    Object.keys(value as object).length === 1
  )
}
