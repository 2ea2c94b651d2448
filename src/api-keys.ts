import {
  check,
  isObject,
  isOneOf,
  isSecretObject,
  OptionError,
  optional,
  type Rules,
  readOptions,
} from './options.js'
import { checkPolicy, PLAN_NAMES, PLANS, type Plan, type PlanTable, type Policy } from './plans.js'

/** Who a key belongs to and what it may use. */
export interface ApiKey {
  /** Names the key in events, logs and counters; a budget belongs to it. */
  readonly id: string
  readonly plan: Plan
  /** Enterprise only, and required there: the plan's numbers are agreed per customer (spec §8). */
  readonly limits?: Policy | undefined
}

/** A key as the store knows it: its policy looked up and checked. */
export interface KnownKey {
  readonly id: string
  readonly plan: Plan
  readonly policy: Policy
}

/**
 * The keys that are valid now. Keys are compared whole, as data: `__proto__` is a key like any
 * other.
 */
export interface ApiKeys {
  find(key: string): KnownKey | undefined
  /**
   * Makes a key valid from the next request on. Throws when its record is not right or its id is
   * taken.
   */
  add(key: string, record: ApiKey): void
  /** Revokes a key; false when there was none. */
  remove(key: string): boolean
}

export function createApiKeys(
  records: Readonly<Record<string, ApiKey>>,
  plans: PlanTable = PLANS,
): ApiKeys {
  const keys = new Map<string, KnownKey>()
  const ids = new Set<string>()

  const apiKeys: ApiKeys = {
    find: key => keys.get(key),
    add(key, record) {
      if (!/^[\x21-\x7e]+$/.test(key)) {
        throw new OptionError('Expected an API key to be printable ASCII without spaces')
      }
      const known = readApiKey(record, plans)
      if (keys.has(key)) throw new OptionError('Expected each API key once, got one of them twice')
      if (ids.has(known.id))
        throw new OptionError(`Expected each key id once, got '${known.id}' twice`)
      keys.set(key, known)
      ids.add(known.id)
    },
    remove(key) {
      const known = keys.get(key)
      if (known) ids.delete(known.id)
      return keys.delete(key)
    },
  }
  for (const [key, record] of Object.entries(records)) apiKeys.add(key, record)
  return apiKeys
}

/**
 * The token of `Authorization: Bearer <API_KEY>` (spec §5, RFC 6750 §2.1). The scheme may be in any
 * case (RFC 9110 §11.1); undefined when the header is missing, empty or of another scheme.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (typeof authorization !== 'string') return undefined
  // As nearly everyone sends it.
  const token = authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
  if (token !== '' && !token.includes(' ')) return token
  // Only one way to split a run of spaces, so that a long one costs no more than its length.
  return /^bearer +([^ ](?:.*[^ ])?) *$/i.exec(authorization)?.[1]
}

function readApiKey(record: ApiKey, plans: PlanTable): KnownKey {
  check('apiKeys[…]', record, isSecretObject)
  // The key itself is a secret, so a message names its record by the id.
  const field =
    typeof record.id === 'string' && record.id !== '' ? `apiKeys['${record.id}']` : 'apiKeys[…]'
  const { id, plan, limits } = readOptions(record, {}, KEY_RULES, `${field}.`)
  if (plan === 'enterprise') return { id, plan, policy: checkPolicy(`${field}.limits`, limits) }
  if (limits === undefined) return { id, plan, policy: plans[plan] }
  throw new OptionError(`Expected \`${field}.limits\` only on enterprise, got it on ${plan}`)
}

const KEY_RULES: Rules<ApiKey> = {
  id: {
    expected: "a non-empty string that does not begin with 'addr:'",
    accepts: id => typeof id === 'string' && id !== '' && !id.startsWith('addr:'),
  },
  plan: isOneOf(PLAN_NAMES),
  limits: optional(isObject),
}
