import { existsSync, statSync } from 'node:fs'
import type { PetSnapshot, PetStorage, RateLimitStore } from '../../src/ports.js'
import { memoryStorage } from '../memory.js'
import type { Connections } from '../postgres/index.js'
import {
  isStream,
  type PetStream,
  type RestoreOptions,
  snapshotOf,
  streamOf,
} from '../storage/pet-stream.js'
import { duration, readValue } from './option.js'
import { readBytes } from './read-bytes.js'
import { readServerUrl, type ServerUrl } from './server-url.js'
import type { Stops } from './stops.js'
import { unreadable } from './unreadable.js'
import { UsageError } from './usage-error.js'
import { withoutSecrets } from './without-secrets.js'

/** A storage named on the command line. */
export interface OpenStorage {
  readonly storage: PetStorage
  /** The name to show: without user and password. */
  readonly name: string
  /** Stores all of it if the storage was never used; resolves with whether it did. */
  seed(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  /** Reads all of it. */
  stream<T>(read: (content: PetStream) => Promise<T>): Promise<T>
  count(): Promise<number>
  /** Rejects while it cannot serve; undefined if it always can. */
  readonly ping?: () => Promise<void>
  /** Of its pool, if it has one. */
  readonly connections?: () => Connections
  /** What is damaged; undefined for a storage that finds it on opening, or checks itself. */
  readonly check?: () => Promise<readonly string[]>
}

/** A storage that is read, and nothing else. */
export interface ReadStorage extends Pick<OpenStorage, 'name' | 'stream' | 'check'> {
  readonly storage: Pick<PetStorage, 'dump'>
  /** What opening has found damaged, in a line each. */
  readonly problems: readonly string[]
  /** What else to know before it is opened, in a line each. */
  readonly notes: readonly string[]
}

/** A rate limit store named on the command line. */
export interface OpenLimits {
  readonly rateLimits: RateLimitStore
  readonly name: string
  readonly ping: () => Promise<void>
  /** Undefined for the store's default. */
  readonly rateLimitTimeoutMs?: number | undefined
}

/** What to know of a storage that works, for people. */
export function printWarning(message: string): void {
  process.stderr.write(`animal-adoption-store: ${message}\n`)
}

/**
 * @param warn takes what to know of a storage that works, such as an edit by hand, in a line each
 * @throws UsageError for an unknown kind of storage
 * @throws PostgresError, SqliteError and JsonFileError on opening
 */
export async function openStorage(
  flag: string,
  name: string,
  stops: Stops,
  warn: (message: string) => void = printWarning,
): Promise<OpenStorage> {
  if (/^postgres(ql)?:/.test(name)) return openPostgres(flag, name, stops)
  if (name === 'memory:') return { ...openHere(memoryStorage()), name }
  const file = fileOf(name)
  if (file?.kind === 'sqlite') return openSqlite(file.path, stops)
  if (file?.kind === 'json') return openJsonFile(file.path, stops, warn)
  const memory = flag === '--store' ? 'memory:, ' : ''
  throw new UsageError(
    `${flag} takes ${memory}a file that ends with .json, .sqlite or .db, sqlite:<file>, or postgres://…; got '${withoutSecrets(name)}'`,
    flag,
  )
}

/**
 * Opens a storage to read all of it. A JSON file stays as it is, with its journals, and so does an empty
 * database.
 *
 * @throws as `openStorage`
 */
export async function openToRead(flag: string, name: string, stops: Stops): Promise<ReadStorage> {
  const file = fileOf(name)
  if (file?.kind === 'json') return readJson(file.path)
  if (file) return { ...(await openSqlite(file.path, stops, true)), problems: [], notes: [] }
  return { ...(await openStorage(flag, name, stops)), problems: [], notes: [] }
}

/** The file that a storage is in; undefined for one that is in no file. */
export function fileOf(name: string): { kind: 'json' | 'sqlite'; path: string } | undefined {
  const [, path] = /^sqlite:(.+)$/s.exec(name) ?? []
  if (path !== undefined) return { kind: 'sqlite', path }
  if (/^\w+:\/\//.test(name)) return undefined
  if (/\.(sqlite3?|db)$/.test(name)) return { kind: 'sqlite', path: name }
  return name.endsWith('.json') ? { kind: 'json', path: name } : undefined
}

/**
 * Opening a missing file would create it. Where a journal of it is left, opening says what to restore.
 *
 * @throws UsageError
 */
export function refuseMissing(name: string): void {
  const file = fileOf(name)
  if (!file) return
  try {
    statSync(file.path)
  } catch (error) {
    if (JOURNALS[file.kind].some(end => existsSync(file.path + end))) return
    throw new UsageError(`${file.path} ${unreadable(error)}`)
  }
}

const JOURNALS = { json: ['.journal'], sqlite: ['-wal'] } as const

/**
 * Undefined for `memory:`, where the store counts by itself.
 *
 * @param required whether to reject when the server is away
 * @throws UsageError
 */
export async function openLimits(
  name: string,
  required: boolean,
  stops: Stops,
): Promise<OpenLimits | undefined> {
  if (name === 'memory:') return undefined
  const file = name.startsWith('sqlite:') ? fileOf(name) : undefined
  if (file) return openSqliteLimits(file.path, stops)
  if (!/^(redis|valkey)s?:/.test(name)) {
    throw new UsageError(
      `--limits takes memory:, sqlite:<file>, redis://…, rediss://… or valkey://…; got '${withoutSecrets(name)}'`,
      '--limits',
    )
  }
  const { addressOf, redisRateLimits } = await import('../redis/open.js')
  const server = readServerUrl('--limits', name, 'REDIS_URL', ['timeout', 'ca'], addressOf)
  const { url, address, own } = server
  if (url.includes('?')) {
    // Not shown: it may be the rest of a password.
    const known = 'takes timeout, ca after the ?, each once; write a ? in a password as %3F'
    throw new UsageError(`--limits ${known}`, '--limits')
  }
  const tls = own['ca'] === undefined ? undefined : { ca: await readCertificate(url, own['ca']) }
  const rateLimits = await redisRateLimits({ url, required, tls })
  stops.push(rateLimits.close)
  const rateLimitTimeoutMs = timeoutOf('--limits', own)
  return { rateLimits, name: address, ping: rateLimits.ping, rateLimitTimeoutMs }
}

async function readCertificate(url: string, path: string): Promise<string> {
  if (!/^(rediss|valkeys):/.test(url)) {
    const message = '--limits takes ca with rediss:// or valkeys:// only, which use TLS'
    throw new UsageError(message, '--limits')
  }
  return (await readBytes(path, '--limits ?ca')).toString()
}

async function openPostgres(flag: string, name: string, stops: Stops): Promise<OpenStorage> {
  const { addressOf, postgresStorage } = await import('../postgres/open.js')
  const { url, address, own } = readServerUrl(flag, name, 'DATABASE_URL', ['timeout'], addressOf)
  const storage = await postgresStorage({ url, timeoutMs: timeoutOf(flag, own) })
  stops.push(storage.close)
  const { seed, stream, count, ping, connections } = storage
  return { storage, name: address, seed, stream, count, ping, connections }
}

/** Undefined for the default. */
function timeoutOf(flag: string, { timeout }: ServerUrl['own']): number | undefined {
  return timeout === undefined ? undefined : readValue(duration(), timeout, `${flag} ?timeout`)
}

async function openJsonFile(
  path: string,
  stops: Stops,
  warn: (message: string) => void,
): Promise<OpenStorage> {
  const { jsonFileStorage } = await import('../json-file/index.js')
  const storage = await jsonFileStorage(path, { onError: ({ message }) => warn(message) })
  stops.push(storage.close)
  const { seed, ping } = storage
  return { ...openHere(storage), seed, ping, name: path }
}

async function readJson(path: string): Promise<ReadStorage> {
  const { readJsonFile } = await import('../json-file/open.js')
  const { snapshot, problems, notes } = await readJsonFile(path)
  return {
    storage: { dump: async () => snapshot },
    name: path,
    stream: read => read(streamOf(snapshot)),
    problems,
    notes,
  }
}

async function openSqlite(path: string, stops: Stops, toRead = false): Promise<OpenStorage> {
  loadNodeSqlite()
  const { existingStorage, sqliteStorage } = await import('../sqlite/open.js')
  const storage = await (toRead ? existingStorage : sqliteStorage)(path)
  stops.push(storage.close)
  const { seed, stream, count, ping, check } = storage
  return { storage, name: path, seed, stream, count, ping, check }
}

async function openSqliteLimits(path: string, stops: Stops): Promise<OpenLimits> {
  loadNodeSqlite()
  const { sqliteRateLimits } = await import('../sqlite/index.js')
  const rateLimits = await sqliteRateLimits(path)
  stops.push(rateLimits.close)
  return { rateLimits, name: `sqlite:${path}`, ping: rateLimits.ping }
}

/** Node 22 warns once that its SQLite is experimental, between the lines of this program. */
function loadNodeSqlite(): void {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    process.getBuiltinModule?.('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/** For storages that no other process changes. */
function openHere(storage: PetStorage): Omit<OpenStorage, 'name'> {
  return {
    storage,
    async seed(content) {
      const { pets, nextId } = await storage.dump()
      if (pets.length > 0 || nextId > 1) return false
      await storage.restore(isStream(content) ? await snapshotOf(content) : content)
      return true
    },
    stream: async read => read(streamOf(await storage.dump())),
    count: async () => (await storage.dump()).pets.length,
  }
}
