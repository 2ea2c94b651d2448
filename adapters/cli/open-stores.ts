import { existsSync } from 'node:fs'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import {
  isStream,
  type PetStream,
  type RestoreOptions,
  snapshotOf,
  streamOf,
} from '../stores/kit/pet-stream.js'
import { memoryStorage } from '../stores/memory.js'
import type { Connections } from '../stores/postgres/index.js'
import { duration, readValue, wholeNumber } from './options.js'
import { note } from './print.js'
import { readBytes } from './read-and-write-files.js'
import type { Stops } from './shutdown.js'
import { UsageError, withoutSecrets } from './usage-error.js'

export interface OpenStorage {
  readonly storage: PetStorage
  /** Name without user and password, for messages. */
  readonly name: string
  /** Stores the content if the storage was never used; resolves with true if it did. */
  restoreIfNew(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  stream<T>(read: (content: PetStream) => Promise<T>): Promise<T>
  count(): Promise<number>
  /** Rejects while the storage cannot serve; undefined if it always can. */
  readonly ping?: () => Promise<void>
  readonly connections?: () => Connections
  /** Lists damage; undefined for a storage that finds damage on opening, or checks itself. */
  readonly check?: () => Promise<readonly string[]>
}

export interface ReadStorage extends Pick<OpenStorage, 'name' | 'stream' | 'check'> {
  /** Damage found on opening, one line each. */
  readonly problems: readonly string[]
}

type Warn = (message: string) => void

/** @throws UsageError, PostgresError, SqliteError and JsonFileError */
export async function openStorage(
  flag: string,
  name: string,
  stops: Stops,
  warn: Warn = note,
  toRead = false,
): Promise<OpenStorage> {
  if (/^postgres(ql)?:/.test(name)) return openPostgres(flag, name, stops, warn, toRead)
  const isMain = flag === '--store'
  if (isMain && name === 'memory:') return { ...openHere(memoryStorage()), name }
  const file = fileOf(name)
  if (file?.kind === 'sqlite') return openSqlite(file.path, stops, toRead)
  if (file?.kind === 'json') return openJsonFile(file.path, stops, warn)
  const known = 'a file that ends with .json, .sqlite or .db, sqlite:<file>, or postgres://…'
  const all = isMain ? `memory:, ${known}` : known
  throw new UsageError(`${flag} takes ${all}; got '${withoutSecrets(name)}'`)
}

/** Opens a storage to read all of it; creates none, and does not change a JSON file. */
export async function openToRead(flag: string, name: string, stops: Stops): Promise<ReadStorage> {
  const file = fileOf(name)
  // Opening creates a missing file, but says what to restore if only its journal is left.
  if (file && !existsSync(file.path) && !existsSync(file.path + JOURNALS[file.kind])) {
    throw new UsageError(`${file.path} does not exist`)
  }
  if (file?.kind === 'json') return readJson(file.path)
  return { ...(await openStorage(flag, name, stops, note, true)), problems: [] }
}

const JOURNALS = { json: '.journal', sqlite: '-wal' } as const

export function fileOf(name: string): { kind: 'json' | 'sqlite'; path: string } | undefined {
  const [, path] = /^sqlite:(.+)$/s.exec(name) ?? []
  if (path !== undefined) return { kind: 'sqlite', path }
  if (/^\w+:\/\//.test(name)) return undefined
  if (/\.(sqlite3?|db)$/.test(name)) return { kind: 'sqlite', path: name }
  return name.endsWith('.json') ? { kind: 'json', path: name } : undefined
}

/** Undefined for `memory:`, as the store counts by itself. @throws UsageError */
export async function openLimits(name: string, required: boolean, stops: Stops) {
  if (name === 'memory:') return undefined
  const file = name.startsWith('sqlite:') ? fileOf(name) : undefined
  if (file) return openSqliteLimits(file.path, stops)
  if (!/^(redis|valkey)s?:/.test(name)) {
    const known = 'memory:, sqlite:<file>, redis://…, rediss://… or valkey://…'
    throw new UsageError(`${LIMITS_FLAG} takes ${known}; got '${withoutSecrets(name)}'`)
  }
  const { addressOf, redisRateLimitStore } = await import('../redis/open.js')
  const { isPassing } = await import('../redis/failures.js')
  const { url, address, own } = readServerUrl(LIMITS_FLAG, name, 'REDIS_URL', LIMITS, addressOf)
  const ca = own.get('ca')
  if (ca && !/^(rediss|valkeys):/.test(url)) {
    throw new UsageError(`${LIMITS_FLAG} takes ca with rediss:// or valkeys:// only, which use TLS`)
  }
  const tls = ca && { ca: (await readBytes(ca, `${LIMITS_FLAG} ?ca`)).toString() }
  const prefix = own.get('prefix') ?? undefined
  const rateLimitStore = redisRateLimitStore({ url, prefix, ...(tls && { tls }) })
  stops.push(rateLimitStore.close)
  await rateLimitStore.ready().catch(error => {
    if (required || !isPassing(error)) throw error
  })
  return { rateLimitStore, name: address, timeout: timeoutOf(LIMITS_FLAG, own) }
}

const LIMITS_FLAG = '--rate-limit-store'
const LIMITS = ['timeout', 'ca', 'prefix']

const DATABASE = ['timeout', 'connections', 'schema']
/** Also those of libpq that providers put into an address; `pg` ignores some. */
const OF_PG =
  /^(host|port|user|password|options|client_encoding|(fallback_)?application_name|ssl(mode|cert|key|rootcert|negotiation)?|uselibpqcompat|channel_binding|connect_timeout|gssencmode|keepalives(_\w+)?|target_session_attrs|(statement|query|lock|idle_in_transaction_session)_timeout)$/

async function openPostgres(
  flag: string,
  name: string,
  stops: Stops,
  warn: Warn,
  toRead: boolean,
): Promise<OpenStorage> {
  const { addressOf, existingStorage, postgresStorage } = await import('../stores/postgres/open.js')
  const given = readServerUrl(flag, name, 'DATABASE_URL', DATABASE, addressOf, OF_PG)
  const { url, address, own } = given
  const connections = own.get('connections')
  const storage = (toRead ? existingStorage : postgresStorage)({
    url,
    timeout: timeoutOf(flag, own),
    schema: own.get('schema') ?? undefined,
    ...(connections && {
      connections: readValue(wholeNumber(), connections, `${flag} ?connections`),
    }),
  })
  stops.push(storage.close)
  await storage.ready()
  for (const text of storage.warnings()) warn(`${address}: ${text}`)
  return { ...storage, storage, name: address }
}

function timeoutOf(flag: string, own: URLSearchParams): number | undefined {
  const text = own.get('timeout')
  return text === null ? undefined : readValue(duration(), text, `${flag} ?timeout`)
}

async function openJsonFile(path: string, stops: Stops, warn: Warn): Promise<OpenStorage> {
  const { jsonFileStorage } = await import('../stores/json-file/index.js')
  const storage = jsonFileStorage(path, { onError: ({ message }) => warn(message) })
  stops.push(storage.close)
  await storage.ready()
  return { ...openHere(storage), ...storage, name: path }
}

async function readJson(path: string): Promise<ReadStorage> {
  const { readJsonFile } = await import('../stores/json-file/open.js')
  const { snapshot, problems, notes } = await readJsonFile(path)
  for (const text of notes) note(text)
  return { name: path, stream: read => read(streamOf(snapshot)), problems }
}

async function openSqlite(path: string, stops: Stops, toRead: boolean): Promise<OpenStorage> {
  loadNodeSqlite()
  const { existingStorage, sqliteStorage } = await import('../stores/sqlite/open.js')
  const storage = (toRead ? existingStorage : sqliteStorage)(path)
  stops.push(storage.close)
  await storage.ready()
  return { ...storage, storage, name: path }
}

async function openSqliteLimits(path: string, stops: Stops) {
  loadNodeSqlite()
  const { sqliteRateLimitStore } = await import('../stores/sqlite/index.js')
  const rateLimitStore = sqliteRateLimitStore(path)
  stops.push(rateLimitStore.close)
  await rateLimitStore.ready()
  return { rateLimitStore, name: `sqlite:${path}`, timeout: undefined }
}

/** Filters Node 22's warning that its SQLite is experimental. */
function loadNodeSqlite(): void {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    process.getBuiltinModule?.('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Wraps a storage that no other process changes. */
function openHere(storage: PetStorage): Omit<OpenStorage, 'name'> {
  return {
    storage,
    // In memory, the storage is new; a file has its own `restoreIfNew`.
    async restoreIfNew(content) {
      await storage.restore(isStream(content) ? await snapshotOf(content) : content)
      return true
    },
    stream: async read => read(streamOf(await storage.dump())),
    count: async () => (await storage.dump()).pets.length,
  }
}

/**
 * Reads `--store postgres://…` or `--rate-limit-store redis://…`. Bare `postgres:` and `redis:` read
 * a variable, so that `ps` shows no password; parameters after them override the variable's.
 * @param names of parameters for this program rather than the driver
 * @param addressOf returns a URL without user and password; throws without the URL in the message
 */
function readServerUrl(
  flag: string,
  given: string,
  variable: string,
  names: readonly string[],
  addressOf: (url: string) => string,
  ofDriver?: RegExp,
) {
  const [scheme, parameters] = given.includes('//') ? [] : given.split('?', 2)
  const text = scheme === undefined ? given : process.env[variable]
  if (!text) {
    const shown = withoutSecrets(`${scheme}`)
    throw new UsageError(`${flag} ${shown} needs the variable ${variable} to be a URL`)
  }
  try {
    const address = addressOf(text)
    // URL rejects a user without a host, which `pg` takes with `?host=<folder>`.
    const [base, query] = text.split('?', 2)
    const all = new URLSearchParams([
      ...new URLSearchParams(parameters),
      ...new URLSearchParams(query),
    ])
    const own = new URLSearchParams(all)
    for (const name of names) all.delete(name)
    if ([...all.keys()].some(name => !ofDriver?.test(name))) {
      const known = names.join(', ') + (ofDriver ? ' and parameters of pg such as sslmode' : '')
      // The parameter is not shown: it may be the rest of a password.
      throw new Error(`expected only ${known} after the ?; write a ? in a password as %3F`)
    }
    return { url: all.size > 0 ? `${base}?${all}` : `${base}`, address, own }
  } catch (error) {
    const source = scheme === undefined ? '' : ` (from ${variable})`
    throw new UsageError(`${flag}: ${(error as Error).message}${source}`)
  }
}
