import { type RateLimit, rateLimitOf } from './errors.js'
import { createEvents, type Emit, type StoreEmitter } from './events.js'
import {
  hasMethods,
  isBoolean,
  isCount,
  isFunction,
  isInstant,
  isObject,
  isOneOf,
  isSecretObject,
  isSize,
  isTimeout,
  OptionError,
  orNull,
  type Rules,
  readOptions,
} from './lib/options.js'
import { type Timer, withCircuitBreaker } from './limits/circuit-breaker.js'
import { countsHere, memoryRateLimits } from './limits/memory.js'
import { RATE_LIMIT_MODE, type RateLimitMode } from './limits/mode.js'
import { checkPolicy, PLANS, type PlanTable } from './limits/plans.js'
import { createPetOperations, type Idempotency, type Pets, type Signal } from './pets/operations.js'
import { checkListPetsQuery } from './pets/query.js'
import type { NewPet, Pet } from './pets/schema.js'
import { BASE_PATH, PET_STATUSES, type PetStatus, SUNSET } from './pets/specification.js'
import type { Clock, PetStorage, RateLimitStore } from './ports.js'
import { type Admission, createGate } from './protocol/admission.js'
import { type ApiKey, type ApiKeys, createApiKeys, type Sha256 } from './protocol/api-keys.js'
import { MAX_BODY_BYTES } from './protocol/body.js'
import { createProtocol, type Protocol } from './protocol/protocol.js'
import { DRAFTS, type Draft } from './protocol/response.js'

export interface StoreOptions {
  readonly storage: PetStorage
  /** The valid API keys. */
  readonly apiKeys: Readonly<Record<string, ApiKey>>
  /**
   * Computes SHA-256 in hex, for keys that are given as `sha256:<hex>`.
   * @default null
   */
  readonly sha256?: Sha256 | null
  /**
   * The current time, in ms since the Unix epoch.
   * @default Date.now
   */
  readonly clock?: Clock
  /**
   * `false` turns rate limiting off, headers included. 'shadow' counts and reports like `true`, with
   * the same headers and events, but rejects nothing: what a limit would do can be seen first.
   * @default true
   */
  readonly rateLimit?: RateLimitMode
  /**
   * Where usage is counted.
   * @default memoryRateLimits()
   */
  readonly rateLimits?: RateLimitStore
  /**
   * How long to wait for `rateLimits`, in ms, before this process counts by itself.
   * @default 150
   */
  readonly rateLimitTimeoutMs?: number
  /**
   * Replaces the limits of some plans.
   * @default PLANS
   */
  readonly plans?: Partial<PlanTable>
  /**
   * The path that every base address ends with.
   * @default '/v1'
   */
  readonly basePath?: string
  /**
   * The status of an animal created without one; `null` stores none.
   * @default 'available'
   */
  readonly defaultStatus?: PetStatus | null
  /**
   * When `GET /pets/{petId}` is removed, in ms since the epoch; `null` keeps it.
   * @default SUNSET
   */
  readonly sunset?: number | null
  /**
   * Since when it is deprecated, in ms since the epoch, for the `Deprecation` header (RFC 9745).
   * @default null
   */
  readonly deprecatedAt?: number | null
  /**
   * Adds `after=<id>` and `Link: …; rel="next"` to lists.
   * @default false
   */
  readonly pagination?: boolean
  /**
   * Answers preflights and sends CORS headers, for every origin.
   * @default false
   */
  readonly cors?: boolean
  /**
   * Also sends `RateLimit` and `RateLimit-Policy` in the form of this draft.
   * @default null
   */
  readonly standardHeaders?: Draft | null
  /**
   * Stores a create with an `Idempotency-Key` once, and answers its repetitions for `ttlMs` ms with
   * the same animal (draft-ietf-httpapi-idempotency-key-header-07). Requires a storage with
   * `insertOnce`.
   * @default null
   */
  readonly idempotency?: Idempotency | null
  /**
   * The largest request body, in bytes; larger ones get 413.
   * @default 1_048_576
   */
  readonly maxBodyBytes?: number
}

/** Its own `createPet`, `listPets` and `getPet` are for the trusted host: no key, no limits. */
export interface Store extends Pets, Protocol {
  /** The same operations on behalf of an API key: also throws ApiError 401 and 429. */
  forKey(apiKey: string): MeteredPets
  /** The valid keys, which can be added and revoked at any time. */
  readonly apiKeys: ApiKeys
  readonly events: StoreEmitter
}

export interface MeteredPets extends Pets {
  /** The limit after the latest call; undefined before the first. */
  readonly rateLimit: RateLimit | undefined
}

/**
 * Creates the store: pets over a storage, for the host, for API keys, and as the whole protocol.
 *
 * @throws OptionError naming the invalid option and its value
 */
export function createStore(options: StoreOptions): Store {
  return openStore(readStoreOptions(options))
}

/** Options with their defaults, checked. */
export type StoreSettings = ReturnType<typeof readStoreOptions>

/** @throws OptionError naming the invalid option and its value */
export function readStoreOptions(options: StoreOptions) {
  const defaults = { rateLimits: memoryRateLimits(), ...STORE_DEFAULTS }
  const settings = readOptions<StoreOptions, typeof defaults>(options, defaults, STORE_RULES)
  const { sunset, deprecatedAt } = settings
  if (sunset !== null && deprecatedAt !== null && deprecatedAt > sunset) {
    throw new OptionError({
      option: 'deprecatedAt',
      expected: 'at or before `sunset` (RFC 9745 §4)',
    })
  }
  if (settings.idempotency !== null) checkIdempotency(settings.idempotency, settings.storage)
  const plans = readPlans(settings.plans)
  return { ...settings, plans, apiKeys: createApiKeys(settings.apiKeys, plans, settings.sha256) }
}

/** `createStore` for options that are already read. */
export function openStore(settings: StoreSettings): Store {
  const { clock, pagination, plans, apiKeys } = settings
  const { events, emit } = createEvents()
  const gate = createGate({
    apiKeys,
    rateLimits: settings.rateLimit ? protect(settings, emit) : undefined,
    anonymous: plans.anonymous,
    isShadow: settings.rateLimit === 'shadow',
    emit,
  })
  const operations = createPetOperations(settings, emit)
  // Async functions, so that synchronous failures are rejections too.
  const pets: Pets = {
    createPet: async (pet, options) => create(pet, options?.signal),
    listPets: async (query = {}) => operations.listPets(checkListPetsQuery(query, pagination)),
    getPet: async id => operations.getPet(id, clock()),
  }

  const protocol = createProtocol(operations, gate, settings)
  // Not a literal, for the reason in `readOptions`.
  return Object.assign(protocol, pets, { apiKeys, events, forKey })

  async function create(pet: NewPet, signal: Signal | undefined): Promise<Pet> {
    if (!signal) return operations.createPet(pet)
    if (signal.aborted) throw signal.reason
    try {
      return await operations.createPet(pet, () => signal.aborted)
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    }
  }

  function forKey(apiKey: string): MeteredPets {
    let latest: Admission | undefined
    const admitted = async <T>(operation: () => Promise<T>): Promise<T> => {
      latest = await gate.admit({ token: apiKey, client: undefined, now: clock() })
      if (latest.failure) throw latest.failure
      return operation()
    }
    return {
      createPet: (pet, options) => admitted(() => pets.createPet(pet, options)),
      listPets: query => admitted(() => pets.listPets(query)),
      getPet: id => admitted(() => pets.getPet(id)),
      get rateLimit() {
        return latest?.decision && rateLimitOf(latest.decision)
      },
    }
  }
}

export const STORE_DEFAULTS = {
  sha256: null,
  clock: Date.now,
  rateLimit: true,
  rateLimitTimeoutMs: 150,
  plans: {},
  basePath: BASE_PATH,
  defaultStatus: 'available',
  sunset: SUNSET,
  deprecatedAt: null,
  pagination: false,
  cors: false,
  standardHeaders: null,
  idempotency: null,
  maxBodyBytes: MAX_BODY_BYTES,
} as const

export const STORE_RULES: Rules<StoreOptions> = {
  storage: hasMethods('insert', 'find', 'list', 'dump', 'restore'),
  apiKeys: isSecretObject,
  sha256: orNull(isFunction),
  clock: isFunction,
  rateLimit: RATE_LIMIT_MODE,
  rateLimits: hasMethods('consume', 'inspect', 'reset', 'dump', 'restore'),
  rateLimitTimeoutMs: isTimeout,
  plans: isObject,
  basePath: {
    expected: "'' or segments such as '/v1'",
    accepts: path => typeof path === 'string' && /^(\/[\w.~-]+)*$/.test(path),
  },
  defaultStatus: orNull(isOneOf(PET_STATUSES)),
  sunset: orNull(isInstant),
  deprecatedAt: orNull(isInstant),
  pagination: isBoolean,
  cors: isBoolean,
  standardHeaders: isOneOf([...DRAFTS, null]),
  idempotency: orNull(isObject),
  maxBodyBytes: isSize,
}

function checkIdempotency(given: Idempotency, storage: PetStorage): void {
  readOptions(given, {}, { ttlMs: isCount }, 'idempotency.')
  if (typeof storage.insertOnce === 'function') return
  const expected = 'an object with the method insertOnce'
  throw new OptionError(
    { option: 'storage', expected },
    'Expected `storage` to have the method insertOnce, which `idempotency` requires; this one cannot store a key with its animal',
  )
}

function readPlans(given: Partial<PlanTable>): PlanTable {
  const rules = { free: isObject, pro: isObject, business: isObject, anonymous: isObject }
  const plans = readOptions<PlanTable, PlanTable>(given as PlanTable, PLANS, rules, 'plans.')
  for (const [name, policy] of Object.entries(plans)) checkPolicy(`plans.${name}`, policy)
  return plans
}

/** Counts kept in this process need no protection; any other store has this one. */
function protect({ rateLimits, rateLimitTimeoutMs }: StoreSettings, emit: Emit) {
  if (countsHere(rateLimits)) return rateLimits
  return withCircuitBreaker({
    rateLimits,
    timeoutMs: rateLimitTimeoutMs,
    timer: startTimer,
    onFailure: error => emit('ratelimit.degraded', { error }),
  })
}

/** Not part of the language, but of every JavaScript runtime. */
declare function setTimeout(task: () => void, ms: number): unknown

const startTimer: Timer = (task, ms) => void setTimeout(task, ms)
