import type { CredentialProblem } from '../api-error.js'
import {
  check,
  isObject,
  isOneOf,
  isSecretObject,
  OptionError,
  type OptionsOf,
  optional,
  rule,
  settingsOf,
  type TimeRule,
  typed,
} from '../lib/check-options.js'
import { type Instant, isInstant } from '../lib/time.js'
import {
  checkLimits,
  type Limits,
  PLAN_NAMES,
  PLANS,
  type Plan,
  type PlanTable,
} from '../limits/plans.js'

/** Refuses seconds, such as `exp` of a JWT: the key would have expired in 1970. */
const isExpiry: TimeRule<Instant> = {
  ...isInstant,
  accepts: value => isInstant.accepts(value) && (typeof value !== 'number' || value >= 1e11),
}

/** The owner and plan of a key; only enterprise keys have custom limits (spec §8). */
export type ApiKey = Omit<OptionsOf<typeof API_KEY>, 'plan' | 'limits'> &
  (
    | { readonly plan: 'enterprise'; readonly limits: Limits }
    | { readonly plan: Exclude<Plan, 'enterprise'>; readonly limits?: undefined }
  )
const API_KEY = {
  /** Names the key in events and counters. Keys with one id share a budget, to rotate without a gap. */
  // In UTF-8, ids with different lone surrogates would become equal and share one budget.
  id: rule<string>(
    "a non-empty, well-formed string that does not begin with 'addr:'",
    id => typeof id === 'string' && /^(?!addr:)\P{Surrogate}+$/su.test(id),
  ),
  /** Must be equal for keys with the same id, as must the limits. */
  // Never shows a misplaced key, but does show a plan in another case.
  plan: { ...isOneOf(PLAN_NAMES), secret: isNoPlan },
  /** Required on enterprise, not allowed on other plans (spec §8). */
  limits: optional(typed<Limits>(isObject)),
  /** First instant at which the key is invalid. A number is ms, and at least 10^11. */
  expiresAt: optional(isExpiry),
} as const

function isNoPlan(text: string): boolean {
  return !PLAN_NAMES.some(name => name === text.toLowerCase())
}

export interface KnownKey {
  readonly id: string
  readonly plan: Plan
  readonly limits: Limits
  readonly expiresAt?: number | undefined
}

/** Returns SHA-256 as 64 lower-case hex digits. */
export type Sha256 = (text: string) => string

export interface ApiKeys {
  /** @param now in ms since the Unix epoch; if omitted, finds expired keys too */
  find(apiKey: string, now?: number): KnownKey | undefined
  /**
   * @param apiKey the key, or `sha256:` and its digest in hex
   * @throws OptionError for an invalid record, a key already in use, or another plan for its id
   */
  add(apiKey: string, record: ApiKey): void
  /** Revokes a key, named as it was added. Returns false if it was not there. */
  remove(apiKey: string): boolean
}

export interface KeyRing extends ApiKeys {
  list(): readonly KnownKey[]
  /** Secret keys, without those known only by digest. Same array until they change. */
  keys(): readonly string[]
  copy(): KeyRing
}

/** @throws OptionError for an invalid record, or an id with two plans */
export function createApiKeys(
  records: Readonly<Record<string, ApiKey>>,
  plans: PlanTable = PLANS,
  sha256: Sha256 | null = null,
): KeyRing {
  const none = { plain: new Map(), digests: new Map(), owners: new Map() }
  const ring = createRing(none, plans, sha256)
  for (const [key, record] of Object.entries(records)) ring.add(key, record)
  return ring
}

interface Keys {
  readonly plain: Map<string, KnownKey>
  readonly digests: Map<string, KnownKey>
  readonly owners: Map<string, Owner>
}

interface Owner {
  /** Any record of the id, as all have the same plan. */
  readonly record: KnownKey
  readonly keys: number
}

function createRing(keys: Keys, plans: PlanTable, sha256: Sha256 | null): KeyRing {
  const { plain, digests, owners } = keys
  let list: readonly string[] | undefined
  return {
    find(apiKey, now = Number.NEGATIVE_INFINITY) {
      const known = plain.get(apiKey) ?? findByDigest(apiKey)
      return known?.expiresAt !== undefined && now >= known.expiresAt ? undefined : known
    },
    add(apiKey, record) {
      if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
        const expected = 'printable ASCII without spaces'
        throw invalidKeys(expected, `Expected an API key to be ${expected}`)
      }
      const { map, name } = locate(apiKey)
      const known = readApiKey(record, plans)
      if (map.has(name)) throw invalidKeys('each key once', 'Duplicate API key')
      const { record: other = known, keys: count = 0 } = owners.get(known.id) ?? {}
      checkSamePlan(known, other)
      map.set(name, known)
      owners.set(known.id, { record: other, keys: count + 1 })
      list = undefined
    },
    remove(apiKey) {
      const { map, name } = locate(apiKey)
      const known = map.get(name)
      if (!known) return false
      map.delete(name)
      list = undefined
      const { keys: count = 1 } = owners.get(known.id) ?? {}
      if (count === 1) owners.delete(known.id)
      else owners.set(known.id, { record: known, keys: count - 1 })
      return true
    },
    list: () => [...plain.values(), ...digests.values()],
    keys: () => (list ??= [...plain.keys()]),
    copy() {
      const copied = { plain: new Map(plain), digests: new Map(digests), owners: new Map(owners) }
      return createRing(copied, plans, sha256)
    },
  }

  function findByDigest(apiKey: string): KnownKey | undefined {
    return sha256 && digests.size > 0 ? digests.get(sha256(apiKey)) : undefined
  }

  function locate(apiKey: string): { readonly map: Map<string, KnownKey>; readonly name: string } {
    if (!apiKey.startsWith(DIGEST)) return { map: plain, name: apiKey }
    const name = apiKey.slice(DIGEST.length)
    if (!/^[0-9a-f]{64}$/.test(name)) {
      const expected = 'followed by 64 lower-case hex digits'
      throw invalidKeys(expected, `Expected ${DIGEST} in an API key to be ${expected}`)
    }
    if (!sha256) {
      const message = 'API keys given by their digest need the option `sha256`'
      throw new OptionError({ option: 'sha256', expected: 'a function' }, message)
    }
    return { map: digests, name }
  }
}

/** Prefix of a digest given in place of a key. */
export const DIGEST = 'sha256:'

function checkSamePlan(one: KnownKey, other: KnownKey): void {
  if (planOf(one) === planOf(other)) return
  throw invalidKeys(
    'one plan for each id',
    `Expected all API keys of '${one.id}' to have the same plan and limits`,
  )
}

function invalidKeys(expected: string, message: string): OptionError {
  return new OptionError({ option: 'apiKeys', expected }, message)
}

function planOf({ plan, limits }: KnownKey): string {
  return [plan, limits.perMinute, limits.perDay, limits.banAfterRejections].join()
}

/**
 * Reads the token of `Authorization: Bearer <API_KEY>` (spec §5, RFC 6750 §2.1), with the scheme in
 * any case (RFC 9110 §11.1). Undefined if the header is missing, empty or of another scheme.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (typeof authorization !== 'string') return undefined
  // Fast path for the form that nearly every client sends.
  const token = authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
  if (token !== '' && !token.includes(' ')) return token
  // A run of spaces splits in only one way, so matching is linear.
  return /^bearer +([^ ](?:.*[^ ])?) *$/i.exec(authorization)?.[1]
}

export function credentialProblem(
  headers: Readonly<Record<string, string | undefined>> = {},
): CredentialProblem {
  const { authorization, 'x-api-key': elsewhere } = headers
  const given = typeof authorization === 'string' ? authorization.trim() : ''
  if (given === '') return elsewhere === undefined ? 'missing' : 'elsewhere'
  if (/^bearer$/i.test(given)) return 'empty'
  return given.includes(' ') ? 'scheme' : 'alone'
}

function readApiKey(record: ApiKey, plans: PlanTable): KnownKey {
  check('apiKeys[…]', record, isSecretObject)
  // The key is a secret, so messages name the id.
  const isNamed = typeof record.id === 'string' && record.id !== ''
  const field = isNamed ? `apiKeys['${record.id}']` : 'apiKeys[…]'
  if (!isNamed && Object.keys(record).some(name => !Object.hasOwn(API_KEY, name))) {
    // The property names may be keys, one level too deep.
    const expected = `one of ${Object.keys(API_KEY).join(', ')}`
    throw new OptionError(
      { option: field, expected },
      `Unknown field in \`${field}\`; expected ${expected}`,
    )
  }
  const { id, plan, limits, expiresAt } = settingsOf(API_KEY, record, `${field}.`)
  if (plan !== 'enterprise' && limits !== undefined) {
    const message = `Expected \`${field}.limits\` only on enterprise, got it on ${plan}`
    throw new OptionError(
      { option: `${field}.limits`, expected: `undefined on ${plan}`, got: 'an object' },
      message,
    )
  }
  const known = {
    ...{ id, plan },
    limits: plan === 'enterprise' ? checkLimits(`${field}.limits`, limits) : plans[plan],
  }
  return expiresAt === undefined ? known : { ...known, expiresAt }
}
