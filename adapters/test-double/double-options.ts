import {
  check,
  isBoolean,
  isCount,
  isObject,
  isOneOf,
  OptionError,
  type OptionsOf,
  optional,
  rule,
  settingsOf,
  typed,
  withDefault,
} from '../../src/lib/check-options.js'
import { type Instant, instantOf } from '../../src/lib/time.js'
import { toNewPet } from '../../src/pets/pet.js'
import { type NewPet, petSchema } from '../../src/pets/schema.js'
import { BASE_PATH, type PetStatus } from '../../src/pets/specification.js'
import type { PetSnapshot } from '../../src/ports.js'
import { readStoreOptions, STORE_OPTIONS } from '../../src/store.js'
import { isServiceUrl } from '../access-rules.js'
import { isToken } from '../http/token.js'
import { memoryStorage } from '../stores/memory.js'
import { isOnGitHub } from '../verdict/github.js'
import { RULES, type RuleId } from '../verdict/rules/index.js'
import { numbered, readAnimals } from './animals.js'
import { DEMO_KEYS } from './demo-keys.js'
import type { Fault } from './faults/fault.js'
import type { Beginning } from './state.js'

const {
  apiKeys,
  basePath: _,
  clock: __,
  rateLimitStore: ___,
  storage: ____,
  ...OF_STORE
} = STORE_OPTIONS

const isArray = rule<readonly unknown[]>('an array', Array.isArray)

/** Options of the store and the double, from which a reset restores the initial state. */
export const DOUBLE_OPTIONS = {
  ...OF_STORE,
  /** The valid API keys. @default DEMO_KEYS */
  apiKeys: withDefault(apiKeys, DEMO_KEYS),
  /** Answers preflights and sends CORS headers, for every origin. @default true over HTTP, false for `fetch` */
  cors: optional(isBoolean),
  /** The instant at which the clock is frozen, or 'running' for real time. @default '2030-01-01T00:00:00Z' */
  time: withDefault(
    rule<Instant>('an instant', () => true),
    '2030-01-01T00:00:00Z',
  ),
  /** The initial animals, which get the ids 1, 2, 3 …: an array of NewPet, as `seed` takes it. @default none */
  pets: optional(rule<readonly NewPet[]>('an array of animals without ids', () => true)),
  /**
   * Initial animals with ids, in place of `pets`: `{ pets, nextId }`, as `snapshot()` returns it.
   * The rest of a snapshot is for `restore`.
   * @default none
   */
  snapshot: optional(
    rule<Pick<PetSnapshot, 'pets' | 'nextId'>>(
      '{ pets, nextId }, as snapshot() returns it; animals without ids are for `pets`',
      isObject.accepts,
    ),
  ),
  /** Faults armed at the start. @default none */
  faults: optional(typed<readonly Fault[]>(isArray)),
  /** The base URL that `fetch` stands in for. @default 'http://adoption-store.test/v1' */
  baseUrl: withDefault(isServiceUrl, `http://adoption-store.test${BASE_PATH}`),
  /** Maximum number of exchanges in the journal. @default 10_000 */
  journal: withDefault(isCount, 10_000),
  /** Maximum number of characters of headers and bodies in the journal. @default 8_388_608 */
  journalCharacters: withDefault(isCount, 8_388_608),
  /** Rules that a test breaks on purpose: the verdict lists them, but stays ok. @default none */
  allow: withDefault(typed<readonly RuleId[]>(isArray), []),
  /** Clients that share a key: with 1, every early request is certain. @default inferred from concurrent requests */
  clients: optional(isCount),
  /** Findings name the line that called `fetch`. @default whether GITHUB_ACTIONS is `true` */
  callSites: optional(isBoolean),
  /**
   * Also serves `/_control`, behind this token (at least 16 letters, digits, `-` or `_`), or with
   * true behind a random one; `listen()` returns the address as `control`.
   * @default false
   */
  control: withDefault(
    typed<boolean | string>({
      expected: 'true, false or a token',
      accepts: value => isBoolean.accepts(value) || isToken(value),
      secret: true,
    }),
    false,
  ),
}
/**
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const double = createTestDouble({
 *   time: '2030-01-01T00:00:00Z',
 *   faults: [{ kind: 'status', status: 503, times: 1 }],
 * })
 */
export interface TestDoubleOptions extends OptionsOf<typeof DOUBLE_OPTIONS> {}

type DoubleSettings = ReturnType<typeof read>

export function readDoubleOptions(given: TestDoubleOptions): DoubleSettings {
  if (Object.keys(given).length > 0) return read(given)
  defaultSettings ??= read(given)
  return defaultSettings
}

/** Most doubles have no options, and reading the defaults costs as much as all the rest. */
let defaultSettings: DoubleSettings | undefined

function read(given: TestDoubleOptions) {
  const options = settingsOf(DOUBLE_OPTIONS, given)
  const { time, pets, snapshot, faults, baseUrl, control, cors, ...others } = options
  const { journal, journalCharacters, allow, clients, callSites, ...ofStore } = others
  const { origin, pathname } = new URL(baseUrl)
  for (const [at, id] of allow.entries())
    check(`allow[${at}]`, id, isOneOf(RULES.map(({ id }) => id)))
  const basePath = pathname.replace(/\/$/, '')
  // Each state has its own storage.
  const store = { ...readStoreOptions({ basePath, storage: memoryStorage(), ...ofStore }), cors }
  const initial = readInitial(pets, snapshot, store.defaultStatus)
  return {
    allow,
    clients,
    callSites: callSites ?? isOnGitHub(),
    state: {
      store,
      apiKeys: store.apiKeys,
      journal: {
        ...{ capacity: journal, characters: journalCharacters, origin },
        tokens: [control].filter(isToken),
      },
    },
    begin: { time: clockState(time), faults, ...initial } as Beginning,
    baseUrl: baseUrl.replace(/\/$/, ''),
  }
}

/** Copies the animals, because the caller may change them. */
function readInitial(
  pets: readonly NewPet[] | undefined,
  snapshot: Pick<PetSnapshot, 'pets' | 'nextId'> | undefined,
  defaultStatus: PetStatus | null,
): PetSnapshot | undefined {
  if (!snapshot) {
    const read = pets && readAnimals(pets, problem => invalid('pets', problem))
    return read && numbered(read.map(pet => toNewPet(pet, defaultStatus)))
  }
  if (pets) throw invalid('snapshot', 'it cannot be combined with `pets`; give one of them')
  check('snapshot.pets', snapshot.pets, isArray)
  for (const [at, pet] of snapshot.pets.entries()) check(`snapshot.pets[${at}]`, pet, isPet)
  check('snapshot.nextId', snapshot.nextId, isCount)
  const initial = { pets: snapshot.pets.map(pet => ({ ...pet })), nextId: snapshot.nextId }
  try {
    memoryStorage(initial)
  } catch (error) {
    throw invalid('snapshot', (error as RangeError).message)
  }
  return initial
}

function invalid(option: 'pets' | 'snapshot', problem: string): OptionError {
  const { expected } = DOUBLE_OPTIONS[option]
  return new OptionError({ option, expected }, `Invalid \`${option}\`: ${problem}`)
}

const isPet = rule(
  'an animal with an id, a name and a categoryId',
  value => petSchema.safeParse(value).success,
)

function clockState(time: Instant): Beginning['time'] {
  if (time === 'running') return { frozen: false }
  return { frozen: true, now: instantOf('time', time) }
}
