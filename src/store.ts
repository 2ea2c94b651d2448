import { type RateLimit, rateLimitOf } from './api-error.js'
import { createEvents, type Emit, type StoreEmitter } from './events.js'
import {
  hasMethods,
  isBoolean,
  isFunction,
  isObject,
  isOneOf,
  isSecretObject,
  isSize,
  OptionError,
  type OptionsOf,
  optional,
  orNull,
  rule,
  settingsOf,
  typed,
  withDefault,
} from './lib/check-options.js'
import type { OnListenerError } from './lib/listeners.js'
import { durationFrom, isInstant, isTimeout } from './lib/time.js'
import { type Timer, withCircuitBreaker } from './limits/fallback.js'
import { countsHere, memoryRateLimitStore } from './limits/memory-rate-limits.js'
import { RATE_LIMIT_MODE } from './limits/mode.js'
import { checkLimits, type Limits, PLANS, type PlanTable } from './limits/plans.js'
import { createPetOperations, type Idempotency, type Pets, type Signal } from './pets/operations.js'
import { checkListPetsQuery } from './pets/query.js'
import type { NewPet, Pet } from './pets/schema.js'
import { BASE_PATH, PET_STATUSES, SUNSET } from './pets/specification.js'
import type { Clock, PetStorage, RateLimitStore } from './ports.js'
import { type ApiKey, type ApiKeys, createApiKeys, type Sha256 } from './protocol/api-keys.js'
import { type Admission, createAdmissionControl } from './protocol/authenticate-and-count.js'
import { MAX_BODY_BYTES } from './protocol/body.js'
import { createProtocol, type Protocol, type ProtocolOptions } from './protocol/handle-request.js'
import { DRAFTS } from './protocol/response.js'

export const STORE_OPTIONS = {
  /** Where animals live: a `PetStorage`. */
  storage: hasMethods<PetStorage>('insert', 'find', 'list', 'dump', 'restore'),
  /** The valid API keys: `{ [key]: { id, plan, limits?, expiresAt? } }`. */
  apiKeys: typed<Readonly<Record<string, ApiKey>>>(isSecretObject),
  /** Computes SHA-256 in lower-case hex, for keys given as `sha256:<hex>`. @default null */
  sha256: withDefault(orNull(typed<Sha256>(isFunction)), null),
  /** The current time, in ms since the Unix epoch. @default Date.now */
  clock: withDefault(typed<Clock>(isFunction), Date.now),
  /** `false` disables limits and their headers; `'shadow'` counts, but rejects nothing. @default true */
  rateLimiting: withDefault(RATE_LIMIT_MODE, true),
  /** Where usage is counted: a `RateLimitStore`. @default memoryRateLimitStore(), in this process */
  rateLimitStore: optional(
    hasMethods<RateLimitStore>('consume', 'inspect', 'reset', 'dump', 'restore'),
  ),
  /** Time limit for `rateLimitStore`; after that, this process counts on its own. @default '150ms' */
  rateLimitStoreTimeout: withDefault(isTimeout, '150ms'),
  /** Other numbers for `free`, `pro`, `business` or `anonymous`. @default PLANS, from the specification */
  plans: withDefault(typed<Partial<PlanTable>>(isObject), {}),
  /** The path that every base address ends with. @default '/v1' */
  basePath: withDefault(
    rule<string>(
      "'' or segments such as '/v1'",
      path => typeof path === 'string' && /^(\/[\w.~-]+)*$/.test(path),
    ),
    BASE_PATH,
  ),
  /** The status of an animal created without one; `null` stores none. @default 'available' */
  defaultStatus: withDefault(orNull(isOneOf(PET_STATUSES)), 'available'),
  /** When `GET /pets/{petId}` is removed: an instant; `null` keeps it. @default SUNSET, 5 December 2030 */
  sunsetAt: withDefault(orNull(isInstant), SUNSET),
  /** Start of its deprecation: an instant; sent as `Deprecation` (RFC 9745). @default null, not sent */
  deprecatedAt: withDefault(orNull(isInstant), null),
  /** Adds `after=<id>` and `Link: …; rel="next"` to lists. @default false */
  pagination: withDefault(isBoolean, false),
  /** Answers preflights and sends CORS headers, for every origin. @default false */
  cors: withDefault(isBoolean, false),
  /**
   * `'draft-10'` or `'draft-11'` also sends `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
   * @default null
   */
  standardHeaders: withDefault(isOneOf([...DRAFTS, null]), null),
  /**
   * `{ ttl }`: stores a create with an `Idempotency-Key` once, and keeps the key that long.
   * Requires `insertOnce`.
   * @default null
   */
  idempotency: withDefault(orNull(typed<Idempotency>(isObject)), null),
  /** The largest request body, in bytes; larger ones get 413. @default 1_048_576 */
  maxBodyBytes: withDefault(isSize, MAX_BODY_BYTES),
  /**
   * Receives `{ error, name }`: the first error of each listener, and its event.
   * @default a process warning; `console.error` in browsers
   */
  onListenerError: optional(typed<OnListenerError>(isFunction)),
}
/**
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const options = { pagination: true, idempotency: { ttl: '24h' } }
 * const store = createStore({ storage: memoryStorage(), apiKeys: {}, ...options })
 */
export interface StoreOptions extends OptionsOf<typeof STORE_OPTIONS> {}

/** Its own `createPet`, `listPets` and `getPet` need no key and have no limits. */
export interface Store extends Pets, Protocol {
  /** The operations on behalf of an API key, which also throw ApiError 401 and 429. */
  forKey(apiKey: string): MeteredPets
  /** Valid keys, which can be added and revoked at any time. */
  readonly apiKeys: ApiKeys
  readonly events: StoreEmitter
}

export interface MeteredPets extends Pets {
  /** The limit after the latest call; undefined before the first. */
  readonly rateLimit: RateLimit | undefined
}

/** @param report the platform's default of `onListenerError` @throws OptionError */
export function createStore(options: StoreOptions, report?: OnListenerError): Store {
  return openStore(readStoreOptions(options), report)
}

export interface StoreSettings
  extends Omit<ReturnType<typeof readStoreOptions>, 'cors'>,
    Pick<ProtocolOptions, 'cors'> {}

export function readStoreOptions(options: StoreOptions) {
  const settings = settingsOf(STORE_OPTIONS, options)
  const { sunsetAt, deprecatedAt } = settings
  if (sunsetAt !== null && deprecatedAt !== null && deprecatedAt > sunsetAt) {
    throw new OptionError({
      option: 'deprecatedAt',
      expected: 'at or before `sunsetAt` (RFC 9745 §4)',
    })
  }
  const plans = readPlans(settings.plans)
  const apiKeys = createApiKeys(settings.apiKeys, plans, settings.sha256)
  return {
    ...settings,
    plans,
    apiKeys,
    idempotency: settings.idempotency && readIdempotency(settings.idempotency, settings.storage),
    rateLimitStore: settings.rateLimitStore ?? memoryRateLimitStore(),
  }
}

export function openStore(settings: StoreSettings, report?: OnListenerError): Store {
  const { clock, pagination, plans, apiKeys } = settings
  const { events, emit } = createEvents(settings.onListenerError ?? report)
  const admissionControl = createAdmissionControl({
    apiKeys,
    rateLimitStore: settings.rateLimiting ? protect(settings, emit) : undefined,
    anonymous: plans.anonymous,
    isShadow: settings.rateLimiting === 'shadow',
    emit,
  })
  const operations = createPetOperations(settings, emit)
  // Async, so that synchronous failures become rejections.
  const pets: Pets = {
    createPet: async (pet, options) => create(pet, options?.signal),
    listPets: async (query = {}) => operations.listPets(checkListPetsQuery(query, pagination)),
    getPet: async id => operations.getPet(id, clock()),
  }

  const protocol = createProtocol(operations, admissionControl, settings)
  // Assigned, as names added after a spread give each object its own hidden class in V8.
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
      latest = await admissionControl.admit({ token: apiKey, client: undefined, now: clock() })
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

function readIdempotency(given: Idempotency, storage: PetStorage) {
  const idempotency = settingsOf({ ttl: durationFrom(1) }, given, 'idempotency.')
  if (typeof storage.insertOnce === 'function') return idempotency
  const expected = 'an object with the method insertOnce'
  throw new OptionError(
    { option: 'storage', expected },
    'Expected `storage` to have the method insertOnce, which `idempotency` requires; this one cannot store a key with its animal',
  )
}

const planOption = (name: keyof PlanTable) => withDefault(typed<Limits>(isObject), PLANS[name])
const PLAN_OPTIONS = {
  free: planOption('free'),
  pro: planOption('pro'),
  business: planOption('business'),
  anonymous: planOption('anonymous'),
}

function readPlans(given: Partial<PlanTable>): PlanTable {
  const plans = settingsOf(PLAN_OPTIONS, given, 'plans.')
  for (const [name, limits] of Object.entries(plans)) checkLimits(`plans.${name}`, limits)
  return plans
}

/** Adds the circuit breaker, except for counts in this process, which cannot fail. */
function protect(
  { rateLimitStore, rateLimitStoreTimeout: rateLimitStoreTimeoutMs }: StoreSettings,
  emit: Emit,
) {
  if (countsHere(rateLimitStore)) return rateLimitStore
  return withCircuitBreaker({
    rateLimitStore,
    timeoutMs: rateLimitStoreTimeoutMs,
    timer: startTimer,
    onFailure: error => emit('ratelimit.degraded', { error }),
    onRecovery: () => emit('ratelimit.recovered', {}),
  })
}

/** Available in every JavaScript runtime, though not part of the language. */
declare function setTimeout(task: () => void, ms: number): unknown
declare function clearTimeout(timer: unknown): void

const startTimer: Timer = (task, ms) => {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}
