import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { validator } from 'hono/validator'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'
import { listening } from './listening.mjs'
import { createMinute } from './minute.mjs'

/** Hono with its validator; its own bearer middleware hashes each token, so this one compares. */
export function createApp() {
  const pets = new Map(animals(1_000).map(pet => [pet.id, pet]))
  const count = createMinute(LIMITS.perMinute)
  let nextId = pets.size + 1
  const app = new Hono()
  app.use('/v1/*', async (context, next) => {
    const authorized = context.req.header('Authorization') === `Bearer ${API_KEY}`
    if (!authorized) return context.json({ code: 'unauthorized' }, 401)
    const { limit, remaining, reset } = count()
    context.header('X-RateLimit-Limit', String(limit))
    context.header('X-RateLimit-Remaining', String(remaining))
    context.header('X-RateLimit-Reset', String(reset))
    if (remaining < 0) return context.json({ code: 'rate_limit_exceeded' }, 429)
    await next()
  })
  app.get('/v1/pets', context => {
    const status = context.req.query('status')
    const limit = Number(context.req.query('limit') ?? 20)
    const page = []
    for (const pet of pets.values()) {
      if (page.length === limit) break
      if (status === undefined || pet.status === status) page.push(pet)
    }
    return context.json(page)
  })
  const newPet = validator('json', (value, context) => {
    const { name, categoryId, status = 'available' } = value
    if (typeof name === 'string' && Number.isInteger(categoryId))
      return { name, categoryId, status }
    return context.json({ code: 'invalid_request' }, 400)
  })
  app.post('/v1/pets', newPet, context => {
    const pet = { id: nextId++, ...context.req.valid('json') }
    pets.set(pet.id, pet)
    return context.json(pet, 201)
  })
  app.get('/v1/pets/:petId', context => {
    const pet = pets.get(Number(context.req.param('petId')))
    return pet ? context.json(pet) : context.json({ code: 'not_found' }, 404)
  })
  return app
}

export function serve() {
  return listening(createAdaptorServer({ fetch: createApp().fetch }))
}
