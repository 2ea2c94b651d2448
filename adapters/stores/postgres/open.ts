import { randomUUID } from 'node:crypto'
import type { ConnectionOptions } from 'node:tls'
import {
  hasMethods,
  isCount,
  isString,
  OptionError,
  type OptionsOf,
  optional,
  type SettingsOf,
  settingsOf,
  typed,
  withDefault,
} from '../../../src/lib/check-options.js'
import { isTimeout } from '../../../src/lib/time.js'
import { durableStorage } from '../kit/durable-storage.js'
import { openAtUse } from '../kit/open-at-use.js'
import { serverAddress } from '../kit/server-address.js'
import { explain, isRefused, PostgresError } from './failures.js'
import {
  createDatabase,
  type Database,
  type PostgresClient,
  type PostgresPool,
  withClient,
} from './pool.js'
import { migrate } from './schema.js'
import { createStatements, TIMELINE } from './statements.js'
import { createStorage, type PostgresStorage } from './storage.js'

export const POSTGRES_OPTIONS = {
  /** `postgres://user:password@host:5432/database`; give this or `pool`. @default none */
  url: optional(isString),
  /** A `pg.Pool` of the host, which stays open on `close`. @default none */
  pool: optional(typed<PostgresPool>(hasMethods('connect', 'on', 'off'))),
  /** The schema, created if missing: lower-case letters, digits and `_`. @default 'adoption_store' */
  schema: withDefault(
    typed<string>({
      expected: 'lower-case letters, digits and _, beginning with a letter, at most 63',
      accepts: value => typeof value === 'string' && /^[a-z][a-z0-9_]{0,62}$/.test(value),
    }),
    'adoption_store',
  ),
  /** The time limit of an operation from its arrival, retries included. @default '2.5s' */
  timeout: withDefault(isTimeout, '2.5s'),
  /** The maximum number of connections; with `url` only. @default 8 */
  connections: withDefault(isCount, 8),
  /** Lifetime of a connection: after a fail-over, a new one may lead elsewhere; with `url` only. @default '5m' */
  // Connecting costs a few ms: about a hundred thousandth of the time for eight connections.
  connectionLifetime: withDefault(isTimeout, '5m'),
  /**
   * TLS as `pg` takes it: true, or options of `tls.connect` such as `ca`; with `url` only.
   * @default `sslmode` in the URL, else no TLS
   */
  ssl: optional(
    typed<boolean | ConnectionOptions>({
      expected: 'true, false or TLS options',
      accepts: value => typeof value === 'boolean' || (typeof value === 'object' && value !== null),
      secret: true,
    }),
  ),
}
/**
 * @example
 * import { postgresStorage } from 'animal-adoption-store/postgres'
 * import pg from 'pg'
 *
 * const pool = new pg.Pool({ connectionString: 'postgres://127.0.0.1:5432/adoption' })
 * const storage = postgresStorage({ pool })
 * await pool.end()
 */
export interface PostgresOptions extends OptionsOf<typeof POSTGRES_OPTIONS> {}

/**
 * Stores pets in PostgreSQL, for any number of processes. Ids ascend without gaps, in commit order.
 * The first call connects, and creates or migrates the schema. While the database cannot be used,
 * calls reject with a `PostgresError`.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { postgresStorage } from 'animal-adoption-store/postgres'
 *
 * const storage = postgresStorage({ url: 'postgres://127.0.0.1:5432/adoption' })
 * await createStore({ storage, apiKeys: {} }).createPet({ name: 'Rex', categoryId: 1 })
 * await storage.close()
 */
export function postgresStorage(options: PostgresOptions): PostgresStorage {
  return openStorage(options)
}

/** Refuses a schema without tables, as a mistyped name is no empty store, and creates none. */
export function existingStorage(options: PostgresOptions): PostgresStorage {
  return openStorage(options, false)
}

function openStorage(options: PostgresOptions, create = true): PostgresStorage {
  const settings = settingsOf(POSTGRES_OPTIONS, options)
  const { url, pool: given, timeout: timeoutMs } = settings
  if ((url === undefined) === (given === undefined)) {
    const problem = { option: 'url', expected: 'an address, unless `pool` is given' }
    throw new OptionError(problem, 'Expected either `url` or `pool`')
  }
  const address = url === undefined ? 'The database of `pool`' : addressOf(url)
  const schema = `"${settings.schema}"`
  let pool: PostgresPool | undefined = given
  let warnings: readonly string[] = []
  const opening = openAtUse(open, () => new PostgresError('The storage is closed'))
  return {
    ...durableStorage(opening),
    ...opening.methods('stream', 'count', 'check'),
    warnings: () => warnings,
    connections: () => ({
      open: pool?.totalCount ?? 0,
      idle: pool?.idleCount ?? 0,
      waiting: pool?.waitingCount ?? 0,
    }),
  }

  async function open() {
    const opened = await openPool(settings)
    pool = opened.pool
    pool.on('error', ignore)
    try {
      const found = await inspect(pool, timeoutMs)
      warnings = found.warnings
      const database = createDatabase(pool, timeoutMs)
      if (!create) await findTables(database, schema)
      await migrate(database, schema)
      const statements = createStatements(schema, found)
      // A row is needed only while its batch may be retried.
      const text = `DELETE FROM ${schema}.pet_writers WHERE seen < now() - interval '1 day'`
      await database.query({ text }, [])
      const { closePool } = opened
      const parts = { database, timeoutMs, schema, statements, closePool }
      return createStorage({ ...parts, writer: randomUUID() })
    } catch (error) {
      await opened.closePool()
      throw explain(error, address)
    }
  }
}

async function openPool(options: SettingsOf<typeof POSTGRES_OPTIONS>) {
  const { url, pool: given, ssl, connections, timeout: timeoutMs } = options
  if (given) return { pool: given, closePool: async () => void given.off('error', ignore) }
  const { Pool } = await loadClient()
  const pool = new Pool({
    connectionString: url,
    ...(ssl !== undefined && { ssl }),
    max: connections,
    connectionTimeoutMillis: timeoutMs,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: options.connectionLifetime / 1_000,
    keepAlive: true,
    // Idle connections do not keep the process alive.
    allowExitOnIdle: true,
    application_name: 'animal-adoption-store',
    onConnect: client => configure(client, timeoutMs),
  })
  return { pool: pool as PostgresPool, closePool: () => pool.end() }
}

export function addressOf(url: string): string {
  const example = 'postgres://user:password@host:5432/database'
  return serverAddress(url, ['postgres:', 'postgresql:'], example)
}

async function loadClient(): Promise<typeof import('pg')['default']> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw new PostgresError('The package pg is not installed; run: npm install pg', { cause })
  }
}

async function findTables(database: Database, schema: string): Promise<void> {
  const text = 'SELECT to_regclass($1)::text AS found'
  const [{ found }] = await database.query({ text }, [`${schema}.pet_ids`])
  if (found === null)
    throw new Error(`no store in the schema ${schema}; correct its name, or the database`)
}

/** The pid of the backend; poolers make one up. */
interface Identified {
  readonly processID?: number | null
}

/**
 * Planning costs as much as the rows of a page, and in stricter isolation creates of several processes
 * fail in turn. Not behind a pooler, where settings leak to others.
 */
async function configure(
  client: Pick<PostgresClient, 'query'> & Identified,
  timeoutMs: number,
): Promise<void> {
  const text = `SELECT set_config('statement_timeout', $1, false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('default_transaction_isolation', 'read committed', false)
    WHERE pg_backend_pid() = $2`
  await client.query({ text, values: [String(timeoutMs), client.processID] })
}

function inspect(pool: PostgresPool, timeoutMs: number) {
  return withClient(pool, timeoutMs, async (client: PostgresClient & Identified) => {
    const { rows } = await client.query({
      text: `SELECT pg_backend_pid() AS pid, pg_is_in_recovery()::text AS replica,
        current_setting('server_encoding') AS encoding,
        current_setting('synchronous_commit') AS commits`,
      query_timeout: timeoutMs,
    })
    const [{ pid, replica, encoding, commits }] = rows as [Record<string, unknown>]
    if (replica === 'true') throw Object.assign(new Error('read-only replica'), { code: '25006' })
    if (encoding !== 'UTF8') {
      throw new PostgresError(
        `The database has the encoding ${encoding}; create one with: createdb -E UTF8 -T template0`,
      )
    }
    const timeline = await client
      .query({ text: `SELECT ${TIMELINE}`, query_timeout: timeoutMs })
      .then(
        () => true,
        error => !isRefused(error) && Promise.reject(error),
      )
    const problems = [commits === 'off' && NOT_DURABLE, !timeline && NOT_FENCED]
    const warnings = problems.filter(problem => problem !== false)
    return { prepare: client.processID === Number(pid), timeline, warnings }
  })
}

const NOT_DURABLE =
  'synchronous_commit is off: a crash of PostgreSQL loses the latest animals; turn it on for this user'
const NOT_FENCED =
  'this user may not call pg_current_wal_insert_lsn: a primary that another has replaced is not noticed'

/** Idle connections break when the server restarts; the pool replaces them. */
function ignore(): void {}
