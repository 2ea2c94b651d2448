import {
  isBoolean,
  isFunction,
  isOneOf,
  OptionError,
  type OptionsOf,
  optional,
  rule,
  type SettingsOf,
  settingsOf,
  typed,
  withDefault,
} from '../../src/lib/check-options.js'
import { durationFrom, isTimeout } from '../../src/lib/time.js'
import type { Clock } from '../../src/ports.js'
import { isApiKey, isServiceUrl } from '../access-rules.js'
import type { Wait } from '../client/hooks.js'
import type { Sleep } from '../client/index.js'
import type { Level } from './check-types.js'

const isIds = rule(
  'an array of non-empty strings',
  value => Array.isArray(value) && value.every(id => typeof id === 'string' && id !== ''),
)

export const VERIFY_OPTIONS = {
  /** Base address with its version segment, such as `https://staging.example.org/v1`. */
  baseUrl: isServiceUrl,
  /** The API key. */
  apiKey: isApiKey,
  /** Exhausts the spare key: 429, `Retry-After`, temporary ban. @default false */
  exhaust: withDefault(isBoolean, false),
  /** A second, throwaway key for `exhaust`. @default none */
  spareApiKey: optional(isApiKey),
  /** Requires `Idempotency-Key`, which is not in the specification. @default false */
  idempotency: withDefault(isBoolean, false),
  /** Creates no animals. @default false */
  readOnly: withDefault(isBoolean, false),
  /** Ids or prefixes of ids to run, such as `auth` or `create.name`. @default all */
  only: withDefault(typed<readonly string[]>(isIds), []),
  /** Ids or prefixes of ids to leave out. @default none */
  skip: withDefault(typed<readonly string[]>(isIds), []),
  /** `MUST` leaves out common practice. @default both */
  level: optional(typed<Level>(isOneOf(['MUST', 'SHOULD']))),
  /** Address of the server's description, as JSON. @default none */
  openApiUrl: optional(
    typed<string>({
      ...isServiceUrl,
      accepts: value =>
        typeof value === 'string' && isServiceUrl.accepts(value.replace(/[?#].*/s, '')),
    }),
  ),
  /** Time limit per request. @default '10s' */
  timeout: withDefault(isTimeout, '10s'),
  /** Time limit for all waits together. @default '30m' */
  maxWait: withDefault(durationFrom(1), '30m'),
  /** Stops at the first broken MUST. @default false */
  bail: withDefault(isBoolean, false),
  /** Called with each result of `verify` and the progress of the run. @default none */
  onResult: withDefault(typed<(progress: VerifyProgress) => void>(isFunction), () => {}),
  /** Called when requests begin to wait, with the reason and the end. @default none */
  onWait: withDefault(typed<(wait: Wait) => void>(isFunction), () => {}),
  /** Replaces the network; checks that need a socket are then skipped. @default the platform's */
  fetch: optional(typed<typeof globalThis.fetch>(isFunction)),
  /** The current time, in ms since the Unix epoch. @default Date.now */
  clock: withDefault(typed<Clock>(isFunction), () => Date.now()),
  /** Waits: `(ms, { signal }) => Promise`. @default setTimeout */
  sleep: optional(typed<Sleep>(isFunction)),
}
/**
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 * import { verify } from 'animal-adoption-store/verify'
 *
 * const { baseUrl, fetch } = createTestDouble()
 * await verify({ baseUrl, fetch, apiKey: 'demo-business', readOnly: true, skip: ['ratelimit'] })
 */
export interface VerifyOptions extends OptionsOf<typeof VERIFY_OPTIONS> {}

export interface CheckResult {
  readonly id: string
  /** A response from 500 on, or none at all, breaks a MUST in any check. */
  readonly level: Level
  readonly source: string
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly reason?: string
  /** The broken requirement; keys are replaced by words. */
  readonly failure?: {
    readonly sent: string
    readonly came: string
    readonly expected: string
    /** Advice, if the failure may not be the server's own. */
    readonly hint?: string
  }
}

export interface VerifyProgress {
  readonly result: CheckResult
  readonly checksDone: number
  readonly checkCount: number
  /** Maximum requests left, besides those with the spare key. */
  readonly requestsLeft: number
  /** The announced limit of the API key; undefined without headers. */
  readonly limit: number | undefined
}

export type ReadOptions = SettingsOf<typeof VERIFY_OPTIONS>

/** @throws OptionError, which never shows an API key */
export function readVerifyOptions(given: VerifyOptions): ReadOptions {
  const options = settingsOf(VERIFY_OPTIONS, given)
  if (options.exhaust && options.spareApiKey === undefined) {
    const expected = 'a throwaway key that the checks of limits may exhaust'
    throw new OptionError({ option: 'spareApiKey', expected, got: 'none' })
  }
  if (options.spareApiKey === options.apiKey) {
    throw new OptionError({ option: 'spareApiKey', expected: 'a second key', got: 'the same one' })
  }
  return options
}
