import type { Awaitable } from '../../src/lib/async.js'
import {
  hasMethods,
  isBoolean,
  isFunction,
  isObject,
  optional,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import type { Usage } from '../../src/limits/decide.js'
import type { PlanTable, Policy } from '../../src/limits/plans.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { Clock, PetFilter } from '../../src/ports.js'
import type { ApiKey } from '../../src/protocol/api-keys.js'
import { DEMO_KEYS } from '../test-double/demo-keys.js'

/** A panel whose source is missing is not shown. */
export interface ConsoleOptions {
  /**
   * The clock of the store, which the page shows.
   * @default Date.now
   */
  readonly clock?: Clock
  /**
   * Whether that clock stands still.
   * @default never
   */
  readonly isFrozen?: () => boolean
  /**
   * The valid API keys; the page shows their ids and plans.
   * @default none
   */
  readonly apiKeys?: () => Readonly<Record<string, ApiKey>>
  /**
   * The option `plans` of the store, where the handler is not the store itself or around it.
   * @default none
   */
  readonly plans?: Partial<PlanTable>
  /**
   * Whether the page may show a key itself.
   * @default the demo keys
   */
  readonly isPublicKey?: (key: string) => boolean
  /**
   * What is counted for a key id, such as `inspect` of a `RateLimitStore`: the panel Budgets.
   * @default none
   */
  readonly usage?: (keyId: string) => Awaitable<Usage | undefined>
  /**
   * Direct access to the animals, without key, limits or log: the view Animals.
   * @default none
   */
  readonly animals?: {
    list(filter: PetFilter): Awaitable<readonly Pet[]>
    create(pet: NewPet): Awaitable<Pet>
  }
  /**
   * The handler serves `/_control`: the view Test.
   * @default false
   */
  readonly control?: boolean
  /**
   * The worlds served below `/worlds/<id>`, by id.
   * @default none
   */
  readonly worlds?: () => ReadonlyMap<string, ConsoleWorld>
  /**
   * Serve the console to other machines and under other host names, too.
   * @default false
   */
  readonly allowRemote?: boolean
  /**
   * Serve the console to everyone who knows this token, and to nobody else, wherever they are:
   * `/?token=<token>` sets a cookie. Letters, digits, `-` and `_`, at least 16.
   * @default none: over loopback only
   */
  readonly token?: string
}

type Sources = 'clock' | 'isFrozen' | 'apiKeys' | 'isPublicKey'

/** What a console shows of an API besides its requests. */
export type ConsoleWorld = Required<Pick<ConsoleOptions, Sources>> &
  Pick<ConsoleOptions, 'usage' | 'animals' | 'plans'> & {
    /** The policy of a key, where the handler knows it. */
    readonly policyOf?: ((key: string) => Policy | undefined) | undefined
  }

/** @throws OptionError */
export function readConsoleOptions(given: ConsoleOptions) {
  return readOptions(given, DEFAULTS, RULES)
}

const DEFAULTS = {
  clock: Date.now,
  isFrozen: () => false,
  apiKeys: () => ({}),
  isPublicKey: (key: string) => Object.hasOwn(DEMO_KEYS, key),
  control: false,
  worlds: () => new Map<string, ConsoleWorld>(),
  allowRemote: false,
}

const RULES: Rules<ConsoleOptions> = {
  clock: isFunction,
  isFrozen: isFunction,
  apiKeys: isFunction,
  plans: optional(isObject),
  isPublicKey: isFunction,
  usage: optional(isFunction),
  animals: optional(hasMethods('list', 'create')),
  control: isBoolean,
  worlds: isFunction,
  allowRemote: isBoolean,
  token: optional({
    expected: 'at least 16 letters, digits, - and _',
    accepts: token => typeof token === 'string' && /^[\w-]{16,}$/.test(token),
    secret: true,
  }),
}
