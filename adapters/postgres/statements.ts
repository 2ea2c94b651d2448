import { createHash } from 'node:crypto'
import { PET_STATUSES, type PetStatus } from '../../src/pets/specification.js'
import type { Statement } from './pool.js'

export interface Statements {
  /**
   * $1 names as JSON, $2 categories, $3 statuses, $4 writer, $5 batch number. Returns the first id, or no
   * row if an earlier attempt was committing at the same time: then send it again.
   */
  readonly insertBatch: Statement
  /** $1 ids. */
  readonly find: Statement
  /** $1 list after this id, $2 limit. */
  readonly list: Statement
  readonly listByStatus: Readonly<Record<PetStatus, Statement>>
  readonly ping: Statement
}

/**
 * @param schema quoted
 * @param prepare false behind a pooler in transaction mode, where prepared statements get lost
 */
export function createStatements(schema: string, prepare: boolean): Statements {
  // Named after the text, so that versions of this package can share a connection.
  const statement = (text: string): Statement =>
    prepare ? { text, name: `pets_${createHash('sha1').update(text).digest('hex')}` } : { text }
  const list = (filter: string) =>
    statement(`SELECT ${PET_COLUMNS} FROM ${schema}.pets
      WHERE ${filter} id > $1::bigint ORDER BY pets.id LIMIT $2::int`)
  // A literal status, so that generic plans can use its partial index.
  const byStatus = PET_STATUSES.map(status => [status, list(`status = '${status}' AND`)])

  return {
    insertBatch: statement(insertBatch(schema)),
    find: statement(`SELECT ${PET_COLUMNS} FROM ${schema}.pets WHERE id = ANY ($1::bigint[])`),
    list: list(''),
    listByStatus: Object.fromEntries(byStatus),
    ping: { text: `SELECT pg_is_in_recovery() AS replica FROM ${schema}.pet_ids` },
  }
}

/** As text, which no type parser of the host can change. */
export const PET_COLUMNS =
  'pets.id::text AS id, name::text AS name, category_id::text AS category_id, status'

/**
 * Locks the counter and takes ids from it, unless an earlier attempt stored this batch. No other batch
 * gets ids before the commit, so a client that pages with `after` misses none.
 */
function insertBatch(schema: string): string {
  return `WITH held AS (SELECT next FROM ${schema}.pet_ids WHERE one = 1 FOR UPDATE),
    turn AS (
      INSERT INTO ${schema}.pet_writers AS w (writer, batch, first)
      SELECT $4::uuid, $5::bigint, next FROM held
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
    SELECT first::text AS first FROM turn
    UNION ALL
    SELECT first::text FROM ${schema}.pet_writers WHERE writer = $4::uuid AND batch = $5::bigint`
}
