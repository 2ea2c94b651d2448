import { createServer } from 'node:http'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'
import { listening } from './listening.mjs'

/** Express with its body parser and the rate limiter most used with it. */
export function serve() {
  const pets = new Map(animals(1_000).map(pet => [pet.id, pet]))
  let nextId = pets.size + 1
  const app = express()
  app.use((request, response, next) => {
    if (request.headers.authorization === `Bearer ${API_KEY}`) return next()
    response.status(401).json({ code: 'unauthorized' })
  })
  app.use(
    rateLimit({
      windowMs: 60_000,
      limit: LIMITS.perMinute,
      keyGenerator: request => request.headers.authorization,
    }),
  )
  app.use(express.json())
  app.get('/v1/pets', ({ query: { status, limit = '20' } }, response) => {
    const page = []
    for (const pet of pets.values()) {
      if (page.length === Number(limit)) break
      if (status === undefined || pet.status === status) page.push(pet)
    }
    response.json(page)
  })
  app.post('/v1/pets', ({ body: { name, categoryId, status = 'available' } }, response) => {
    if (typeof name !== 'string' || !Number.isInteger(categoryId)) {
      return response.status(400).json({ code: 'invalid_request' })
    }
    const pet = { id: nextId++, name, categoryId, status }
    pets.set(pet.id, pet)
    response.status(201).json(pet)
  })
  app.get('/v1/pets/:petId', ({ params }, response) => {
    const pet = pets.get(Number(params.petId))
    if (pet) response.json(pet)
    else response.status(404).json({ code: 'not_found' })
  })
  return listening(createServer(app))
}
