import {
  hasMethods,
  isBoolean,
  isCount,
  isFunction,
  isOneOf,
  isSize,
  isText,
  OptionError,
  optional,
  type Rules,
  readOptions,
  rule,
} from '../../src/lib/options.js'
import type { Clock } from '../../src/ports.js'
import type { Retrying, Sending } from './gate.js'
import type { LimitHeaders } from './limit-headers.js'
import type { RedisConnection } from './shared.js'
import type { Wait } from './throttle.js'
import type { Sleep } from './time.js'

/** Options of `createClient` and of `politeFetch`. */
export interface GateSettings {
  /**
   * Concurrent requests. That many can be rejected at once; up to ten do not ban a key of any plan
   * of the specification.
   * @default 10
   */
  readonly maxConcurrent?: number | undefined
  /**
   * Calls that may wait for a slot; one more gets a QueueFullError.
   * @default 10_000
   */
  readonly maxQueued?: number | undefined
  /**
   * Retries after the first attempt. A 429 that others on the key caused does not count.
   * @default 3
   */
  readonly maxRetries?: number | undefined
  /**
   * When the limit or the server demands a longer wait, in ms, the call fails instead.
   * @default 120_000
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Time limit per attempt, in ms: for the complete response, with `politeFetch` for its headers.
   * @default 30_000
   */
  readonly timeoutMs?: number | undefined
  /**
   * Where processes that use the same key share its units: the URL of a Redis or Valkey, or a client
   * of ioredis. Needs that package.
   * @default none
   */
  readonly shared?: string | RedisConnection | undefined
  /**
   * Called before each attempt.
   * @default none
   */
  readonly onRequest?: ((sending: Sending) => void) | undefined
  /**
   * Called when calls begin to wait: why, and until when.
   * @default none
   */
  readonly onWait?: ((wait: Wait) => void) | undefined
  /**
   * Called when a request failed and is sent again.
   * @default none
   */
  readonly onRetry?: ((retrying: Retrying) => void) | undefined
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
  /**
   * From 0 up to 1.
   * @default Math.random
   */
  readonly random?: (() => number) | undefined
}

export interface PoliteFetchOptions extends GateSettings {
  /** Which headers describe the limit; see `LimitHeaders`. `Retry-After` is always honoured. */
  readonly limits: LimitHeaders
  /**
   * The API key, or anything else that the limit belongs to. Required with `shared`, which sees
   * only a hash of it.
   * @default none
   */
  readonly key?: string | undefined
}

export interface ClientOptions extends GateSettings {
  /** With its version segment, such as `http://127.0.0.1:4280/v1`. */
  readonly baseUrl: string
  /** The API key. */
  readonly apiKey: string
  /**
   * Largest response, in bytes after decompression; a larger one is a ContractError.
   * @default 16_777_216
   */
  readonly maxResponseBytes?: number | undefined
  /**
   * Whether calls wait until a ban of the key ends, however long, instead of failing.
   * @default false
   */
  readonly waitForBan?: boolean | undefined
  /**
   * Whether `createPet` is retried after a 503 `storage_unavailable`. A server over PostgreSQL may
   * have stored the animal nevertheless, and then stores it twice.
   * @default false
   */
  readonly retryCreates?: boolean | undefined
  /**
   * Whether each create is sent with an `Idempotency-Key` of its own, and retried after every failure
   * that may have taken effect. Requires a server with idempotency: others store it twice.
   * @default false
   */
  readonly idempotency?: boolean | undefined
  /**
   * Sends the requests.
   * @default the platform's
   */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/**
 * Fills in the defaults.
 *
 * @throws OptionError, which never shows the API key
 */
export function readClientOptions(given: ClientOptions) {
  // Not a rule: its message would show the password.
  if (/^[^/]*\/\/[^/]*@/.test(String(given?.baseUrl))) {
    throw new OptionError(
      { option: 'baseUrl', expected: 'an address without user name and password' },
      'Expected `baseUrl` without user name and password',
    )
  }
  return readOptions(given, { ...GATE_DEFAULTS, ...DEFAULTS }, RULES)
}

/** @throws OptionError, which never shows the key */
export function readPoliteFetchOptions(given: PoliteFetchOptions) {
  const options = readOptions(given, GATE_DEFAULTS, POLITE_FETCH_RULES)
  if (options.shared !== undefined && options.key === undefined) {
    const expected = 'the API key, or whatever else the limit belongs to, with `shared`'
    throw new OptionError({ option: 'key', expected, got: 'none' })
  }
  return options
}

const GATE_DEFAULTS = {
  maxConcurrent: 10,
  maxQueued: 10_000,
  maxRetries: 3,
  maxWaitMs: 120_000,
  timeoutMs: 30_000,
  random: () => Math.random(),
}

const DEFAULTS = {
  maxResponseBytes: 16_777_216,
  waitForBan: false,
  retryCreates: false,
  idempotency: false,
}

/** By its shape: there are signals of other realms and of polyfills. */
export const isSignal = optional(
  rule(
    'an AbortSignal',
    value => typeof (value as Partial<AbortSignal> | null)?.addEventListener === 'function',
  ),
)

export const isIdempotencyKey = rule(
  '1 to 255 printable ASCII characters',
  value => typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value),
)

const GATE_RULES: Rules<GateSettings> = {
  maxConcurrent: isCount,
  maxQueued: isSize,
  maxRetries: isSize,
  maxWaitMs: isSize,
  timeoutMs: isCount,
  shared: {
    expected:
      'an address that begins with redis://, rediss://, valkey:// or valkeys://, or a client of ioredis',
    accepts: value =>
      typeof value === 'string'
        ? /^(redis|valkey)s?:\/\/[^/]/.test(value) && isUrl(value)
        : value === undefined || hasMethods('duplicate').accepts(value),
    secret: true,
  },
  onRequest: optional(isFunction),
  onWait: optional(isFunction),
  onRetry: optional(isFunction),
  clock: optional(isFunction),
  sleep: optional(isFunction),
  random: isFunction,
}

const LIMIT_HEADERS: readonly LimitHeaders[] = ['x-ratelimit', 'ratelimit-draft', 'retry-after']

const POLITE_FETCH_RULES: Rules<PoliteFetchOptions> = {
  ...GATE_RULES,
  limits: isOneOf(LIMIT_HEADERS),
  key: { ...optional(isText), secret: true },
}

const RULES: Rules<ClientOptions> = {
  ...GATE_RULES,
  apiKey: {
    expected: 'printable ASCII without spaces',
    accepts: value => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
    secret: true,
  },
  baseUrl: {
    expected: 'an address that begins with http:// or https://, without query and fragment',
    accepts: value => typeof value === 'string' && /^https?:[^?#]*$/i.test(value) && isUrl(value),
  },
  maxResponseBytes: isCount,
  waitForBan: isBoolean,
  retryCreates: isBoolean,
  idempotency: isBoolean,
  fetch: optional(isFunction),
}

function isUrl(address: string): boolean {
  try {
    return new URL(address).host !== ''
  } catch {
    return false
  }
}
