// The API on Express, Fastify and Hono, written from the specification alone: one store, three ways in. Usage:
// node frameworks.mjs <express|fastify|hono> <key>. Prints its port.
import { parse, stringify } from 'lossless-json'

const [framework, KEY] = process.argv.slice(2)
const STATUSES = ['available', 'pending', 'sold']
const pets = []

class Failure extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

const bodyOf = ({ status = 500, statusCode = status, message }) => [
  statusCode,
  stringify({ code: `E${statusCode}`, message, status: statusCode }),
]

/** Nothing is counted here. */
const limits = () => ({
  'content-type': 'application/json',
  'x-ratelimit-limit': '1000',
  'x-ratelimit-remaining': '1000',
  'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 60),
})

function isKnown(authorization = '') {
  return /^bearer /i.test(authorization) && authorization.slice(7) === KEY
}

function list({ limit = '20', status }) {
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 100) {
    throw new Failure(400, 'limit is from 1 to 100')
  }
  if (status !== undefined && !STATUSES.includes(status)) throw new Failure(400, 'unknown status')
  const found = pets.filter(pet => status === undefined || pet.status === status)
  return stringify(found.slice(0, Number(limit)))
}

function create(text) {
  let sent
  try {
    sent = parse(text, undefined, {
      parseNumber: digits => (/^-?\d{1,19}$/.test(digits) ? BigInt(digits) : Number.NaN),
    })
  } catch {
    throw new Failure(400, 'the body is no JSON')
  }
  const { name, categoryId, status } = sent ?? {}
  if (typeof name !== 'string') throw new Failure(400, 'name is a string')
  if (typeof categoryId !== 'bigint' || BigInt.asIntN(64, categoryId) !== categoryId) {
    throw new Failure(400, 'categoryId is an int64')
  }
  if (Object.hasOwn(sent, 'status') && !STATUSES.includes(status)) {
    throw new Failure(400, 'status is one of three')
  }
  const id = BigInt(pets.length + 1)
  pets.push(status === undefined ? { id, name, categoryId } : { id, name, categoryId, status })
  return stringify(pets.at(-1))
}

function get(id) {
  const pet = pets.find(one => String(one.id) === id)
  if (!pet) throw new Failure(404, 'no such animal')
  return stringify(pet)
}

const servers = {
  async express() {
    const { default: express } = await import('express')
    const app = express()
    app.use((request, response, next) => {
      response.set(limits())
      if (isKnown(request.get('authorization'))) return next()
      response.set('WWW-Authenticate', 'Bearer')
      throw new Failure(401, 'the key is missing or wrong')
    })
    app.use(express.text({ type: () => true, limit: '1mb' }))
    app.get('/v1/pets', ({ query }, response) => response.send(list(query)))
    app.post('/v1/pets', ({ body = '' }, response) => response.status(201).send(create(body)))
    app.get('/v1/pets/:id', ({ params }, response) => response.send(get(params.id)))
    app.use(() => {
      throw new Failure(404, 'nothing here')
    })
    app.use((error, _request, response, _next) => {
      const [status, body] = bodyOf(error)
      response.status(status).send(body)
    })
    const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
  },
  async fastify() {
    const { default: fastify } = await import('fastify')
    const app = fastify()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'string' }, async (_request, body) => body)
    app.addHook('onRequest', async ({ headers }, reply) => {
      reply.headers(limits())
      if (isKnown(headers.authorization)) return
      reply.header('WWW-Authenticate', 'Bearer')
      throw new Failure(401, 'the key is missing or wrong')
    })
    app.get('/v1/pets', async ({ query }) => list(query))
    app.post('/v1/pets', async ({ body }, reply) => reply.code(201).send(create(body ?? '')))
    app.get('/v1/pets/:id', async ({ params }) => get(params.id))
    app.setNotFoundHandler(async () => {
      throw new Failure(404, 'nothing here')
    })
    app.setErrorHandler((error, _request, reply) => {
      const [status, body] = bodyOf(error)
      reply.code(status).headers(limits()).send(body)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    console.log(app.server.address().port)
  },
  async hono() {
    const { Hono } = await import('hono')
    const { bodyLimit } = await import('hono/body-limit')
    const { serve } = await import('@hono/node-server')
    const app = new Hono()
    const fail = (context, error) => {
      const [status, body] = bodyOf(error)
      return context.body(body, status, limits())
    }
    app.use(async (context, next) => {
      if (isKnown(context.req.header('authorization'))) return next()
      context.header('WWW-Authenticate', 'Bearer')
      return fail(context, new Failure(401, 'the key is missing or wrong'))
    })
    const onError = context => fail(context, new Failure(413, 'the body is too large'))
    app.use(bodyLimit({ maxSize: 1_000_000, onError }))
    app.get('/v1/pets', context => context.body(list(context.req.query()), 200, limits()))
    app.post('/v1/pets', async context =>
      context.body(create(await context.req.text()), 201, limits()),
    )
    app.get('/v1/pets/:id', context => context.body(get(context.req.param('id')), 200, limits()))
    app.notFound(context => fail(context, new Failure(404, 'nothing here')))
    app.onError((error, context) => fail(context, error))
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(port))
  },
}
await servers[framework]()
