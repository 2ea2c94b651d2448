import type { ErrorCode } from '../../../src/errors.js'
import type { Duration, Instant } from '../../../src/lib/time.js'
import type { Operation } from '../../../src/pets/specification.js'

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

/** Whether the operation runs before its response is replaced. */
export function isAfter(fault: Fault | undefined): boolean {
  return fault?.kind === 'status' && fault.when === 'after'
}

/** How many characters a body has at least if the fault is to change it: one cannot be halved. */
export function leastBody(kind: Fault['kind']): number {
  if (kind === 'malformed') return 2
  return kind === 'truncate' || kind === 'trickle' ? 1 : 0
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
