import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'

const status = { type: 'string', enum: ['available', 'pending', 'sold'] }
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: { name: { type: 'string' }, categoryId: { type: 'integer' }, status },
}
const pet = { type: 'object', properties: { id: { type: 'integer' }, ...newPet.properties } }
const listQuery = {
  type: 'object',
  properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, status },
}
const COLUMNS = 'id::int, name, category_id::int AS "categoryId", status'

/**
 * The same by hand, as most would write it: an identity column, a prepared statement per request, an
 * index for the filter, and a limiter of one window in Redis.
 */
export async function serve(postgresUrl, redisUrl) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 10 })
  await createTable(pool)
  const app = fastify()
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization === `Bearer ${API_KEY}`) return
    return reply.code(401).send({ code: 'unauthorized' })
  })
  await app.register(rateLimit, {
    max: LIMITS.perMinute,
    timeWindow: '1 minute',
    keyGenerator: request => request.headers.authorization,
    redis: new Redis(redisUrl, { connectTimeout: 500, maxRetriesPerRequest: 1 }),
  })
  app.get(
    '/v1/pets',
    { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
    async ({ query }) => {
      const { rows } = await pool.query({
        name: 'list',
        text: `SELECT ${COLUMNS} FROM by_hand WHERE status = $1 ORDER BY id LIMIT $2`,
        values: [query.status, query.limit],
      })
      return rows
    },
  )
  app.post('/v1/pets', { schema: { body: newPet, response: { 201: pet } } }, async (req, reply) => {
    const { name, categoryId, status = 'available' } = req.body
    const { rows } = await pool.query({
      name: 'insert',
      text: `INSERT INTO by_hand (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
      values: [name, categoryId, status],
    })
    reply.code(201)
    return rows[0]
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

async function createTable(pool) {
  const client = await pool.connect()
  await client.query('SELECT pg_advisory_lock(1)')
  const { rows } = await client.query("SELECT to_regclass('by_hand') IS NOT NULL AS found")
  if (!rows[0].found) {
    await client.query(`CREATE TABLE by_hand (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL, category_id bigint NOT NULL, status text NOT NULL)`)
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
