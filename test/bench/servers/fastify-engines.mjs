import { Redis } from 'ioredis'
import pg from 'pg'
import { animals } from '../harness/workload.mjs'
import { serveFastify } from './fastify.mjs'

const COLUMNS = 'id::int, name, category_id::int AS "categoryId", status'

/**
 * The same by hand, as most would write it: an identity column, a unique key, a prepared statement per
 * request, an index for the filter, and a limiter of one window in Redis.
 */
export async function serve(postgresUrl, redisUrl) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 10 })
  await createTable(pool)
  const query = async (name, text, ...values) => (await pool.query({ name, text, values })).rows
  const insert = `INSERT INTO by_hand (name, category_id, status, key) VALUES ($1, $2, $3, $4)
    ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING ${COLUMNS}`
  const list = `SELECT ${COLUMNS} FROM by_hand WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3`
  const get = `SELECT ${COLUMNS} FROM by_hand WHERE id = $1`
  const redis = new Redis(redisUrl, { connectTimeout: 500, maxRetriesPerRequest: 1 })
  return serveFastify(
    {
      async list({ status, limit, after }, reply) {
        const page = await query('list', list, status, after, limit + 1)
        if (page.length <= limit) return page
        const next = `/v1/pets?limit=${limit}&status=${status}&after=${page[limit - 1].id}`
        reply.header('Link', `<${next}>; rel="next"`)
        return page.slice(0, limit)
      },
      create: async ({ name, categoryId, status }, key) =>
        (await query('insert', insert, name, categoryId, status, key))[0],
      get: async id => (await query('get', get, id))[0],
    },
    { redis },
  )
}

async function createTable(pool) {
  const client = await pool.connect()
  await client.query('SELECT pg_advisory_lock(1)')
  const { rows } = await client.query("SELECT to_regclass('by_hand') IS NOT NULL AS found")
  if (!rows[0].found) {
    await client.query(`CREATE TABLE by_hand (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL, category_id bigint NOT NULL, status text NOT NULL, key text UNIQUE)`)
    await client.query('CREATE INDEX ON by_hand (status, id)')
    for (const { name, categoryId, status } of animals(1_000)) {
      const values = [name, categoryId, status]
      const text = 'INSERT INTO by_hand (name, category_id, status) VALUES ($1, $2, $3)'
      await client.query(text, values)
    }
  }
  await client.query('SELECT pg_advisory_unlock(1)')
  client.release()
}
