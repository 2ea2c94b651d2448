import type { PetSnapshot, PetStorage, RateLimitStore } from '../../src/ports.js'
import { memoryStorage } from '../memory.js'
import type { Connections, RestoreOptions } from '../postgres/index.js'
import { UsageError } from './flags.js'
import { withoutSecrets } from './without-secrets.js'

/** A storage named on the command line. */
export interface OpenStorage {
  readonly storage: PetStorage
  /** The name to show: without user and password. */
  readonly name: string
  /** Restores a snapshot if the storage was never used; resolves with whether it did. */
  seed(snapshot: PetSnapshot, options?: RestoreOptions): Promise<boolean>
  count(): Promise<number>
  /** Rejects while it cannot serve; undefined if it always can. */
  readonly ping?: () => Promise<void>
  /** Of its pool, if it has one. */
  readonly connections?: () => Connections
}

/** A rate limit store named on the command line. */
export interface OpenLimits {
  readonly rateLimits: RateLimitStore
  readonly name: string
  readonly ping: () => Promise<void>
}

type Stops = (() => Promise<void>)[]

/** @throws UsageError for an unknown kind of storage, PostgresError and JsonFileError on opening */
export async function openStorage(flag: string, name: string, stops: Stops): Promise<OpenStorage> {
  if (/^postgres(ql)?:/.test(name)) return openPostgres(flag, name, stops)
  if (name === 'memory:') return { ...openHere(memoryStorage()), name }
  if (!name.endsWith('.json') || name.includes('://')) {
    const stores = `${flag === '--store' ? 'memory:, ' : ''}a file that ends with .json, or postgres://…`
    throw new UsageError(`${flag} takes ${stores}; got '${withoutSecrets(name)}'`, flag)
  }
  const { jsonFileStorage } = await import('../json-file/index.js')
  const onError = ({ message }: Error) =>
    void process.stderr.write(`animal-adoption-store: ${message}\n`)
  const storage = await jsonFileStorage(name, { onError })
  stops.push(storage.close)
  return { ...openHere(storage), name }
}

/**
 * Undefined for `memory:`, where the store counts by itself.
 *
 * @throws UsageError
 */
export async function openLimits(name: string, stops: Stops): Promise<OpenLimits | undefined> {
  if (name === 'memory:') return undefined
  if (!/^(redis|valkey)s?:/.test(name)) {
    throw new UsageError(
      `--limits takes memory:, redis://…, rediss://… or valkey://…; got '${withoutSecrets(name)}'`,
      '--limits',
    )
  }
  const { addressOf, redisRateLimits } = await import('../redis/open.js')
  const url = urlOf('--limits', name, 'REDIS_URL')
  const address = usable('--limits', url === name ? '' : ' (from REDIS_URL)', () => addressOf(url))
  const rateLimits = await redisRateLimits({ url })
  stops.push(rateLimits.close)
  return { rateLimits, name: address, ping: rateLimits.ping }
}

async function openPostgres(flag: string, name: string, stops: Stops): Promise<OpenStorage> {
  const { addressOf, postgresStorage } = await import('../postgres/open.js')
  const url = urlOf(flag, name, 'DATABASE_URL')
  const address = usable(flag, url === name ? '' : ' (from DATABASE_URL)', () => addressOf(url))
  const storage = await postgresStorage({ url })
  stops.push(storage.close)
  const { seed, count, ping, connections } = storage
  return { storage, name: address, seed, count, ping, connections }
}

/** For storages that no other process changes. */
function openHere(storage: PetStorage): Omit<OpenStorage, 'name'> {
  return {
    storage,
    async seed(snapshot) {
      const { pets, nextId } = await storage.dump()
      if (pets.length > 0 || nextId > 1) return false
      await storage.restore(snapshot)
      return true
    },
    count: async () => (await storage.dump()).pets.length,
  }
}

/** `postgres:` alone reads a variable, so that `ps` shows no password. */
function urlOf(flag: string, name: string, variable: string): string {
  if (name.includes('//')) return name
  const url = process.env[variable]
  if (url) return url
  throw new UsageError(
    `${flag} ${withoutSecrets(name)} needs the variable ${variable} to be a URL`,
    flag,
  )
}

function usable(flag: string, source: string, addressOf: () => string): string {
  try {
    return addressOf()
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}${source}`, flag)
  }
}
