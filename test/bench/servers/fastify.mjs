import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
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
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    status,
    after: { type: 'integer', minimum: 0, default: 0 },
  },
}

/**
 * Fastify with its own rate limiter, and schemas for what comes in and what goes out.
 *
 * @param limiter its options beside the limits, such as `redis`
 * @returns the port that it was given
 */
export async function serveFastify({ list, create, get }, limiter = {}) {
  const app = fastify()
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Content-Type-Options', 'nosniff')
    if (request.headers.authorization === `Bearer ${API_KEY}`) return
    return reply.code(401).send({ code: 'unauthorized' })
  })
  await app.register(rateLimit, {
    max: LIMITS.perMinute,
    timeWindow: '1 minute',
    keyGenerator: request => request.headers.authorization,
    ...limiter,
  })
  app.get(
    '/v1/pets',
    { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
    async ({ query }, reply) => list(query, reply),
  )
  app.post('/v1/pets', { schema: { body: newPet, response: { 201: pet } } }, async (req, reply) => {
    const { name, categoryId, status = 'available' } = req.body
    const key = req.headers['idempotency-key']
    const created = await create({ name, categoryId, status }, key)
    reply.code(201).header('Location', `pets/${created.id}`)
    return created
  })
  app.get('/v1/pets/:petId', { schema: { response: { 200: pet } } }, async (request, reply) => {
    const found = await get(Number(request.params.petId))
    return found ?? reply.code(404).send({ code: 'not_found' })
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

/** Over a Map. */
export function serve() {
  const pets = new Map(animals(1_000).map(pet => [pet.id, pet]))
  let nextId = pets.size + 1
  return serveFastify({
    list({ status, limit }) {
      const page = []
      for (const pet of pets.values()) {
        if (page.length === limit) break
        if (status === undefined || pet.status === status) page.push(pet)
      }
      return page
    },
    create(pet) {
      const created = { id: nextId++, ...pet }
      pets.set(created.id, created)
      return created
    },
    get: id => pets.get(id),
  })
}
