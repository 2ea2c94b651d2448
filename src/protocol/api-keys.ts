import {
  check,
  isObject,
  isOneOf,
  isSecretObject,
  OptionError,
  optional,
  type Rules,
  readOptions,
  rule,
} from '../lib/options.js'
import {
  checkPolicy,
  PLAN_NAMES,
  PLANS,
  type Plan,
  type PlanTable,
  type Policy,
} from '../limits/plans.js'

/** Who a key belongs to, and its plan. */
export interface ApiKey {
  /** Names the key in events, logs and counters. Budgets belong to it. */
  readonly id: string
  readonly plan: Plan
  /** Required on enterprise, not allowed on other plans (spec §8). */
  readonly limits?: Policy | undefined
}

/** A checked key with its policy. */
export interface KnownKey {
  readonly id: string
  readonly plan: Plan
  readonly policy: Policy
}

/** The currently valid keys. */
export interface ApiKeys {
  find(key: string): KnownKey | undefined
  /**
   * Makes a key valid from the next request on.
   *
   * @throws OptionError for an invalid record, or a key or id already in use
   */
  add(key: string, record: ApiKey): void
  /** Revokes a key; false when it was not valid. */
  remove(key: string): boolean
}

/** The valid keys, as used within this package. */
export interface KeyRing extends ApiKeys {
  list(): readonly KnownKey[]
  /** The keys themselves: secrets. */
  keys(): Iterable<string>
  copy(): KeyRing
}

/** @throws OptionError for an invalid record, or an id in use twice */
export function createApiKeys(
  records: Readonly<Record<string, ApiKey>>,
  plans: PlanTable = PLANS,
): KeyRing {
  const ring = createRing(new Map(), new Set(), plans)
  for (const [key, record] of Object.entries(records)) ring.add(key, record)
  return ring
}

function createRing(keys: Map<string, KnownKey>, ids: Set<string>, plans: PlanTable): KeyRing {
  return {
    find: key => keys.get(key),
    add(key, record) {
      if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
        const expected = 'printable ASCII without spaces'
        const message = `Expected an API key to be ${expected}`
        throw new OptionError({ option: 'apiKeys', expected }, message)
      }
      const known = readApiKey(record, plans)
      if (keys.has(key)) throw duplicate('API key')
      if (ids.has(known.id)) throw duplicate(`API key id '${known.id}'`)
      keys.set(key, known)
      ids.add(known.id)
    },
    remove(key) {
      const known = keys.get(key)
      if (known) ids.delete(known.id)
      return keys.delete(key)
    },
    list: () => [...keys.values()],
    keys: () => keys.keys(),
    copy: () => createRing(new Map(keys), new Set(ids), plans),
  }
}

/**
 * The token of `Authorization: Bearer <API_KEY>` (spec §5, RFC 6750 §2.1), with the scheme in any
 * case (RFC 9110 §11.1). Undefined when the header is missing, empty or of another scheme.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (typeof authorization !== 'string') return undefined
  // The form that nearly every client sends.
  const token = authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
  if (token !== '' && !token.includes(' ')) return token
  // A run of spaces can be split in one way only, so matching is linear.
  return /^bearer +([^ ](?:.*[^ ])?) *$/i.exec(authorization)?.[1]
}

function readApiKey(record: ApiKey, plans: PlanTable): KnownKey {
  check('apiKeys[…]', record, isSecretObject)
  // The key itself is a secret, so messages name the id.
  const field =
    typeof record.id === 'string' && record.id !== '' ? `apiKeys['${record.id}']` : 'apiKeys[…]'
  const { id, plan, limits } = readOptions(record, {}, KEY_RULES, `${field}.`)
  if (plan === 'enterprise') return { id, plan, policy: checkPolicy(`${field}.limits`, limits) }
  if (limits === undefined) return { id, plan, policy: plans[plan] }
  const message = `Expected \`${field}.limits\` only on enterprise, got it on ${plan}`
  throw new OptionError(
    { option: `${field}.limits`, expected: `undefined on ${plan}`, got: 'an object' },
    message,
  )
}

function duplicate(what: string): OptionError {
  return new OptionError(
    { option: 'apiKeys', expected: 'an object with each key and id once' },
    `Duplicate ${what}`,
  )
}

const KEY_RULES: Rules<ApiKey> = {
  // Encoded as UTF-8, ids with different lone surrogates would share one budget.
  id: rule(
    "a non-empty, well-formed string that does not begin with 'addr:'",
    id => typeof id === 'string' && /^(?!addr:)\P{Surrogate}+$/su.test(id),
  ),
  plan: isOneOf(PLAN_NAMES),
  limits: optional(isObject),
}
