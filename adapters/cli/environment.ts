import type { OptionError } from '../../src/lib/options.js'
import type { Idempotency } from '../../src/pets/operations.js'
import type { Clock, PetSnapshot } from '../../src/ports.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { ApiKey } from '../../src/protocol/api-keys.js'
import { createStore } from '../../src/store.js'
import type { ConsoleOptions, ConsoleWorld } from '../console/index.js'
import { memoryRateLimits } from '../memory.js'
import type { OpenWorld } from '../test-double/control/worlds.js'
import { DEMO_KEYS } from '../test-double/demo-keys.js'
import type { JudgedDouble } from '../test-double/double.js'
import type { RuleId, TestDouble, TestDoubleOptions } from '../test-double/index.js'
import type { Watch } from '../test-double/requests.js'
import { fileOf, openLimits, openStorage } from './backends.js'
import { demoAnimals } from './demo.js'
import { readDuration } from './duration.js'
import { noteFailures, noteUnreachable } from './failure-notes.js'
import { type Flags, rateLimitMode, UsageError, usageError, wholeNumber } from './flags.js'
import type { Backends } from './health.js'
import type { Metrics } from './metrics.js'
import type { Notes } from './notes.js'
import type { Stops } from './stops.js'
import { withoutSecrets } from './without-secrets.js'

/** Everything that is served at one address. */
export interface Environment {
  readonly handler: ApiHandler
  readonly clock: Clock
  /** What the console shows besides requests. */
  readonly console: ConsoleOptions & { readonly apiKeys: NonNullable<ConsoleOptions['apiKeys']> }
  readonly animals: number
  /** Where the animals come from, in words. */
  readonly source: string
  /** Whether the store held animals already, so that those of `--seed` were not used. */
  readonly ignoresSeed: boolean
  /** The backends as they may be shown: without user and password. */
  readonly store: string
  readonly limits: string
  readonly backends: Backends
  /** Applies what a changed file of `--keys` or `--seed` now holds. */
  reload(changed: Changed): Promise<void>
  /** The double that `/_control` commands; undefined without `--control`. */
  readonly double?: TestDouble
}

/** The animals that an empty store starts with. */
export interface Initial {
  readonly pets: PetSnapshot
  readonly source: string
}

/** The content of the files that have changed. */
export interface Changed {
  readonly keys?: Keys
  readonly initial?: Initial
}

export type Keys = Readonly<Record<string, ApiKey>>

const LONGEST_DELAY = 600_000

/** @throws UsageError */
export async function openEnvironment(
  flags: Flags,
  keys: Keys,
  stops: Stops,
  notes: Notes,
  metrics: Metrics | undefined,
): Promise<Environment> {
  const { store: storeName = 'memory:', limits: limitsName = 'memory:' } = flags
  if (isControlled(flags)) {
    refuseBackend('store', storeName)
    refuseBackend('limits', limitsName)
    return openControlled(flags, keys, await readInitial(flags))
  }
  const rateLimit = rateLimitMode(flags)
  if (rateLimit === false && limitsName !== 'memory:') {
    const flag = flags['no-rate-limit'] ? '--no-rate-limit' : '--rate-limit off'
    throw new UsageError(
      `${flag} cannot be combined with --limits`,
      '--no-rate-limit',
      '--rate-limit',
      '--limits',
    )
  }
  const { storage, name, seed, count, ping, connections } = await openStorage(
    '--store',
    storeName,
    stops,
    message => notes.say('storage.warning', message),
  )
  const limits = await openLimits(limitsName, flags['require-limits'] ?? false, stops)
  await limits?.ping().catch(error => noteUnreachable(error, notes))
  // A database is permanent, and the API cannot delete animals: demo data only with demo keys.
  const isDatabase = storeName !== 'memory:' && fileOf(storeName)?.kind !== 'json'
  const empty = flags.empty || (isDatabase && flags.keys !== undefined)
  const initial = await readInitial({ ...flags, empty })
  const seeded = await seed(initial.pets)
  const rateLimits = limits?.rateLimits ?? memoryRateLimits()
  const store = createStore({
    ...storeOptions(flags),
    storage,
    rateLimits,
    apiKeys: keys,
    ...(await digests(flags)),
    ...(limits?.rateLimitTimeoutMs && { rateLimitTimeoutMs: limits.rateLimitTimeoutMs }),
  })
  metrics?.watch(store, connections)
  noteFailures(store.events, notes)
  let known = keys
  return {
    handler: await withDelay(store, readDelay(flags)),
    clock: Date.now,
    console: {
      apiKeys: () => known,
      animals: { list: storage.list, create: store.createPet },
      ...(rateLimit !== false && { usage: rateLimits.inspect }),
    },
    animals: await count(),
    source: seeded ? initial.source : storedSource(flags),
    ignoresSeed: !seeded && flags.seed !== undefined,
    store: name,
    limits: limits?.name ?? 'memory:',
    backends: { store: ping, limits: limits?.ping },
    async reload({ keys, initial }) {
      if (storeName === 'memory:' && initial) await storage.restore(initial.pets)
      if (!keys) return
      for (const key of Object.keys(known)) store.apiKeys.remove(key)
      for (const [key, record] of Object.entries(keys)) store.apiKeys.add(key, record)
      known = keys
    },
  }
}

function refuseBackend(flag: 'store' | 'limits', name: string): void {
  if (name === 'memory:') return
  throw new UsageError(
    `--control could reset ${withoutSecrets(name)}; use it with --${flag} memory:`,
    '--control',
    `--${flag}`,
  )
}

interface ControlledEnvironment extends Required<Environment> {
  readonly double: JudgedDouble
}

/**
 * In memory, on a clock of its own: frozen by `--clock`, otherwise running.
 *
 * @param watch sees every request, but those in worlds
 * @throws UsageError
 */
export async function openControlled(
  flags: Flags,
  keys: Keys,
  initial: Initial,
  watch?: Watch,
): Promise<ControlledEnvironment> {
  const { createDouble } = await import('../test-double/double.js')
  const { withControl } = await import('../test-double/test-double.js')
  const ms = readDelay(flags)
  const options: TestDoubleOptions = {
    ...storeOptions(flags),
    ...(await digests(flags)),
    clock: await readClock(flags),
    allow: (flags.allow?.split(',') ?? []) as RuleId[],
    clients: readClients(flags),
    faults: ms === 0 ? [] : [{ kind: 'delay', ms, real: true, times: 'always' }],
  }
  const open = (apiKeys: Keys, { pets }: Initial) => {
    const begin = { ...options, apiKeys, pets }
    const inWorlds = { ...begin, pets: flags.seed === undefined ? NO_ANIMALS : pets }
    let worlds: ReadonlyMap<string, OpenWorld> = new Map()
    const around = (own: JudgedDouble) => {
      const handler = withControl(own, inWorlds)
      worlds = handler.worlds.open
      return handler
    }
    const double = createDouble(begin, around, undefined, watch)
    return { double, apiKeys, worlds }
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
      ...viewOf(() => current, flags),
      control: true,
      worlds: () => viewsOf(current.worlds, flags),
    },
    animals: initial.pets.pets.length,
    source: initial.source,
    ignoresSeed: false,
    store: 'memory:',
    limits: 'memory:',
    backends: {},
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

export function viewOf(current: () => OpenWorld, flags: Flags): View {
  return {
    clock: () => current().double.clock.now(),
    isFrozen: () => current().double.clock.frozen,
    apiKeys: () => current().apiKeys,
    animals: {
      list: filter => current().double.inspect.animals(filter),
      create: pet => current().double.pets.createPet(pet),
    },
    ...(rateLimitMode(flags) !== false && { usage: id => current().double.inspect.usage(id) }),
  }
}

/** The keys of a world are created for it and returned to the client that creates it. */
export function viewsOf(worlds: ReadonlyMap<string, OpenWorld>, flags: Flags) {
  const views = [...worlds].map(([id, world]): [string, ConsoleWorld] => {
    const isPublicKey = (key: string) => Object.hasOwn(world.apiKeys, key)
    return [id, { ...viewOf(() => world, flags), isPublicKey }]
  })
  return new Map(views)
}

/** From `--keys`, or the demo keys. @throws UsageError */
export async function readApiKeys({ keys }: Flags): Promise<Keys> {
  if (keys === undefined) return DEMO_KEYS
  const { readKeys } = await import('./files.js')
  return readKeys(keys)
}

/** From `--seed`, or the demo animals. @throws UsageError */
export async function readInitial({ seed, empty }: Flags): Promise<Initial> {
  if (seed !== undefined) {
    const { readSeed } = await import('./files.js')
    return { pets: await readSeed(seed), source: `from ${seed}` }
  }
  if (empty) return { pets: NO_ANIMALS, source: 'starts empty' }
  return { pets: demoAnimals(), source: 'demo data' }
}

const NO_ANIMALS: PetSnapshot = { pets: [], nextId: 1 }

/** Only a file of keys names them by digest; hashing is slow to load. */
export async function digests({ keys }: Flags) {
  return keys === undefined ? {} : { sha256: (await import('./files.js')).sha256 }
}

export function isControlled({ control, clock }: Flags): boolean {
  return control === true || clock !== undefined
}

/** @throws UsageError */
export function readClients(flags: Flags): number | undefined {
  return wholeNumber(flags, 'clients', 1_000_000, 1)
}

export function readDelay(flags: Flags): number {
  return wholeNumber(flags, 'delay', LONGEST_DELAY) ?? 0
}

function storedSource({ seed }: Flags): string {
  return seed === undefined ? 'as stored' : `as stored; --seed ${seed} is ignored`
}

function storeOptions(flags: Flags) {
  return {
    rateLimit: rateLimitMode(flags),
    cors: !flags['no-cors'],
    pagination: flags.pagination ?? false,
    idempotency: readIdempotency(flags),
  }
}

function readIdempotency({ idempotency }: Flags): Idempotency | null {
  if (idempotency === undefined) return null
  return { ttlMs: readDuration('--idempotency', idempotency, { most: Number.MAX_SAFE_INTEGER }) }
}

/** Its frozen time, in ms since the epoch. @throws UsageError */
export async function readClock({ clock }: Flags): Promise<number | 'running'> {
  if (clock === undefined) return 'running'
  const { INSTANT_TEXT, instantOf } = await import('../../src/lib/time.js')
  try {
    return instantOf('clock', clock, INSTANT_TEXT)
  } catch (error) {
    throw usageError(error as OptionError, '--clock')
  }
}

async function withDelay(handler: ApiHandler, ms: number): Promise<ApiHandler> {
  if (ms === 0) return handler
  const { createClock } = await import('../test-double/clock/clock.js')
  const clock = createClock({ frozen: false })
  return {
    ...handler,
    async handle(request) {
      await clock.delay(ms)
      return handler.handle(request)
    },
  }
}
