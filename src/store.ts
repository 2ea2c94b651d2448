import type { ApiHandler } from './api.js'
import { type ApiKey, type ApiKeys, createApiKeys } from './api-keys.js'
import { MAX_BODY_BYTES } from './body.js'
import { type RateLimit, rateLimitOf } from './errors.js'
import { createEvents, type StoreEmitter } from './events.js'
import { memoryRateLimits } from './memory-rate-limits.js'
import { createMeter, type Visit } from './metering.js'
import {
  hasMethods,
  isBoolean,
  isFunction,
  isInstant,
  isObject,
  isOneOf,
  isSecretObject,
  isSize,
  orNull,
  type Rules,
  readOptions,
} from './options.js'
import { createPetOperations, type Pets } from './pets.js'
import { checkPolicy, PLANS, type PlanTable } from './plans.js'
import type { Clock, PetStorage, RateLimitStore } from './ports.js'
import { createProtocol } from './protocol.js'
import { checkListPetsQuery } from './query.js'
import { BASE_PATH, PET_STATUSES, type PetStatus, SUNSET } from './specification.js'

export interface StoreOptions {
  readonly storage: PetStorage
  /** The valid API keys and who they belong to. */
  readonly apiKeys: Readonly<Record<string, ApiKey>>
  /** @default Date.now */
  readonly clock?: Clock
  /** Off: nothing is counted, and no answer has a rate limit header. @default true */
  readonly rateLimit?: boolean
  /** Where usage is counted. @default in this process, for as long as it lives */
  readonly rateLimits?: RateLimitStore
  /** Other numbers for some plans. @default PLANS, those of the specification */
  readonly plans?: Partial<PlanTable>
  /** @default '/v1' */
  readonly basePath?: string
  /** The status of an animal created without one; null stores none. @default 'available' */
  readonly defaultStatus?: PetStatus | null
  /** When `GET /pets/{petId}` is removed, in ms; null keeps it. @default SUNSET, 5 December 2030 */
  readonly sunset?: number | null
  /**
   * Since when it is deprecated, in ms; sent as `Deprecation` (RFC 9745). @default null, not sent
   */
  readonly deprecatedAt?: number | null
  /** `after=<id>` and `Link: …; rel="next"` on lists. @default false */
  readonly pagination?: boolean
  /** Preflights and CORS headers for every origin. @default false */
  readonly cors?: boolean
  /** Also send `RateLimit` and `RateLimit-Policy` as in that draft. @default null */
  readonly standardHeaders?: 'draft-10' | null
  /** Larger bodies get 413. @default 1_048_576 */
  readonly maxBodyBytes?: number
}

/** Direct calls are the trusted host's: no key, no limits. */
export interface Store extends Pets, ApiHandler {
  /** The same operations as the holder of a key: they throw ApiError 401 and 429 as well. */
  forKey(apiKey: string): MeteredPets
  /** The valid keys; they can be added and revoked while the store runs. */
  readonly apiKeys: ApiKeys
  readonly events: StoreEmitter
}

export interface MeteredPets extends Pets {
  /** What the last call was told; undefined before the first. */
  readonly rateLimit: RateLimit | undefined
}

/**
 * The store: pets over a storage, for a host, for the holders of keys, and as the whole protocol.
 *
 * @throws OptionError naming an option that is not right, and its value
 */
export function createStore(options: StoreOptions): Store {
  const checked = readOptions(options, { ...DEFAULTS, rateLimits: memoryRateLimits() }, STORE_RULES)
  const { clock } = checked
  const plans = readPlans(checked.plans)
  const { events, emit } = createEvents()
  const apiKeys = createApiKeys(checked.apiKeys, plans)
  const rateLimits = checked.rateLimit ? checked.rateLimits : undefined
  const meter = createMeter({ apiKeys, rateLimits, anonymous: plans.anonymous, emit })
  const operations = createPetOperations({
    ...checked,
    onCreated: pet => emit('pet.created', { pet }),
  })
  const protocol = createProtocol({ ...checked, operations, meter })
  // Asynchronous, so that what is thrown at once is a rejection as well.
  const pets: Pets = {
    createPet: async pet => operations.create(pet),
    listPets: async (query = {}) => operations.list(checkListPetsQuery(query, checked.pagination)),
    getPet: async id => operations.find(id, clock()),
  }

  return {
    ...pets,
    ...protocol,
    apiKeys,
    events,
    forKey(apiKey) {
      let last: Visit | undefined
      const admitted = async <T>(operation: () => Promise<T>): Promise<T> => {
        last = {
          token: apiKey,
          client: undefined,
          now: clock(),
          key: undefined,
          decision: undefined,
        }
        await meter.count(last)
        meter.authenticate(last)
        return operation()
      }
      return {
        createPet: pet => admitted(() => pets.createPet(pet)),
        listPets: query => admitted(() => pets.listPets(query)),
        getPet: id => admitted(() => pets.getPet(id)),
        get rateLimit() {
          return last?.decision && rateLimitOf(last.decision)
        },
      }
    },
  }
}

const DEFAULTS = {
  clock: Date.now,
  rateLimit: true,
  plans: {},
  basePath: BASE_PATH,
  defaultStatus: 'available',
  sunset: SUNSET,
  deprecatedAt: null,
  pagination: false,
  cors: false,
  standardHeaders: null,
  maxBodyBytes: MAX_BODY_BYTES,
} as const

export const STORE_RULES: Rules<StoreOptions> = {
  storage: hasMethods('insert', 'find', 'list', 'dump', 'restore'),
  apiKeys: isSecretObject,
  clock: isFunction,
  rateLimit: isBoolean,
  rateLimits: hasMethods('consume', 'inspect', 'reset', 'dump', 'restore'),
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
  standardHeaders: isOneOf(['draft-10', null]),
  maxBodyBytes: isSize,
}

function readPlans(given: Partial<PlanTable>): PlanTable {
  const rules = { free: isObject, pro: isObject, business: isObject, anonymous: isObject }
  const plans = readOptions<PlanTable, PlanTable>(given as PlanTable, PLANS, rules, 'plans.')
  for (const [name, policy] of Object.entries(plans)) checkPolicy(`plans.${name}`, policy)
  return plans
}
