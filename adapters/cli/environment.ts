import type { ApiHandler } from '../../src/api.js'
import type { ApiKey } from '../../src/api-keys.js'
import type { Clock, PetSnapshot } from '../../src/ports.js'
import { createStore } from '../../src/store.js'
import { DEMO_KEYS } from '../demo-keys.js'
import type { RuleId, TestDouble, TestDoubleOptions } from '../test-double/index.js'
import { demoAnimals } from './demo.js'
import { openLimits, openStorage, withoutPassword } from './engines.js'
import { type Flags, UsageError, wholeNumber } from './flags.js'
import type { Engines } from './health.js'

/** What is served below one address. */
export interface Environment {
  readonly handler: ApiHandler
  readonly clock: Clock
  readonly animals: number
  /** Where they come from, in words. */
  readonly from: string
  /** The engines as they may be shown: without user and password. */
  readonly store: string
  readonly limits: string
  readonly engines: Engines
  /** What `/_control` beside it commands; undefined without that. */
  readonly double?: TestDouble
}

type Keys = Readonly<Record<string, ApiKey>>
type Stops = (() => Promise<void>)[]

const LONGEST_DELAY = 600_000

/** @throws UsageError */
export async function openEnvironment(
  flags: Flags,
  apiKeys: Keys,
  stops: Stops,
  report: (line: string) => void,
): Promise<Environment> {
  const { store: storeName = 'memory:', limits: limitsName = 'memory:' } = flags
  if (isControlled(flags)) {
    refuseEngine('store', storeName)
    refuseEngine('limits', limitsName)
    return openControlled(flags, apiKeys)
  }
  if (flags['no-rate-limit'] && limitsName !== 'memory:') {
    throw new UsageError('--no-rate-limit cannot be combined with --limits')
  }
  const { storage, name, seed, count, ping } = await openStorage('--store', storeName, stops)
  const limits = await openLimits(limitsName, stops)
  // A database is there to stay, and nobody can delete an animal: demo data only with demo keys.
  const empty = flags.empty || (ping !== undefined && flags.keys !== undefined)
  const initial = await beginning({ ...flags, empty })
  const seeded = await seed(initial.pets)
  const counting = limits && {
    rateLimits: limits.rateLimits,
    // It gives up by itself before, and knows whether this process was the late one.
    rateLimitTimeoutMs: 1_000,
  }
  const store = createStore({ ...storeOptions(flags), ...counting, storage, apiKeys })
  store.events.on('ratelimit.degraded', ({ error }) => report(`limits: ${messageOf(error)}`))
  return {
    handler: await withDelay(store, delayOf(flags)),
    clock: Date.now,
    animals: await count(),
    from: seeded ? initial.from : 'as stored',
    store: name,
    limits: limits?.name ?? 'memory:',
    engines: { store: ping, limits: limits?.ping },
  }
}

function refuseEngine(flag: 'store' | 'limits', name: string): void {
  if (name === 'memory:') return
  throw new UsageError(
    `--control could reset ${withoutPassword(name)}; use it with --${flag} memory:`,
  )
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
    allow: (flags.allow?.split(',') ?? []) as RuleId[],
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
    store: 'memory:',
    limits: 'memory:',
    engines: {},
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
