import { createServer } from 'node:http'
import { API_KEY, animals, LIMITS } from '../harness/workload.mjs'
import { listening } from './listening.mjs'
import { createMinute } from './minute.mjs'

/** What a good engineer writes in an hour: node:http, a Map, and JSON.stringify for each answer. */
export function serve() {
  const pets = new Map(animals(1_000).map(pet => [pet.id, pet]))
  const count = createMinute(LIMITS.perMinute)
  let nextId = pets.size + 1

  return listening(
    createServer((request, response) => {
      const url = new URL(request.url, 'http://localhost')
      if (request.headers.authorization !== `Bearer ${API_KEY}`) return send(401, 'unauthorized')
      const limit = count()
      response.setHeader('X-RateLimit-Limit', limit.limit)
      response.setHeader('X-RateLimit-Remaining', limit.remaining)
      response.setHeader('X-RateLimit-Reset', limit.reset)
      if (limit.remaining < 0) return send(429, 'rate limit exceeded')
      if (request.method === 'GET' && url.pathname === '/v1/pets') return list(url.searchParams)
      if (request.method === 'POST' && url.pathname === '/v1/pets') return create()
      const pet = pets.get(Number(url.pathname.slice('/v1/pets/'.length)))
      return pet ? send(200, pet) : send(404, 'not found')

      function list(query) {
        const status = query.get('status')
        const limit = Number(query.get('limit') ?? 20)
        const page = []
        for (const pet of pets.values()) {
          if (page.length === limit) break
          if (status === null || pet.status === status) page.push(pet)
        }
        send(200, page)
      }

      function create() {
        const chunks = []
        request.on('data', chunk => chunks.push(chunk))
        request.on('end', () => {
          const { name, categoryId, status = 'available' } = JSON.parse(Buffer.concat(chunks))
          if (typeof name !== 'string' || !Number.isInteger(categoryId)) return send(400, 'invalid')
          const pet = { id: nextId++, name, categoryId, status }
          pets.set(pet.id, pet)
          send(201, pet)
        })
      }

      function send(status, value) {
        const body = JSON.stringify(value)
        const length = Buffer.byteLength(body)
        response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': length })
        response.end(body)
      }
    }),
  )
}
