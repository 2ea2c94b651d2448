import { PostgresError } from './failures.js'
import type { Database, Run } from './pool.js'

/** The first one creates version 1; each later one upgrades the version before it. */
export const MIGRATIONS: readonly ((schema: string) => string)[] = [
  schema => `
    CREATE TABLE ${schema}.pets (
      id bigint PRIMARY KEY CHECK (id > 0),
      -- A JSON string: text holds neither U+0000 nor a lone surrogate, json holds their escapes.
      name json NOT NULL,
      category_id bigint NOT NULL,
      status text CHECK (status IN ('available', 'pending', 'sold'))
    );
    -- One index per status: a generic plan prefers the primary key to an index on (status, id),
    -- and reads the whole table for a rare status.
    CREATE INDEX pets_available ON ${schema}.pets (id) WHERE status = 'available';
    CREATE INDEX pets_pending ON ${schema}.pets (id) WHERE status = 'pending';
    CREATE INDEX pets_sold ON ${schema}.pets (id) WHERE status = 'sold';
    -- A counter row, not a sequence: its lock makes ids ascend in the order of the commits.
    CREATE TABLE ${schema}.pet_ids (
      -- An integer: of a boolean key the planner expects half the rows of a page, and compiles.
      one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
      next bigint NOT NULL DEFAULT 1 CHECK (next BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER})
    ) WITH (fillfactor = 10);
    INSERT INTO ${schema}.pet_ids DEFAULT VALUES;
    -- The last batch of each process: a batch whose answer was lost can be sent again.
    CREATE TABLE ${schema}.pet_writers (
      writer uuid PRIMARY KEY,
      batch bigint NOT NULL,
      first bigint NOT NULL,
      seen timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 10);
    CREATE TABLE ${schema}.pet_schema (version integer PRIMARY KEY);
    INSERT INTO ${schema}.pet_schema VALUES (0);
    CREATE TABLE ${schema}.pet_keys (
      -- JSON strings, for the same reason as names.
      scope text NOT NULL,
      key text NOT NULL,
      fingerprint text NOT NULL,
      -- In ms since the epoch, by the clock of the store.
      expires double precision NOT NULL,
      pet bigint NOT NULL,
      batch uuid NOT NULL
    );
    -- A scope may be longer than an index allows.
    CREATE UNIQUE INDEX pet_keys_used ON ${schema}.pet_keys (key, md5(scope));
    CREATE INDEX pet_keys_expires ON ${schema}.pet_keys (expires);
    -- No index on expressions can be the identity by which logical replication finds a row.
    ALTER TABLE ${schema}.pet_keys REPLICA IDENTITY FULL`,
]

/** Arbitrary; unlikely to collide with another program's. */
const ADVISORY_LOCK = 20_301_205n

/** Needs `CREATE` on the database only if the schema is missing. @param schema quoted */
export async function migrate(
  database: Database,
  schema: string,
  migrations = MIGRATIONS,
): Promise<void> {
  await database.transaction(async run => {
    if ((await versionOf(run, schema)) === migrations.length) return
    await run('SELECT pg_advisory_xact_lock($1)', [String(ADVISORY_LOCK)])
    const version = await versionOf(run, schema)
    if (version > migrations.length) {
      throw new PostgresError(
        `The schema ${schema} has version ${version}, and this package knows ${migrations.length}; update animal-adoption-store`,
      )
    }
    const known = await run('SELECT FROM pg_namespace WHERE nspname = $1', [schema.slice(1, -1)])
    // IF NOT EXISTS would need CREATE on the database even if it exists.
    if (known.length === 0) await run(`CREATE SCHEMA ${schema}`)
    for (const migration of migrations.slice(version)) await run(migration(schema))
    await run(`UPDATE ${schema}.pet_schema SET version = ${migrations.length}`)
  })
}

async function versionOf(run: Run, schema: string): Promise<number> {
  // Not to_regclass: it reads a cache that may predate the lock.
  const tables = await run(
    `SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'pet_schema'`,
    [schema.slice(1, -1)],
  )
  if (tables.length === 0) return 0
  const [row] = await run(`SELECT version FROM ${schema}.pet_schema`)
  return row.version
}
