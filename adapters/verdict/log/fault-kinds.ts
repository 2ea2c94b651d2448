import { ERROR_STATUS, type ErrorCode } from '../../../src/errors.js'
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
import { durationOf } from '../../../src/lib/time.js'

/** What is known of a kind of fault besides its effect, which `inject-fault.ts` of the test double has. */
interface Kind {
  /** What the console calls it. */
  readonly label: string
  /** What an HTTP archive says about a response that it has affected. */
  readonly comment: string
  readonly options: Declared
  /** The fields of a form; the others can be left out. @default none */
  readonly form?: readonly FormField[]
  /** What the client does not receive as it was sent. @default nothing */
  readonly loses?: 'body' | 'response'
  /** Whether it changes anything about this response. @default always */
  readonly changes?: (response: Response) => boolean
  /** What follows the kind and a colon in the text form. @default nothing */
  readonly text?: TextForm
}

interface Response {
  readonly status: number
  readonly length: number
}

export interface FormField {
  readonly name: string
  readonly label: string
  /** Filled in at first; a field without it may stay empty. */
  readonly value?: string
  /** The values to choose from; without them, it is a number. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
}

interface TextForm {
  /** Completes the sentence "Expected … to be …". */
  readonly expected: string
  readonly examples: readonly string[]
  /** @returns undefined for anything else. @throws OptionError */
  readonly read: (argument: string) => object | undefined
  /** The fields after the colon, and those that are left for JSON. */
  readonly write: (fields: Fields) => readonly [text: string, others: Fields]
}

type Fields = Readonly<Record<string, unknown>>

/** Seconds: the least that the service sends with a 429 (spec §8 has every 429 carry Retry-After). */
const LEAST_RETRY_AFTER = 1

const REAL = {
  /** Waits in real time instead of on the double's clock. @default false */
  real: optional(isBoolean),
}
const MS = { name: 'ms', label: 'Milliseconds', value: '1000' }

/** Every kind of fault, declared once: a new one needs a row here and an effect in `test-double/faults/inject-fault.ts`. */
export const FAULT_KINDS = {
  /** An error response. */
  status: {
    label: 'Error status',
    comment: 'the error was injected',
    options: {
      /** From 400 to 599. */
      status: rule<number>(
        'an integer from 400 to 599',
        value => isCount.accepts(value) && Number(value) >= 400 && Number(value) <= 599,
      ),
      /**
       * Whether the operation has run when it fails: with 'after', an animal is stored and the client
       * gets an error.
       *
       * @default 'before'
       */
      when: optional(isOneOf(['before', 'after'])),
      /**
       * Seconds; `{ date: seconds }` for the HTTP-date that far from now, negative for the past;
       * null for none.
       *
       * @default null
       */
      retryAfter: optional(
        rule<number | { readonly date: number } | null>(
          'seconds of at least 0, { date: seconds from now, at most a century }, or null',
          value => value === null || isSize.accepts(value) || isRetryDate(value),
        ),
      ),
      /** Of the Error body. @default one that fits the status */
      code: optional(isOneOf(Object.keys(ERROR_STATUS) as ErrorCode[])),
      /** Instead of the Error body: text as it is, anything else as JSON. */
      body: optional(
        rule<string | object>(
          'a string, an object or an array of plain JSON data',
          value => typeof value === 'string' || (typeof value === 'object' && isJson(value)),
        ),
      ),
      /** Added to the usual headers, or in their place. */
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
        choices: [
          ['before', 'before it runs'],
          ['after', 'after it has run'],
        ],
      },
    ],
    // Those come before any other error.
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
          ...(status === '429' && { retryAfter: LEAST_RETRY_AFTER }),
        }
      },
      write({ status, when, retryAfter = null, ...others }) {
        const usual = status === 429 ? LEAST_RETRY_AFTER : null
        const own = retryAfter === usual ? others : { retryAfter, ...others }
        return [`${status}${when === 'after' ? '-after' : ''}`, own]
      },
    },
  },
  /** Waits, then handles the request as usual. */
  delay: {
    label: 'Delay',
    comment: 'the response was held back',
    options: {
      ms: isSize,
      /** Waits up to this many ms longer, as drawn from `seed`. @default 0 */
      jitter: optional(isSize),
      ...REAL,
    },
    form: [MS, { name: 'jitter', label: 'Jitter, ms' }],
    text: {
      expected: 'delay:<duration>, such as delay:500ms, delay:31s or delay:2m',
      examples: ['delay:31s'],
      read: argument => ({ ms: durationOf('ms', argument) }),
      write: ({ ms, ...others }) => [durationText(Number(ms)), others],
    },
  },
  /** Sends the headers at once, and the body in pieces. */
  trickle: {
    label: 'Slow body',
    comment: 'the body was sent in pieces over time',
    options: {
      /** How many bytes a piece has. */
      bytes: isCount,
      /** How long each piece takes. */
      ms: isSize,
      ...REAL,
    },
    form: [{ name: 'bytes', label: 'Bytes', value: '16' }, MS],
    changes: ({ length }) => length > 0,
    text: {
      expected: 'trickle:<bytes>b/<duration>, such as trickle:16b/1s',
      examples: ['trickle:16b/1s'],
      read(argument) {
        const [, bytes, pause = ''] = /^(\d+)b\/(.*)$/.exec(argument) ?? []
        return { bytes: Number(bytes ?? Number.NaN), ms: durationOf('ms', pause) }
      },
      write: ({ bytes, ms, ...others }) => [`${bytes}b/${durationText(Number(ms))}`, others],
    },
  },
  /** Never a response, and the operation does not run. */
  hang: {
    label: 'Never answer',
    comment: 'there was no response',
    options: {},
    loses: 'response',
  },
  /** Runs the operation and cuts the connection, the worst case for a client. */
  reset: {
    label: 'Reset the connection',
    comment: 'the connection was cut and the response lost',
    options: {},
    loses: 'response',
  },
  /** Runs the operation and cuts the connection after half of the body. */
  truncate: {
    label: 'Cut the body off',
    comment: 'the connection was cut after half of the body',
    options: {},
    loses: 'body',
    changes: ({ length }) => length > 0,
  },
  /** Runs the operation and sends half of the body as if it were all. */
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

/** The options of each kind. */
export type FaultOptions = {
  readonly [K in FaultKind]: { readonly kind: K } & OptionsOf<(typeof FAULT_KINDS)[K]['options']>
}[FaultKind]

/** The declaration of a kind, for code that treats all kinds alike. */
export function kindOf(kind: FaultKind): Kind {
  return FAULT_KINDS[kind]
}

/** Whether a fault of this kind changes anything about a response. */
export function changes(kind: FaultKind, response: Response): boolean {
  return kindOf(kind).changes?.(response) ?? true
}

function durationText(ms: number): string {
  if (ms === 0 || ms % 1_000 !== 0) return `${ms}ms`
  if (ms % 60_000 !== 0) return `${ms / 1_000}s`
  return `${ms / 60_000}m`
}

/** In seconds. */
const CENTURY = 36_525 * 86_400

/** Whether it can be sent as JSON, bigints included. */
function isJson(value: unknown): boolean {
  try {
    return /^[[{]/.test(toJson(value))
  } catch {
    return false
  }
}

/** `{ date: seconds from now }` */
function isRetryDate(value: unknown): boolean {
  const seconds = (value as { date?: unknown } | undefined)?.date
  return (
    Number.isSafeInteger(seconds) &&
    Math.abs(Number(seconds)) <= CENTURY &&
    Object.keys(value as object).length === 1
  )
}

/** RFC 9110 §5.6.2. */
export const HEADER_NAME: Rule = {
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
