import type { ErrorCode } from '../../../src/errors.js'
import { check, isOneOf, isSize, isText } from '../../../src/lib/options.js'
import type { Operation } from '../../../src/pets/specification.js'
import type { Clock } from '../../../src/ports.js'
import type { Call } from '../../exchanges/recorder.js'
import type { Duration, Instant } from '../../shared/time.js'
import { draw } from './chance.js'
import { checkFault, TIMES } from './rules.js'
import { matches, windowOf } from './scope.js'
import { createUse, type FaultUseLog } from './use.js'

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
        /** Waits up to this many ms longer, as drawn from `seed`. @default 0 */
        readonly jitter?: number
        /** Waits in real time instead of on the double's clock. @default false */
        readonly real?: boolean
      }
    | {
        /** Sends the headers at once, and the body in pieces. */
        readonly kind: 'trickle'
        /** How many bytes a piece has. */
        readonly bytes: number
        /** How long each piece takes. */
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

/** Which requests a fault applies to: those that match all of it. */
export interface FaultScope {
  /** @default every operation */
  readonly operation?: Operation
  /** The id of an API key. @default every caller */
  readonly key?: string
  /**
   * Headers that the request must have with exactly this value, must have (true), or must not have
   * (false). Those that hold a credential take true and false only.
   *
   * @default any headers
   */
  readonly requestHeaders?: Readonly<Record<string, string | boolean>>
  /**
   * When it begins: an instant, or a duration such as '30s' after it is armed, by the double's clock.
   *
   * @default at once
   */
  readonly from?: Instant | Duration
  /** When it is over, exclusive; written like `from`. @default never */
  readonly until?: Instant | Duration
  /** The first matching request that it applies to. @default 1 */
  readonly nth?: number
  /** How likely it applies to each matching request, above 0 and up to 1. @default 1 */
  readonly chance?: number
  /** Equal seeds draw equally. @default its place among the armed faults: 1, 2, 3 … */
  readonly seed?: number
  /** How many requests it applies to. @default 1, with `from`, `until` or `chance` 'always' */
  readonly times?: number | 'always'
}

export type DelayFault = Extract<Fault, { kind: 'delay' }>
export type TrickleFault = Extract<Fault, { kind: 'trickle' }>
export type StatusFault = Extract<Fault, { kind: 'status' }>

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
  take(call: Call, headers: RequestHeaders): TakenFaults | undefined
  readonly use: Pick<FaultUseLog, 'unused' | 'fired' | 'keep'>
}

export type RequestHeaders = Readonly<Record<string, string | undefined>>

export interface TakenFaults {
  readonly delay: DelayFault | undefined
  readonly fault: Exclude<Fault, DelayFault> | undefined
  /** To be called when one of them, by its kind, has affected the response. */
  fire(kind: Fault['kind']): void
}

/** @param begin the faults armed at the start, such as those of a snapshot */
export function createFaults(
  keyIds: () => readonly string[],
  now: Clock,
  begin: readonly (Fault | ArmedFault)[] = [],
): Faults {
  let armed: Armed[] = []
  const use = createUse(() => armed)
  for (const one of begin) arm(one, 'left' in one ? 'restored' : one)

  return {
    arm: fault => arm(fault, 'test'),
    list: () => armed.map(show),
    clear() {
      for (const one of armed) use.drop(one)
      armed = []
    },
    take(call, headers) {
      if (armed.length === 0) return undefined
      const request = { ...call, headers, at: now() }
      const ready = armed.filter(({ fault }) => matches(fault, request)).filter(isReady)
      if (ready.length === 0) return undefined
      const delay = ready.find(one => one.fault.kind === 'delay')
      const other = ready.find(one => one.fault.kind !== 'delay')
      return {
        delay: delay && (withJitter(delay, takeOnce(delay)) as DelayFault),
        fault: other && (takeOnce(other) as Exclude<Fault, DelayFault>),
        fire(kind) {
          const one = kind === 'delay' ? delay : other
          if (one) use.fire(one)
        },
      }
    },
    use,
  }

  function arm(given: Fault | ArmedFault, source: Armed['source']): ArmedFault {
    const { left, waiting, fired, drawn, ...fault } = { ...COUNTS, ...given }
    // A restored fault may be for a key that is added after it.
    checkFault(fault as Fault, left === undefined ? isOneOf(keyIds()) : isText)
    const at = now()
    const isRandom = fault.chance !== undefined || (fault as DelayFault).jitter !== undefined
    const seed = isRandom ? (fault.seed ?? armed.length + 1) : fault.seed
    const one: Armed = {
      fault: { ...fault, ...windowOf(fault, at), ...(seed !== undefined && { seed }) } as Fault,
      source,
      at,
      left: left ?? fault.times ?? usualTimes(fault as Fault),
      waiting: waiting ?? (left === undefined ? (fault.nth ?? 1) - 1 : 0),
      fired: fired ?? 0,
      drawn: drawn ?? 0,
    }
    check('left', one.left, TIMES)
    for (const name of ['waiting', 'fired', 'drawn'] as const) check(name, one[name], isSize)
    armed.push(one)
    return show(one)
  }

  function takeOnce(one: Armed): Fault {
    if (one.left !== 'always') one.left--
    if (one.left === 0) {
      armed = armed.filter(other => other !== one)
      use.drop(one)
    }
    return one.fault
  }
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

const COUNTS = { left: undefined, waiting: undefined, fired: undefined, drawn: undefined }

function usualTimes({ from, until, chance }: Fault): number | 'always' {
  return from === undefined && until === undefined && chance === undefined ? 1 : 'always'
}

/** Whether it applies to a request that matches; counts those before. */
function isReady(one: Armed): boolean {
  if (one.waiting > 0) {
    one.waiting--
    return false
  }
  const { chance } = one.fault
  return chance === undefined || drawFrom(one) < chance
}

function withJitter(one: Armed, fault: Fault): Fault {
  const { ms, jitter = 0 } = fault as DelayFault
  if (jitter === 0) return fault
  return { ...fault, ms: ms + Math.floor(drawFrom(one) * (jitter + 1)) } as Fault
}

function drawFrom(one: Armed): number {
  return draw(one.fault.seed ?? 0, one.drawn++)
}

function show({ fault, left, waiting, fired, drawn }: Armed): ArmedFault {
  return {
    ...fault,
    left,
    ...(waiting > 0 && { waiting }),
    ...(fired > 0 && { fired }),
    ...(drawn > 0 && { drawn }),
  }
}
