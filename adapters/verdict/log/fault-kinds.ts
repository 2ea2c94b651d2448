import { ERROR_STATUS, type ErrorCode } from '../../../src/api-error.js'
import {
  type Declared,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  isSize,
  type OptionsOf,
  optional,
  type Rule,
  rule,
} from '../../../src/lib/check-options.js'
import { toJson } from '../../../src/lib/json.js'
import { durationOf, isDuration } from '../../../src/lib/time.js'

/** Properties of a kind of fault. Its effect is in `inject-fault.ts` of the test double. */
interface Kind {
  /** Name in the console. */
  readonly label: string
  /** Comment in an HTTP archive on an affected response. */
  readonly comment: string
  readonly options: Declared
  /** Form fields; other options can be left out. @default none */
  readonly form?: readonly FormField[]
  /** Part of the response that the client does not receive as sent. @default nothing */
  readonly loses?: 'body' | 'response'
  /** Returns true if the fault would change this response. @default always */
  readonly changes?: (response: Response) => boolean
  /** Text after the kind and a colon. @default nothing */
  readonly text?: TextForm
}

interface Response {
  readonly status: number
  readonly length: number
}

export interface FormField {
  readonly name: string
  readonly label: string
  /** Initial value; a field without one may stay empty. */
  readonly value?: string
  /** Labels by value; a field without them is a number. */
  readonly choices?: Readonly<Record<string, string>>
}

interface TextForm {
  /** Completes the sentence "Expected … to be …". */
  readonly expected: string
  readonly examples: readonly string[]
  /** @returns undefined for an invalid argument. @throws OptionError */
  readonly read: (argument: string) => object | undefined
  /** Writes the fields after the colon, and returns those left for JSON. */
  readonly write: (fields: Fields) => readonly [text: string, others: Fields]
}

type Fields = Readonly<Record<string, unknown>>

/** Smallest value that the service sends, in seconds (spec §8: every 429 has Retry-After). */
const LEAST_RETRY_AFTER = 1

/** Statuses whose text form has a Retry-After (RFC 9110 §15.6.4, RFC 6585 §4). */
const MAY_WAIT = /^(429|503)$/

/** Declares every kind of fault once; its effect is in `test-double/faults/inject-fault.ts`. */
export const FAULT_KINDS = {
  status: {
    label: 'Error status',
    comment: 'the error was injected',
    options: {
      /** From 400 to 599. */
      status: rule<number>(
        'an integer from 400 to 599',
        value => isCount.accepts(value) && Number(value) >= 400 && Number(value) <= 599,
      ),
      /** 'after' stores an animal, then fails. @default 'before' */
      when: optional(isOneOf(['before', 'after'])),
      /**
       * Seconds; `{ date: seconds }` for an HTTP-date that far from now, negative for the past;
       * null for none.
       * @default null
       */
      retryAfter: optional(
        rule<number | { readonly date: number } | null>(
          'seconds of at least 0, { date: seconds from now, at most a century }, or null',
          value => value === null || isSize.accepts(value) || isRetryDate(value),
        ),
      ),
      /** `code` of the Error body. @default one that fits the status */
      code: optional(isOneOf(Object.keys(ERROR_STATUS) as ErrorCode[])),
      /** Replaces the Error body: text as it is, anything else as JSON. */
      body: optional(
        rule<string | object>(
          'a string, an object or an array of plain JSON data',
          value => typeof value === 'string' || (typeof value === 'object' && isJson(value)),
        ),
      ),
      /** Added to the default headers, or replacing them. */
      headers: optional(
        rule<Readonly<Record<string, string>>>(
          'an object of header values, without Content-Length, Transfer-Encoding and Connection',
          value => isObject.accepts(value) && Object.entries(value as object).every(isHeader),
        ),
      ),
    },
    form: [
      { name: 'status', label: 'Status', value: '503' },
      { name: 'retryAfter', label: 'Retry-After, s' },
      {
        name: 'when',
        label: 'When',
        choices: { before: 'before it runs', after: 'after it has run' },
      },
    ],
    // 401 and 429 precede any other error.
    changes: ({ status }) => status !== 401 && status !== 429,
    text: {
      expected: 'status:<400 to 599>, such as status:503 or status:503-after',
      examples: ['status:429', 'status:503', 'status:503-after'],
      read(argument) {
        const [, status, after] = /^(\d{3})(-after)?$/.exec(argument) ?? []
        if (status === undefined) return undefined
        return {
          status: Number(status),
          ...(after && { when: 'after' }),
          ...(MAY_WAIT.test(status) && { retryAfter: LEAST_RETRY_AFTER }),
        }
      },
      write({ status, when, retryAfter = null, ...others }) {
        const usual = MAY_WAIT.test(`${status}`) ? LEAST_RETRY_AFTER : null
        const own = retryAfter === usual ? others : { retryAfter, ...others }
        return [`${status}${when === 'after' ? '-after' : ''}`, own]
      },
    },
  },
  delay: {
    label: 'Delay',
    comment: 'the response was held back',
    options: {
      /** In ms, or such as '31s'. */
      duration: isDuration,
      /** Longest additional wait, drawn from `seed`. @default 0 */
      jitter: optional(isDuration),
      /** Waits in real time instead of on the double's clock. @default false */
      real: optional(isBoolean),
    },
    form: [
      { name: 'duration', label: 'Duration', value: '1s' },
      { name: 'jitter', label: 'Jitter' },
    ],
    text: {
      expected: 'delay:<duration>, such as delay:500ms, delay:31s or delay:2m',
      examples: ['delay:31s'],
      read: argument => ({ duration: durationOf('duration', argument) }),
      write: ({ duration, ...others }) => [durationText(duration), others],
    },
  },
  trickle: {
    label: 'Slow body',
    comment: 'the body was sent in pieces over time',
    options: {
      /** Bytes per piece. */
      bytes: isCount,
      /** Time that each piece takes. */
      interval: isDuration,
      /** Waits in real time instead of on the double's clock. @default false */
      real: optional(isBoolean),
    },
    form: [
      { name: 'bytes', label: 'Bytes', value: '16' },
      { name: 'interval', label: 'Per piece', value: '1s' },
    ],
    changes: ({ length }) => length > 0,
    text: {
      expected: 'trickle:<bytes>b/<duration>, such as trickle:16b/1s',
      examples: ['trickle:16b/1s'],
      read(argument) {
        const [, bytes, pause = ''] = /^(\d+)b\/(.*)$/.exec(argument) ?? []
        return { bytes: Number(bytes ?? Number.NaN), interval: durationOf('interval', pause) }
      },
      write: ({ bytes, interval, ...others }) => [`${bytes}b/${durationText(interval)}`, others],
    },
  },
  /** Never responds, nor runs the operation. */
  hang: {
    label: 'Never answer',
    comment: 'there was no response',
    options: {},
    loses: 'response',
  },
  /** Runs the operation and cuts the connection. */
  reset: {
    label: 'Reset the connection',
    comment: 'the connection was cut and the response lost',
    options: {},
    loses: 'response',
  },
  /** Runs the operation and cuts the connection in the middle of the body. */
  truncate: {
    label: 'Cut the body off',
    comment: 'the connection was cut after half of the body',
    options: {},
    loses: 'body',
    changes: ({ length }) => length > 0,
  },
  /** Runs the operation and sends half of the body as if it were complete. */
  malformed: {
    label: 'Malformed JSON',
    comment: 'only half of the body was sent',
    options: {},
    loses: 'body',
    // One character cannot be halved.
    changes: ({ length }) => length > 1,
  },
} as const satisfies Record<string, Kind>

export type FaultKind = keyof typeof FAULT_KINDS

export const KINDS = Object.keys(FAULT_KINDS) as readonly FaultKind[]

export type FaultOptions = {
  readonly [K in FaultKind]: { readonly kind: K } & OptionsOf<(typeof FAULT_KINDS)[K]['options']>
}[FaultKind]

export function kindOf(kind: FaultKind): Kind {
  return FAULT_KINDS[kind]
}

export function changes(kind: FaultKind, response: Response): boolean {
  return kindOf(kind).changes?.(response) ?? true
}

function durationText(duration: unknown): string {
  const ms = isDuration.read(duration)
  if (ms === 0 || ms % 1_000 !== 0) return `${ms}ms`
  if (ms % 60_000 !== 0) return `${ms / 1_000}s`
  return `${ms / 60_000}m`
}

/** In seconds. */
const CENTURY = 36_525 * 86_400

/** True for values that JSON can represent, bigints included. */
function isJson(value: unknown): boolean {
  try {
    return /^[[{]/.test(toJson(value))
  } catch {
    return false
  }
}

function isRetryDate(value: unknown): boolean {
  const { date, ...others } = Object(value) as { readonly date?: unknown }
  const isNear = Number.isSafeInteger(date) && Math.abs(Number(date)) <= CENTURY
  return isNear && Object.keys(others).length === 0
}

/** RFC 9110 §5.6.2. */
export const HEADER_NAME: Rule = {
  expected: 'an object with names of headers',
  accepts: name => /^[\w!#$%&'*+.^`|~-]+$/.test(String(name)),
}

/** RFC 9110 §5.5. Excludes headers that frame the message. */
function isHeader([name, value]: [string, unknown]): boolean {
  return (
    HEADER_NAME.accepts(name) &&
    !/^(content-length|transfer-encoding|connection)$/i.test(name) &&
    typeof value === 'string' &&
    /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  )
}
