import type { ConsoleWorld } from '../console/index.js'
import type { OpenWorld } from '../test-double/control/worlds.js'
import { createDouble, type JudgedDouble } from '../test-double/double.js'
import type { RuleId, TestDoubleOptions } from '../test-double/index.js'
import type { Watch } from '../test-double/requests.js'
import { withControl } from '../test-double/test-double.js'
import {
  type Environment,
  type Initial,
  type Keys,
  NO_ANIMALS,
  storeOptions,
} from './environment.js'
import type { StoreSettings, VerdictSettings } from './options.js'

type ControlledSettings = StoreSettings & Partial<Pick<VerdictSettings, 'allow' | 'clients'>>

interface ControlledEnvironment extends Environment {
  readonly double: JudgedDouble
}

/**
 * In memory, on a clock of its own: frozen by `--clock`, otherwise running.
 *
 * @param token opens the control tree
 * @param watch sees every request, but those in worlds
 */
export async function openControlled(
  settings: ControlledSettings,
  keys: Keys,
  initial: Initial,
  token: string,
  watch?: Watch,
): Promise<ControlledEnvironment> {
  const { delay: ms, clock = 'running', allow = [], clients, rateLimit, seed } = settings
  const options: TestDoubleOptions = {
    ...(await storeOptions(settings)),
    clock,
    allow: allow as readonly RuleId[],
    clients,
    faults: ms === 0 ? [] : [{ kind: 'delay', ms, real: true, times: 'always' }],
  }
  const open = (apiKeys: Keys, { pets }: Initial) => {
    const begin = { ...options, apiKeys, pets }
    const inWorlds = { ...begin, control: token, pets: seed === undefined ? NO_ANIMALS : pets }
    let worlds: ReadonlyMap<string, OpenWorld> = new Map()
    const around = (own: JudgedDouble) => {
      const handler = withControl(own, inWorlds)
      worlds = handler.worlds.open
      return handler
    }
    return { double: createDouble(begin, around, undefined, watch), apiKeys, worlds }
  }
  let latest = { keys, initial }
  let current = open(keys, initial)
  return {
    get double() {
      return current.double
    },
    handler: {
      ...current.double.handler,
      handle: request => current.double.handler.handle(request),
      connect: () => current.double.connect(),
    },
    clock: () => current.double.clock.now(),
    console: {
      ...viewOf(() => current, rateLimit !== false),
      control: true,
      worlds: () => viewsOf(current.worlds, rateLimit !== false),
    },
    animals: initial.pets.pets.length,
    source: initial.source,
    store: 'memory:',
    limits: 'memory:',
    // A reset restores the initial state, which is what has changed.
    async reload(changed) {
      const { double } = current
      latest = { ...latest, ...changed }
      current = open(latest.keys, latest.initial)
      await double.close()
    },
  }
}

type View = Omit<ConsoleWorld, 'isPublicKey'>

/** What the console shows of a double. */
export function viewOf(current: () => OpenWorld, isLimited: boolean): View {
  return {
    clock: () => current().double.clock.now(),
    isFrozen: () => current().double.clock.frozen,
    apiKeys: () => current().apiKeys,
    animals: {
      list: filter => current().double.inspect.animals(filter),
      create: pet => current().double.pets.createPet(pet),
    },
    ...(isLimited && { usage: id => current().double.inspect.usage(id) }),
  }
}

/** The keys of a world are created for it and returned to the client that creates it. */
export function viewsOf(worlds: ReadonlyMap<string, OpenWorld>, isLimited: boolean) {
  const views = [...worlds].map(([id, world]): [string, ConsoleWorld] => {
    const isPublicKey = (key: string) => Object.hasOwn(world.apiKeys, key)
    return [id, { ...viewOf(() => world, isLimited), isPublicKey }]
  })
  return new Map(views)
}
