import {
  isBoolean,
  isCount,
  isFunction,
  isOneOf,
  isTimeout,
  OptionError,
  optional,
  type Rule,
  type Rules,
  readOptions,
  rule,
  type WithDefaults,
} from '../../src/lib/options.js'
import type { Clock } from '../../src/ports.js'
import type { Sleep } from '../client/index.js'
import type { Level } from './check.js'

export interface VerifyOptions {
  /** With its version segment, such as `https://staging.example.org/v1`. */
  readonly baseUrl: string
  /** The API key. */
  readonly apiKey: string
  /**
   * Whether to exhaust the spare key: 429, `Retry-After`, temporary ban.
   * @default false
   */
  readonly limits?: boolean | undefined
  /**
   * A second, throwaway key for `limits`.
   * @default none
   */
  readonly spareKey?: string | undefined
  /**
   * Whether the server should support `Idempotency-Key`, which is not in the specification.
   * @default false
   */
  readonly idempotency?: boolean | undefined
  /**
   * Creates no animals.
   * @default false
   */
  readonly readOnly?: boolean | undefined
  /**
   * Ids or their beginnings, such as `auth` or `create.name`.
   * @default all
   */
  readonly only?: readonly string[] | undefined
  /**
   * Ids or their beginnings.
   * @default none
   */
  readonly skip?: readonly string[] | undefined
  /**
   * `MUST` leaves out what is only common practice.
   * @default both
   */
  readonly level?: Level | undefined
  /**
   * Where the server serves its description, as JSON.
   * @default none
   */
  readonly openApiUrl?: string | undefined
  /**
   * Time limit per request, in ms.
   * @default 10_000
   */
  readonly timeoutMs?: number | undefined
  /**
   * How long all waits for budgets and the end of a ban may take together, in ms.
   * @default 1_800_000
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Stops at the first broken MUST.
   * @default false
   */
  readonly bail?: boolean | undefined
  /**
   * Called with each result of `verify`, and how far the run has come.
   * @default none
   */
  readonly onResult?: ((result: CheckResult, progress: VerifyProgress) => void) | undefined
  /**
   * Called when requests begin to wait: for how many ms, and why.
   * @default none
   */
  readonly onWait?: ((wait: VerifyWait) => void) | undefined
  /**
   * Takes the place of the network, such as the result of `toFetchHandler`. Checks that need a
   * socket are then skipped.
   * @default the platform's
   */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined
  /**
   * The current time, in ms since the Unix epoch.
   * @default Date.now
   */
  readonly clock?: Clock | undefined
  /**
   * Waits: `(ms, { signal }) => Promise`.
   * @default setTimeout
   */
  readonly sleep?: Sleep | undefined
}

export interface CheckResult {
  readonly id: string
  /** A response from 500 on, or none at all, breaks a MUST in any check. */
  readonly level: Level
  readonly source: string
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it was skipped. */
  readonly reason?: string
  /** How the requirement was broken; keys are replaced by words. */
  readonly failure?: {
    readonly sent: string
    readonly came: string
    readonly expected: string
    /** What to do about it, if it may not be the server's own code. */
    readonly hint?: string
  }
}

export interface VerifyProgress {
  readonly checksDone: number
  readonly checks: number
  /** The most requests that are left, besides those with the spare key. */
  readonly requestsLeft: number
  /** The announced limit of the API key; undefined without headers. */
  readonly limit: number | undefined
}

export interface VerifyWait {
  readonly ms: number
  /** In words, such as `for the next window of the key`. */
  readonly reason: string
}

export type ReadOptions = WithDefaults<VerifyOptions, typeof DEFAULTS>

/** @throws OptionError, which never shows an API key */
export function readVerifyOptions(given: VerifyOptions): ReadOptions {
  const options = readOptions(given, DEFAULTS, RULES)
  if (options.limits && options.spareKey === undefined) {
    const expected = 'a throwaway key that the checks of limits may exhaust'
    throw new OptionError({ option: 'spareKey', expected, got: 'none' })
  }
  if (options.spareKey === options.apiKey) {
    throw new OptionError({ option: 'spareKey', expected: 'a second key', got: 'the same one' })
  }
  return options
}

const DEFAULTS = {
  limits: false,
  idempotency: false,
  readOnly: false,
  only: [] as readonly string[],
  skip: [] as readonly string[],
  timeoutMs: 10_000,
  maxWaitMs: 1_800_000,
  bail: false,
  onResult: () => {},
  onWait: () => {},
  clock: () => Date.now(),
}

export const isKey: Rule = {
  expected: 'printable ASCII without spaces',
  accepts: value => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
  secret: true,
}

// Secret, because it may hold a password.
const isAddress: Rule = {
  expected:
    'an address that begins with http:// or https://, without user name, query and fragment',
  accepts: value => typeof value === 'string' && /^https?:[^?#@]*$/i.test(value) && isUrl(value),
  secret: true,
}

const isIds = rule(
  'an array of non-empty strings',
  value => Array.isArray(value) && value.every(id => typeof id === 'string' && id !== ''),
)

const RULES: Rules<VerifyOptions> = {
  baseUrl: isAddress,
  apiKey: isKey,
  limits: isBoolean,
  idempotency: isBoolean,
  spareKey: optional(isKey),
  readOnly: isBoolean,
  only: isIds,
  skip: isIds,
  level: optional(isOneOf(['MUST', 'SHOULD'])),
  openApiUrl: optional({
    ...isAddress,
    accepts: value => typeof value === 'string' && isUrl(value),
  }),
  timeoutMs: isTimeout,
  maxWaitMs: isCount,
  bail: isBoolean,
  onResult: isFunction,
  onWait: isFunction,
  fetch: optional(isFunction),
  clock: isFunction,
  sleep: optional(isFunction),
}

function isUrl(address: string): boolean {
  try {
    const { protocol, host, username } = new URL(address)
    return /^https?:$/.test(protocol) && host !== '' && username === ''
  } catch {
    return false
  }
}
