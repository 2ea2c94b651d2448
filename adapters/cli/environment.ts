import type { ApiHandler } from '../../src/api.js'
import type { ApiKey } from '../../src/api-keys.js'
import type { Clock, PetSnapshot, PetStorage } from '../../src/ports.js'
import { createStore } from '../../src/store.js'
import { DEMO_KEYS } from '../demo-keys.js'
import { memoryStorage } from '../memory.js'
import type { TestDouble, TestDoubleOptions } from '../test-double/index.js'
import { demoAnimals } from './demo.js'
import { type Flags, UsageError, wholeNumber } from './flags.js'

/** What is served below one address. */
export interface Environment {
  readonly handler: ApiHandler
  readonly clock: Clock
  readonly animals: number
  /** Where they come from, in words. */
  readonly from: string
  /** What `/_control` beside it commands; undefined without that. */
  readonly double?: TestDouble
}

type Keys = Readonly<Record<string, ApiKey>>
type Stops = (() => Promise<void>)[]

const LONGEST_DELAY = 600_000

/** @throws UsageError */
export async function openEnvironment(
  flags: Flags,
  store: string,
  apiKeys: Keys,
  stops: Stops,
): Promise<Environment> {
  if (isControlled(flags)) {
    if (store === 'memory:') return openControlled(flags, apiKeys)
    throw new UsageError(`--control could reset ${store}; use it with --store memory:`)
  }
  const begin = await beginning(flags)
  const storage = await openStorage(store, stops)
  const { pets, nextId } = await storage.dump()
  const isEmpty = pets.length === 0 && nextId === 1
  if (isEmpty && begin.pets.pets.length > 0) await storage.restore(begin.pets)
  return {
    handler: await withDelay(
      createStore({ ...storeOptions(flags), storage, apiKeys }),
      delayOf(flags),
    ),
    clock: Date.now,
    animals: isEmpty ? begin.pets.pets.length : pets.length,
    from: isEmpty ? begin.from : 'as stored',
  }
}

/** In memory, on a clock of its own: that of `--clock`, or one that runs. @throws UsageError */
export async function openControlled(flags: Flags, apiKeys: Keys): Promise<Required<Environment>> {
  const { createDouble } = await import('../test-double/double.js')
  const { withControl } = await import('../test-double/control/control.js')
  const { pets, from } = await beginning(flags)
  const ms = delayOf(flags)
  const options: TestDoubleOptions = {
    ...storeOptions(flags),
    apiKeys,
    pets,
    clock: await clockOf(flags),
    faults: ms === 0 ? [] : [{ kind: 'delay', ms, real: true, times: 'always' }],
  }
  const worlds = { ...options, pets: flags.seed === undefined ? NO_ANIMALS : pets }
  const double = createDouble(options, own => withControl(own, worlds))
  return {
    double,
    handler: double.handler,
    clock: double.clock.now,
    animals: pets.pets.length,
    from,
  }
}

/** Those of `--keys`, or the demo keys. @throws UsageError */
export async function keysOf({ keys }: Flags): Promise<Keys> {
  if (keys === undefined) return DEMO_KEYS
  const { readKeys } = await import('./files.js')
  return readKeys(keys)
}

export function isControlled({ control, clock }: Flags): boolean {
  return control === true || clock !== undefined
}

function storeOptions(flags: Flags) {
  return {
    rateLimit: !flags['no-rate-limit'],
    cors: !flags['no-cors'],
    pagination: flags.pagination ?? false,
  }
}

async function beginning(flags: Flags): Promise<{ pets: PetSnapshot; from: string }> {
  const { seed } = flags
  if (seed !== undefined) {
    const { readSeed } = await import('./files.js')
    return { pets: await readSeed(seed), from: `from ${seed}` }
  }
  if (flags.empty) return { pets: NO_ANIMALS, from: 'as asked for' }
  return { pets: demoAnimals(), from: 'invented for a demo' }
}

const NO_ANIMALS: PetSnapshot = { pets: [], nextId: 1 }

async function clockOf({ clock }: Flags): Promise<number | 'running'> {
  if (clock === undefined) return 'running'
  const { instantOf } = await import('../test-double/time.js')
  try {
    return instantOf(clock)
  } catch (error) {
    throw new UsageError(`--clock: ${(error as Error).message}`)
  }
}

function delayOf(flags: Flags): number {
  return wholeNumber(flags, 'delay', LONGEST_DELAY) ?? 0
}

async function withDelay(handler: ApiHandler, ms: number): Promise<ApiHandler> {
  if (ms === 0) return handler
  const { createClock } = await import('../test-double/clock.js')
  const clock = createClock({ frozen: false })
  return {
    ...handler,
    async handle(request) {
      await clock.delay(ms)
      return handler.handle(request)
    },
  }
}

async function openStorage(name: string, stops: Stops): Promise<PetStorage> {
  if (name === 'memory:') return memoryStorage()
  if (!name.endsWith('.json')) {
    throw new UsageError(`--store takes memory: or a file that ends with .json, got '${name}'`)
  }
  const { jsonFileStorage } = await import('../json-file/index.js')
  const storage = await jsonFileStorage(name)
  stops.push(storage.close)
  return storage
}
