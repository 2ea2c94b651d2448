import { isInt64 } from '../../src/lib/int64.js'
import {
  check,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  isString,
  OptionError,
  optional,
  type Rule,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import type { Pet } from '../../src/pets/schema.js'
import { BASE_PATH, PET_STATUSES } from '../../src/pets/specification.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import {
  readStoreOptions,
  STORE_DEFAULTS,
  STORE_RULES,
  type StoreOptions,
} from '../../src/store.js'
import { memoryStorage } from '../memory.js'
import { DEMO_KEYS } from '../shared/demo-keys.js'
import { type Instant, instantOf } from '../shared/time.js'
import { RULES, type RuleId } from '../verdict/rules.js'
import type { Fault } from './faults/fault.js'
import type { Beginning, StateOptions } from './state.js'

/** The options of a store and of a double: the state that a reset restores. */
export interface TestDoubleOptions
  extends Omit<StoreOptions, 'apiKeys' | 'basePath' | 'clock' | 'rateLimits' | 'storage'> {
  /**
   * The valid API keys.
   *
   * @default DEMO_KEYS
   */
  readonly apiKeys?: StoreOptions['apiKeys']
  /**
   * The instant at which the clock is frozen, or 'running' for real time.
   *
   * @default '2030-01-01T00:00:00Z'
   */
  readonly clock?: Instant
  /**
   * The initial animals, and the id of the next one; nothing else of a snapshot.
   *
   * @default none
   */
  readonly pets?: PetSnapshot
  /**
   * Faults armed at the start.
   *
   * @default none
   */
  readonly faults?: readonly Fault[]
  /**
   * The address that `fetch` stands in for.
   *
   * @default 'http://adoption-store.test/v1'
   */
  readonly baseUrl?: string
  /**
   * How many exchanges the journal keeps.
   *
   * @default 10_000
   */
  readonly journal?: number
  /**
   * How many characters of headers and bodies it keeps.
   *
   * @default 8_388_608
   */
  readonly journalBytes?: number
  /**
   * Rules that a test breaks on purpose: the verdict lists them, but stays ok.
   *
   * @default none
   */
  readonly allow?: readonly RuleId[]
  /**
   * How many clients share a key, as far as the verdict is concerned: with 1, every early request is
   * certain to come from one that knew better; with more, being the only one in flight proves nothing.
   *
   * @default undefined: it goes by what is in flight at the same time
   */
  readonly clients?: number | undefined
  /**
   * Also serve `/_control`, over loopback only.
   *
   * @default false
   */
  readonly control?: boolean
}

const { basePath: _path, ...STORE_OPTIONS } = STORE_DEFAULTS

const DEFAULTS = {
  ...STORE_OPTIONS,
  apiKeys: DEMO_KEYS,
  clock: '2030-01-01T00:00:00Z',
  baseUrl: `http://adoption-store.test${BASE_PATH}`,
  journal: 10_000,
  journalBytes: 8_388_608,
  control: false,
  allow: [],
} as const

interface DoubleSettings {
  readonly state: Omit<StateOptions, 'track' | 'watch'>
  readonly begin: Beginning
  readonly baseUrl: string
  readonly allow: readonly RuleId[]
  readonly clients: number | undefined
}

/** @throws OptionError naming the invalid option and its value */
export function readDoubleOptions(given: TestDoubleOptions): DoubleSettings {
  if (Object.keys(given).length > 0) return read(given)
  defaultSettings ??= read(given)
  return defaultSettings
}

/** Most doubles have no options, and reading the defaults costs as much as all the rest. */
let defaultSettings: DoubleSettings | undefined

function read(given: TestDoubleOptions): DoubleSettings {
  const options = readOptions(given, DEFAULTS, OPTION_RULES)
  const {
    clock,
    pets,
    faults,
    baseUrl,
    journal,
    journalBytes,
    control: _,
    allow,
    clients,
    ...rest
  } = options
  const initial = pets && petsOf(pets)
  const { origin, pathname } = new URL(baseUrl)
  for (const [at, id] of allow.entries())
    check(`allow[${at}]`, id, isOneOf(RULES.map(({ id }) => id)))
  const store = readStoreOptions({
    basePath: pathname.replace(/\/$/, ''),
    // Every state has its own.
    storage: checkedStorage(initial),
    ...rest,
  })
  return {
    allow,
    clients,
    state: {
      store,
      apiKeys: store.apiKeys,
      journal: { capacity: journal, bytes: journalBytes, origin },
    },
    begin: { clock: clockState(clock), faults, ...initial },
    baseUrl: baseUrl.replace(/\/$/, ''),
  }
}

/** Of a whole snapshot, only the animals count. A copy: the caller may change its own. */
function petsOf({ pets, nextId }: PetSnapshot): PetSnapshot {
  check('pets.pets', pets, isArray)
  for (const [at, pet] of pets.entries()) check(`pets.pets[${at}]`, pet, isPet)
  check('pets.nextId', nextId, isCount)
  return { pets: pets.map(pet => ({ ...pet })), nextId }
}

/** @throws OptionError for ids that no storage accepts */
function checkedStorage(initial: PetSnapshot | undefined): PetStorage {
  try {
    return memoryStorage(initial)
  } catch (error) {
    const { message } = error as RangeError
    const problem = { option: 'pets', expected: 'animals with ids that a storage accepts' }
    throw new OptionError(problem, `Invalid \`pets\`: ${message}`)
  }
}

/** The schema of an animal would cost every double the time to load Zod. */
const isPet: Rule = {
  expected: 'an animal with an id, a name and a categoryId',
  accepts(value) {
    if (!isObject.accepts(value)) return false
    const { id, name, categoryId, status } = value as Record<keyof Pet, unknown>
    const isWhole = isCount.accepts(id) && isString.accepts(name) && isInt64(categoryId)
    return isWhole && isStatus.accepts(status)
  },
}

const isStatus = optional(isOneOf(PET_STATUSES))

const isArray: Rule = { expected: 'an array', accepts: Array.isArray }

function clockState(clock: Instant): Beginning['clock'] {
  if (clock === 'running') return { frozen: false }
  return { frozen: true, now: instantOf('clock', clock) }
}

const {
  basePath: _basePath,
  rateLimits: _rateLimits,
  storage: _storage,
  ...SHARED_RULES
} = STORE_RULES

const OPTION_RULES: Rules<TestDoubleOptions> = {
  ...SHARED_RULES,
  clock: { expected: 'an instant', accepts: () => true },
  pets: optional(isObject),
  faults: optional(isArray),
  baseUrl: {
    expected: 'an absolute http or https URL, without user name, query and fragment',
    accepts: isBaseUrl,
    // It may hold a password.
    secret: true,
  },
  control: isBoolean,
  allow: isArray,
  clients: optional(isCount),
  journal: isCount,
  journalBytes: isCount,
}

function isBaseUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !/^https?:[^?#]*$/i.test(value)) return false
  if (!URL.canParse(value)) return false
  const { username, password } = new URL(value)
  return username === '' && password === ''
}
