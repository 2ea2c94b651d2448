import {
  hasMethods,
  isBoolean,
  isCount,
  isFunction,
  isSize,
  type OptionsOf,
  optional,
  rule,
  type SettingsOf,
  typed,
  withDefault,
} from '../../src/lib/check-options.js'
import type { OnListenerError } from '../../src/lib/listeners.js'
import { isDuration, isTimeout } from '../../src/lib/time.js'
import type { Clock } from '../../src/ports.js'
import { isApiKey, isServiceUrl } from '../access-rules.js'
import { reportListenerError } from '../warnings.js'
import type { Degraded, Retrying, Sending, Wait } from './hooks.js'
import type { RedisConnection } from './shared-through-redis.js'
import type { Sleep, Time } from './time.js'

export const CLIENT_OPTIONS = {
  /** Includes the version segment, such as `http://127.0.0.1:4280/v1`. */
  baseUrl: isServiceUrl,
  /** The API key. */
  apiKey: isApiKey,
  /** Largest response, in bytes after decompression. @default 16_777_216 */
  maxResponseBytes: withDefault(isCount, 16_777_216),
  /** Waits until a ban ends, however long, instead of failing. @default false */
  waitForBan: withDefault(isBoolean, false),
  /**
   * Retries `createPet` after a 503 `storage_unavailable`. Over PostgreSQL, the animal may then be
   * stored twice.
   * @default false
   */
  retryCreates: withDefault(isBoolean, false),
  /**
   * Sends an `Idempotency-Key` with each create, and retries it like a read. Requires a server with
   * idempotency.
   * @default false
   */
  idempotency: withDefault(isBoolean, false),
  /** Concurrent requests. Up to ten rejections at once ban no key. @default 10 */
  maxConcurrent: withDefault(isCount, 10),
  /** Maximum number of waiting calls; one more gets a QueueFullError. @default 10_000 */
  maxQueued: withDefault(isSize, 10_000),
  /** Retries after the first attempt. A 429 that others on the key caused does not count. @default 3 */
  maxRetries: withDefault(isSize, 3),
  /** Longest wait; a call that has to wait longer fails instead. @default '2m' */
  maxWait: withDefault(isDuration, '2m'),
  /** Time limit per attempt. @default '30s' */
  timeout: withDefault(isTimeout, '30s'),
  /** Shares the key between processes: the URL of a Redis or Valkey, or a client of ioredis. @default none */
  shared: optional<string | RedisConnection>({
    expected:
      'an address that begins with redis://, rediss://, valkey:// or valkeys://, or a client of ioredis',
    accepts: value =>
      typeof value === 'string'
        ? /^(redis|valkey)s?:\/\/[^/?#\s]/.test(value) && URL.canParse(value)
        : hasMethods('duplicate').accepts(value),
    secret: true,
  }),
  /** Sends the requests. @default the platform's */
  fetch: optional(typed<typeof globalThis.fetch>(isFunction)),
  /** Called before each attempt. @default none */
  onRequest: optional(typed<(sending: Sending) => void>(isFunction)),
  /** Called when calls begin to wait, with the reason and the end. @default none */
  onWait: optional(typed<(wait: Wait) => void>(isFunction)),
  /** Called before a failed request is retried. @default none */
  onRetry: optional(typed<(retrying: Retrying) => void>(isFunction)),
  /** Called when the Redis of `shared` fails, and calls no longer share the key. @default none */
  onDegraded: optional(typed<(failure: Degraded) => void>(isFunction)),
  /** Called when they share it again. @default none */
  onRecovered: optional(typed<(recovery: object) => void>(isFunction)),
  /**
   * Receives `{ error, name }`: the first error of each hook.
   * @default a process warning; `console.error` in browsers
   */
  onListenerError: withDefault(typed<OnListenerError>(isFunction), reportListenerError),
  /** The current time, in ms since the Unix epoch. @default Date.now */
  clock: optional(typed<Clock>(isFunction)),
  /** Waits: `(ms, { signal }) => Promise`. @default setTimeout */
  sleep: optional(typed<Sleep>(isFunction)),
  /** From 0 up to 1. @default Math.random */
  random: withDefault(typed<() => number>(isFunction), () => Math.random()),
}
/**
 * @example
 * import { createClient } from 'animal-adoption-store/client'
 *
 * const access = { baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-free' }
 * const pets = createClient({ ...access, onWait: wait => console.log(wait.reason, wait.waitMs) })
 */
export interface ClientOptions extends OptionsOf<typeof CLIENT_OPTIONS> {}

export interface ClientSettings extends SettingsOf<typeof CLIENT_OPTIONS> {
  readonly time: Time
}

/** Checks the shape, because signals may come from other realms and polyfills. */
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
