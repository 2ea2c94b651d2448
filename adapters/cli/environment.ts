import type { Clock, PetSnapshot } from '../../src/ports.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { ApiKey } from '../../src/protocol/api-keys.js'
import { createStore } from '../../src/store.js'
import type { ConsoleOptions } from '../console/index.js'
import { memoryRateLimits } from '../memory.js'
import { DEMO_KEYS } from '../test-double/demo-keys.js'
import type { TestDouble } from '../test-double/index.js'
import { fileOf, openLimits, openStorage } from './backends.js'
import { demoAnimals } from './demo.js'
import { noteFailures, noteUnreachable } from './failure-notes.js'
import type { Backends } from './health.js'
import type { Metrics } from './metrics.js'
import type { Notes } from './notes.js'
import type { ServeSettings, StoreSettings } from './options.js'
import type { Stops } from './stops.js'
import { UsageError } from './usage-error.js'

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

/** With the store and the limits of the command line. @throws UsageError */
export async function openEnvironment(
  settings: ServeSettings,
  keys: Keys,
  stops: Stops,
  notes: Notes,
  metrics: Metrics | undefined,
): Promise<Environment> {
  const { rateLimit } = settings
  if (rateLimit === false && settings.limits !== 'memory:') {
    throw new UsageError(
      '--rate-limit off cannot be combined with --limits',
      '--rate-limit',
      '--limits',
    )
  }
  const { storage, name, seed, count, ping, connections } = await openStorage(
    '--store',
    settings.store,
    stops,
    message => notes.say('storage.warning', message),
  )
  const limits = await openLimits(settings.limits, settings.requireLimits, stops)
  await limits?.ping().catch(error => noteUnreachable(error, notes))
  const initial = await readInitial({ ...settings, empty: startsEmpty(settings) })
  const seeded = await seed(initial.pets)
  const rateLimits = limits?.rateLimits ?? memoryRateLimits()
  const store = createStore({
    ...(await storeOptions(settings)),
    storage,
    rateLimits,
    apiKeys: keys,
    ...(limits?.rateLimitTimeoutMs && { rateLimitTimeoutMs: limits.rateLimitTimeoutMs }),
  })
  metrics?.watch(store, connections)
  noteFailures(store.events, notes)
  let known = keys
  return {
    handler: await withDelay(store, settings.delay),
    clock: Date.now,
    console: {
      apiKeys: () => known,
      animals: { list: storage.list, create: store.createPet },
      ...(rateLimit !== false && { usage: rateLimits.inspect }),
    },
    animals: await count(),
    source: seeded ? initial.source : storedSource(settings),
    ignoresSeed: !seeded && settings.seed !== undefined,
    store: name,
    limits: limits?.name ?? 'memory:',
    backends: { store: ping, limits: limits?.ping },
    async reload({ keys, initial }) {
      if (settings.store === 'memory:' && initial) await storage.restore(initial.pets)
      if (!keys) return
      for (const key of Object.keys(known)) store.apiKeys.remove(key)
      for (const [key, record] of Object.entries(keys)) store.apiKeys.add(key, record)
      known = keys
    },
  }
}

/** From `--keys`, or the demo keys. @throws UsageError */
export async function readApiKeys({ keys }: Pick<StoreSettings, 'keys'>): Promise<Keys> {
  if (keys === undefined) return DEMO_KEYS
  const { readKeys } = await import('./files.js')
  return readKeys(keys)
}

/** From `--seed`, or the demo animals. @throws UsageError */
export async function readInitial({
  seed,
  empty,
}: Pick<StoreSettings, 'seed' | 'empty'>): Promise<Initial> {
  if (seed !== undefined) {
    const { readSeed } = await import('./files.js')
    return { pets: await readSeed(seed), source: `from ${seed}` }
  }
  if (empty) return { pets: NO_ANIMALS, source: 'starts empty' }
  return { pets: demoAnimals(), source: 'demo data' }
}

export const NO_ANIMALS: PetSnapshot = { pets: [], nextId: 1 }

/** Only a file of keys names them by digest; hashing is slow to load. */
export async function digests({ keys }: Pick<StoreSettings, 'keys'>) {
  return keys === undefined ? {} : { sha256: (await import('./files.js')).sha256 }
}

export function isControlled({ control, clock }: StoreSettings): boolean {
  return control || clock !== undefined
}

/** Of a store, and of a double. */
export async function storeOptions(settings: StoreSettings) {
  const { rateLimit, noCors, pagination, idempotency } = settings
  return {
    rateLimit,
    cors: !noCors,
    pagination,
    idempotency: idempotency === undefined ? null : { ttlMs: idempotency },
    ...(await digests(settings)),
  }
}

/** A database is permanent, and the API cannot delete animals: demo data only with demo keys. */
function startsEmpty({ empty, store, keys }: ServeSettings): boolean {
  const isDatabase = store !== 'memory:' && fileOf(store)?.kind !== 'json'
  return empty || (isDatabase && keys !== undefined)
}

function storedSource({ seed }: StoreSettings): string {
  return seed === undefined ? 'as stored' : `as stored; --seed ${seed} is ignored`
}

async function withDelay(handler: ApiHandler, ms: number): Promise<ApiHandler> {
  if (ms === 0) return handler
  const { setTimeout } = await import('node:timers/promises')
  return {
    ...handler,
    async handle(request) {
      await setTimeout(ms, undefined, { ref: false })
      return handler.handle(request)
    },
  }
}
