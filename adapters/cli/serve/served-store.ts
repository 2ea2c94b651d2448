import { setTimeout } from 'node:timers/promises'
import type { Clock, PetSnapshot } from '../../../src/ports.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { isToken } from '../../http/token.js'
import { createStore } from '../../index.js'
import type { ConsoleOptions } from '../../pages/console/index.js'
import { memoryRateLimitStore } from '../../stores/memory.js'
import { numbered } from '../../test-double/animals.js'
import { DEMO_KEYS } from '../../test-double/demo-keys.js'
import { EDGE_ANIMALS } from '../../test-double/edge-animals.js'
import type { TestDouble } from '../../test-double/index.js'
import { openLimits, openStorage } from '../open-stores.js'
import type { ServeSettings, StoreSettings } from '../options.js'
import type { KeyFile } from '../seed-and-keys-files.js'
import type { Stops } from '../shutdown.js'
import { UsageError } from '../usage-error.js'
import { demoAnimals } from './demo-animals.js'
import { type Health, watchHealth } from './health.js'
import type { Metrics } from './metrics.js'
import type { Notes } from './request-log.js'

export interface Environment {
  readonly handler: ApiHandler
  readonly clock: Clock
  readonly console: ConsoleOptions & { readonly apiKeys: NonNullable<ConsoleOptions['apiKeys']> }
  /** Stores initial animals if there is none. A durable store keeps them, so it waits for the port. */
  fill(): Promise<{ readonly animals: number; readonly source: string }>
  /** Names of the backends without user and password. */
  readonly store: string
  readonly rateLimitStore: string
  readonly health?: Health
  /** Applies a changed file of `--keys` or `--seed`; undefined with `--control`. */
  reload?(changed: { readonly keys?: KeyFile; readonly initial?: Initial }): Promise<void>
  readonly double?: TestDouble
}

export interface Initial {
  readonly snapshot: PetSnapshot
  readonly source: string
}

export type Keys = Readonly<Record<string, ApiKey>>

export async function openEnvironment(
  settings: ServeSettings,
  keys: Keys,
  stops: Stops,
  notes: Notes,
  metrics: Metrics | undefined,
): Promise<Environment> {
  const { rateLimiting, requireRateLimitStore, seed, empty } = settings
  if (rateLimiting === false && settings.rateLimitStore !== 'memory:') {
    throw new UsageError(
      '--rate-limiting off cannot be combined with --rate-limit-store; use only one',
    )
  }
  const opened = await openStorage('--store', settings.store, stops, message =>
    notes.say('storage.warning', message),
  )
  const { storage } = opened
  const limits = await openLimits(settings.rateLimitStore, requireRateLimitStore, stops)
  // A durable store is permanent, and the API cannot delete animals: demo data only with demo keys.
  const startsEmpty = empty || (settings.store !== 'memory:' && settings.keys !== undefined)
  const initial = await readInitial({ seed, empty: startsEmpty })
  let filled = () => {}
  const filling = new Promise<void>(resolve => {
    filled = resolve
  })
  const rateLimitStore = limits?.rateLimitStore ?? memoryRateLimitStore()
  const store = createStore({
    ...(await storeOptions(settings)),
    storage,
    rateLimitStore,
    apiKeys: keys,
    rateLimitStoreTimeout: limits?.timeout,
  })
  const pings = { ping: opened.ping, pingLimits: limits?.rateLimitStore.ping }
  const health = watchHealth({ events: store.events, ...pings }, notes)
  await health.isDegraded()
  metrics?.watch(store, health, opened.connections)
  let known = keys
  let valid: KeyFile = new Map(Object.entries(keys))
  return {
    handler: waitFor(filling, settings.delay, store),
    clock: Date.now,
    console: {
      apiKeys: () => known,
      animals: { list: storage.list, create: store.createPet },
      ...(rateLimiting !== false && { usage: rateLimitStore.inspect }),
    },
    fill: () => fill().finally(filled),
    store: opened.name,
    rateLimitStore: limits?.name ?? 'memory:',
    health,
    async reload({ keys, initial }) {
      if (settings.store === 'memory:' && initial) await storage.restore(initial.snapshot)
      if (!keys) return
      const { inSlices } = await import('../seed-and-keys-files.js')
      const next: Record<string, ApiKey> = Object.create(null)
      const changed: [string, ApiKey][] = []
      const added: [string, ApiKey][] = []
      await inSlices(keys, ([key, record]) => {
        next[key] = record
        if (valid.get(key) !== record) (valid.has(key) ? changed : added).push([key, record])
      })
      // First revoke removed keys, synchronously.
      for (const [key, record] of valid) {
        if (keys.get(key) !== record) store.apiKeys.remove(key)
      }
      for (const [key, record] of changed) store.apiKeys.add(key, record)
      await inSlices(added, ([key, record]) => store.apiKeys.add(key, record))
      valid = keys
      known = next
    },
  }
  async function fill() {
    const isSeeded = await opened.restoreIfNew(initial.snapshot)
    const animals = await opened.count()
    if (isSeeded) return { animals, source: initial.source }
    if (seed === undefined) return { animals, source: 'as stored' }
    const stored = `as stored; --seed ${seed} is ignored`
    notes.say('seed.ignored', `${opened.name} holds ${animals} animals, ${stored}`)
    return { animals, source: stored }
  }
}

export const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Reads `--keys`, or returns the demo keys, beyond loopback as random ones. @throws UsageError */
export async function readApiKeys(settings: Pick<ServeSettings, 'keys' | 'host'>): Promise<Keys> {
  const { keys, host } = settings
  if (keys !== undefined) return (await import('../seed-and-keys-files.js')).readKeys(keys)
  if (LOOPBACK.test(host)) return DEMO_KEYS
  return Object.fromEntries(Object.values(DEMO_KEYS).map(key => [crypto.randomUUID(), key]))
}

/** Reads `--seed`, or returns the demo animals. @throws UsageError */
export async function readInitial({
  seed,
  empty,
}: Pick<StoreSettings, 'seed' | 'empty'>): Promise<Initial> {
  if (seed === 'edge') return { snapshot: numbered(EDGE_ANIMALS), source: 'edge cases' }
  if (seed !== undefined) {
    return {
      snapshot: await (await import('../seed-and-keys-files.js')).readSeed(seed),
      source: `from ${seed}`,
    }
  }
  if (empty) return { snapshot: NO_ANIMALS, source: 'starts empty' }
  return { snapshot: demoAnimals(), source: 'demo data' }
}

export const NO_ANIMALS: PetSnapshot = { pets: [], nextId: 1 }

/** Only keys files contain digests; hashing is slow to load. */
export async function digests({ keys }: Pick<StoreSettings, 'keys'>) {
  return keys === undefined ? {} : { sha256: (await import('../seed-and-keys-files.js')).sha256 }
}

/** Token for the console and the control tree of this process. @throws UsageError */
export function controlToken(): string {
  const given = process.env['ADOPTION_STORE_CONTROL_TOKEN']
  if (!given) return crypto.randomUUID()
  if (isToken(given)) return given
  throw new UsageError('ADOPTION_STORE_CONTROL_TOKEN takes at least 16 letters, digits, - and _')
}

export function isControlled({ control, time }: StoreSettings): boolean {
  return control || time !== undefined
}

export async function storeOptions(settings: StoreSettings) {
  const { rateLimiting, noCors, pagination, idempotency } = settings
  return {
    rateLimiting,
    cors: !noCors,
    pagination,
    idempotency: idempotency === undefined ? null : { ttl: idempotency },
    ...(await digests(settings)),
  }
}

function waitFor(filling: Promise<void>, ms: number, handler: ApiHandler): ApiHandler {
  return {
    ...handler,
    async handle(request) {
      await filling
      if (ms > 0) await setTimeout(ms, undefined, { ref: false })
      return handler.handle(request)
    },
  }
}
