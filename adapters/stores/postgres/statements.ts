import { createHash } from 'node:crypto'
import { PET_STATUSES, type PetStatus } from '../../../src/pets/specification.js'
import type { Statement } from './pool.js'

export type Statements = ReturnType<typeof createStatements>

interface Abilities {
  /** False behind a pooler in transaction mode, where prepared statements get lost. */
  readonly prepare: boolean
  /** False for a user who may not ask, or a server without one, such as Aurora. */
  readonly timeline: boolean
}

/** @param schema quoted */
export function createStatements(schema: string, { prepare, timeline }: Abilities) {
  // Named after the text, so that versions of this package can share a connection.
  const statement = (text: string): Statement =>
    prepare ? { text, name: `pets_${createHash('sha1').update(text).digest('hex')}` } : { text }
  // Of a limit that is no literal, the planner expects a tenth of the table, and compiles.
  const list = (filter: string) =>
    statement(`SELECT n::int AS n, (
        SELECT ${PETS}
        FROM (SELECT * FROM (SELECT * FROM ${schema}.pets
            WHERE ${filter} id > page.after ORDER BY id LIMIT ${LONGEST_LIST}) AS longest
          LIMIT page.size) AS pets) AS pets
      FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY AS page (after, size, n)`)
  // A literal status, so that generic plans can use its partial index.
  const listsByStatus = Object.fromEntries(
    PET_STATUSES.map(status => [status, list(`status = '${status}' AND`)]),
  ) as Record<PetStatus, Statement>

  return {
    insertBatch: statement(insertBatch(schema)),
    insertOnce: statement(insertOnce(schema)),
    /** $1 scopes, $2 keys, $3 times: deletes the keys that have expired or lost their pet. */
    forget: statement(`DELETE FROM ${schema}.pet_keys AS k
      USING unnest($1::text[], $2::text[], $3::float8[]) AS given (scope, key, now)
      WHERE k.key = given.key AND md5(k.scope) = md5(given.scope) AND (k.expires <= given.now
        OR NOT EXISTS (SELECT FROM ${schema}.pets WHERE pets.id = k.pet))`),
    /** $1 ids. */
    find: statement(`SELECT ${PETS} AS pets FROM ${schema}.pets WHERE id = ANY ($1::bigint[])`),
    /** $1 list after these ids, $2 limits. Returns each page, with its number from 1. */
    list: { all: list(''), ...listsByStatus },
    /** $1 writer. Commits, as an insert does, and returns the timeline of the commit, if known. */
    ping: {
      text: `INSERT INTO ${schema}.pet_writers AS w (writer, batch, first) VALUES ($1::uuid, 0, 0)
        ON CONFLICT (writer) DO UPDATE SET seen = now()
        RETURNING ${timeline ? TIMELINE : 'NULL'} AS timeline`,
    },
  }
}

export const TIMELINE = 'left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)'

/** Bounds the cost of a plan, however large the table is. */
export const LONGEST_LIST = 10_000

/** As JSON, which `readPets` reads. No type parser of the host can change text. */
export const PET_FIELDS = `concat(id, ',', name, ',"', category_id, '","', status, '"')`

/** NULL if there is none. `pg` takes three times as long for rows, and PostgreSQL half as long again for `json_agg`. */
const PETS = `string_agg(${PET_FIELDS}, ',' ORDER BY id)`

/**
 * $1 names as JSON, $4 writer, $5 batch number. Returns the first id, or no row while an earlier
 * attempt commits: then send it again. The counter stays locked until the commit, so a client that
 * pages with `after` misses no pet.
 */
function insertBatch(schema: string): string {
  return `WITH counter AS (SELECT next FROM ${schema}.pet_ids WHERE one = 1 FOR UPDATE),
    turn AS (
      INSERT INTO ${schema}.pet_writers AS w (writer, batch, first)
      SELECT $4::uuid, $5::bigint, next FROM counter
      ON CONFLICT (writer) DO UPDATE
      SET batch = excluded.batch, first = excluded.first, seen = now() WHERE w.batch < excluded.batch
      RETURNING first),
    moved AS (
      UPDATE ${schema}.pet_ids SET next = turn.first + cardinality($1::text[])
      FROM turn WHERE one = 1 RETURNING 1),
    added AS (
      INSERT INTO ${schema}.pets (id, name, category_id, status)
      SELECT turn.first + n - 1, name::json, category_id, status
      FROM turn, moved, unnest($1::text[], $2::bigint[], $3::text[])
        WITH ORDINALITY AS pet (name, category_id, status, n)
      RETURNING 1)
    SELECT ${unlessIgnored('added', 'cardinality($1::text[])', 'first')} AS first FROM turn
    UNION ALL
    SELECT first::text FROM ${schema}.pet_writers WHERE writer = $4::uuid AND batch = $5::bigint`
}

/**
 * $1 names, $4 scopes and $5 keys as JSON, all keys different; $8 the times of the inserts, $9 a UUID
 * of the batch. Returns a row per insert whose key was in use, in any order, and one without n for the
 * others: their first id, from which they count up. A key that is dead, or that another process has
 * used since this statement began, violates the unique index (23505), and nothing is inserted: then
 * run `forget` and send it again.
 */
function insertOnce(schema: string): string {
  return `WITH given AS (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::float8[], $8::float8[]) WITH ORDINALITY
        AS given (name, category_id, status, scope, key, fingerprint, expires, now, n)),
    known AS (
      SELECT given.n, used.fingerprint, used.batch, pets.*
      FROM given
      CROSS JOIN LATERAL (
        SELECT * FROM ${schema}.pet_keys AS k
        WHERE k.key = given.key AND md5(k.scope) = md5(given.scope) AND k.expires > given.now
        LIMIT 1) AS used
      JOIN ${schema}.pets ON pets.id = used.pet),
    counter AS (SELECT next FROM ${schema}.pet_ids WHERE one = 1 FOR UPDATE),
    fresh AS (
      SELECT given.*, counter.next + row_number() OVER (ORDER BY given.n) - 1 AS id
      FROM counter, given WHERE NOT EXISTS (SELECT FROM known WHERE known.n = given.n)),
    moved AS (
      UPDATE ${schema}.pet_ids SET next = last.id + 1
      FROM (SELECT max(id) AS id FROM fresh) AS last WHERE one = 1 AND last.id IS NOT NULL),
    added AS (
      INSERT INTO ${schema}.pets (id, name, category_id, status)
      SELECT id, name::json, category_id, status FROM fresh RETURNING 1),
    used AS (
      INSERT INTO ${schema}.pet_keys (scope, key, fingerprint, expires, pet, batch)
      SELECT scope, key, fingerprint, expires, id, $9::uuid FROM fresh RETURNING 1),
    -- More than come, and none that another process is deleting.
    expired AS (
      DELETE FROM ${schema}.pet_keys WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${schema}.pet_keys WHERE expires <= (SELECT min(now) FROM given)
        ORDER BY expires LIMIT 2 * cardinality($1::text[]) FOR UPDATE SKIP LOCKED)))
    -- A batch that is sent again finds its own keys: those are no replays.
    SELECT n::int AS n, fingerprint, (batch <> $9::uuid)::text AS replayed, ${PET_FIELDS} AS pet, NULL AS first
    FROM known
    UNION ALL
    SELECT NULL, NULL, NULL, NULL,
      ${unlessIgnored(KEYED, '2 * (SELECT count(*) FROM fresh)', 'min(id)')}
    FROM fresh HAVING count(*) > 0`
}

const KEYED = '(SELECT FROM added UNION ALL SELECT FROM used) AS stored'

/** A number as text; fails, and undoes the statement, if a trigger has ignored some of its rows. */
function unlessIgnored(stored: string, rows: string, number: string): string {
  const count = `(SELECT count(*) FROM ${stored})`
  return `CASE WHEN ${count} = ${rows} THEN ${number}::text
    ELSE ('not stored: a trigger of the tables ignores inserts; remove it (' || ${count} || ')')::bigint::text END`
}
