import type { Awaitable } from '../../../src/lib/async.js'
import {
  hasMethods,
  isBoolean,
  isFunction,
  isObject,
  type OptionsOf,
  optional,
  typed,
  withDefault,
} from '../../../src/lib/check-options.js'
import type { Limits, PlanTable } from '../../../src/limits/plans.js'
import type { Usage } from '../../../src/limits/windows-and-bans.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Clock, PetFilter } from '../../../src/ports.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import { isToken } from '../../http/token.js'
import { DEMO_KEYS } from '../../test-double/demo-keys.js'

export const CONSOLE_OPTIONS = {
  /** The clock of the store, which the page shows. @default Date.now */
  clock: withDefault(typed<Clock>(isFunction), Date.now),
  /** Returns true while that clock stands still. @default never */
  isFrozen: withDefault(typed<() => boolean>(isFunction), () => false),
  /** Valid API keys, a new object after each change; the page shows ids and plans. @default none */
  apiKeys: withDefault(typed<() => Readonly<Record<string, ApiKey>>>(isFunction), () => ({})),
  /** The `plans` of the store, if the handler is neither the store nor around it. @default none */
  plans: optional(typed<Partial<PlanTable>>(isObject)),
  /** Decides which keys the page may show in full. @default the demo keys */
  isPublicKey: withDefault(typed<(apiKey: string) => boolean>(isFunction), (apiKey: string) =>
    Object.hasOwn(DEMO_KEYS, apiKey),
  ),
  /** Usage of a key id, as `inspect` of a `RateLimitStore`: the panel Requests left. @default none */
  usage: optional(typed<(keyId: string) => Awaitable<Usage | undefined>>(isFunction)),
  /** Animals without key, limits or log: the view Animals. @default none */
  animals: optional(
    typed<{
      list(filter: PetFilter): Awaitable<readonly Pet[]>
      create(pet: NewPet): Awaitable<Pet>
    }>(hasMethods('list', 'create')),
  ),
  /** True if the handler serves `/_control`, for the view Test. @default false */
  control: withDefault(isBoolean, false),
  /** The worlds served below `/worlds/<id>`, by id. @default none */
  worlds: withDefault(
    typed<() => ReadonlyMap<string, ConsoleWorld>>(isFunction),
    () => new Map<string, ConsoleWorld>(),
  ),
  /**
   * Opens the console at `/#token=<token>`. At least 16 letters, digits, `-` or `_`.
   * @default a random one: `withConsole(…).token`
   */
  token: optional<string>({
    expected: 'at least 16 letters, digits, - and _',
    accepts: isToken,
    secret: true,
  }),
}
/**
 * Panels without a source are hidden.
 *
 * @example
 * import { withConsole } from 'animal-adoption-store/console'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const double = createTestDouble()
 * const handler = withConsole(double, { clock: double.clock, isFrozen: () => true })
 */
export interface ConsoleOptions extends OptionsOf<typeof CONSOLE_OPTIONS> {}

type Sources = 'clock' | 'isFrozen' | 'apiKeys' | 'isPublicKey'

export type ConsoleWorld = {
  readonly [name in Sources]-?: NonNullable<ConsoleOptions[name]>
} & Pick<ConsoleOptions, 'usage' | 'animals' | 'plans'> & {
    /** Returns the limits of a key, if the handler knows it. */
    readonly limitsOf?: ((apiKey: string) => Limits | undefined) | undefined
  }
