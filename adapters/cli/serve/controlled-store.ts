import type { Clock } from '../../../src/ports.js'
import type { ConsoleWorld } from '../../pages/console/index.js'
import type { Watch } from '../../test-double/answer-requests.js'
import type { OpenWorld } from '../../test-double/control/worlds.js'
import { withControl } from '../../test-double/create-test-double.js'
import { createDouble, type JudgedDouble } from '../../test-double/double.js'
import type { RuleId, TestDoubleOptions } from '../../test-double/index.js'
import type { StoreSettings, VerdictSettings } from '../options.js'
import { type Initial, type Keys, NO_ANIMALS, storeOptions } from './served-store.js'

type ControlledSettings = StoreSettings & Partial<Pick<VerdictSettings, 'allow' | 'clients'>>

/**
 * Opens a store in memory with its own clock: frozen by `--time`, otherwise running.
 * @param watch receives every request outside worlds
 * @param realTime what a running clock follows instead of the real time
 */
export async function openControlled(
  settings: ControlledSettings,
  apiKeys: Keys,
  { snapshot, source }: Initial,
  token: string,
  watch?: Watch,
  realTime?: Clock,
) {
  const { delay, time = 'running', allow = [], clients, rateLimiting, seed } = settings
  const isLimited = rateLimiting !== false
  const options: TestDoubleOptions & { readonly control: string } = {
    ...(await storeOptions(settings)),
    time,
    allow: allow as readonly RuleId[],
    clients,
    apiKeys,
    control: token,
    faults:
      delay === 0
        ? []
        : [{ kind: 'delay', duration: delay, real: realTime === undefined, times: 'always' }],
  }
  const inWorlds = { ...options, snapshot: seed === undefined ? NO_ANIMALS : snapshot }
  let worlds: ReadonlyMap<string, OpenWorld> = new Map()
  const around = (own: JudgedDouble) => {
    const handler = withControl(own, inWorlds)
    worlds = handler.worlds.open
    return handler
  }
  const double = createDouble({ ...options, snapshot }, around, undefined, watch, realTime)
  return {
    double,
    doubles: () => [double, ...[...worlds.values()].map(world => world.double)],
    handler: double.handler,
    clock: () => double.clock(),
    console: {
      ...viewOf({ double, apiKeys }, isLimited),
      control: true,
      worlds: () => viewsOf(worlds, isLimited),
    },
    fill: async () => ({ animals: snapshot.pets.length, source }),
    store: 'memory:',
    rateLimitStore: 'memory:',
  }
}

type View = Omit<ConsoleWorld, 'isPublicKey'>

export function viewOf({ double, apiKeys }: OpenWorld, isLimited: boolean): View {
  const { clock, inspect, pets } = double
  return {
    clock: () => clock(),
    isFrozen: () => clock.frozen,
    apiKeys: () => apiKeys,
    animals: { list: inspect.animals, create: pets.createPet },
    ...(isLimited && { usage: inspect.usage }),
  }
}

/** Shows a world's keys in full, as they were created for it and returned to its client. */
export function viewsOf(worlds: ReadonlyMap<string, OpenWorld>, isLimited: boolean) {
  const views = [...worlds].map(([id, world]): [string, ConsoleWorld] => {
    const isPublicKey = (apiKey: string) => Object.hasOwn(world.apiKeys, apiKey)
    return [id, { ...viewOf(world, isLimited), isPublicKey }]
  })
  return new Map(views)
}
