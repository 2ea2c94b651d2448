/** The same animals, requests and key for every subject. */

export const API_KEY = 'bench-enterprise'

/** Limits that no run reaches, but that are counted and reported. */
export const LIMITS = { perMinute: 1_000_000_000, perDay: 1_000_000_000 }

/** Ids from 1; one in fifty is sold, a third pending, the rest available. */
export function animal(id) {
  const status = id % 50 === 0 ? 'sold' : id % 3 === 0 ? 'pending' : 'available'
  return { id, name: `Animal ${id}`, categoryId: id % 10, status }
}

export function animals(count) {
  return Array.from({ length: count }, (_, index) => animal(index + 1))
}

export const NEW_ANIMAL = { name: 'Bella', categoryId: 3, status: 'available' }

/** Requests that the generator cycles through, with the only valid `status`. */
export const WORKLOADS = {
  list: { status: 200, requests: [get('/v1/pets?status=available&limit=20')] },
  get: { status: 200, requests: animals(1_000).map(({ id }) => get(`/v1/pets/${id}`)) },
  create: { status: 201, requests: [post('/v1/pets', NEW_ANIMAL)] },
}

let keys = 0

/** Also lists and pages of which no two that wait at the same time are equal, and creates with new keys. */
export const ENGINE_WORKLOADS = {
  ...WORKLOADS,
  keyed: {
    status: 201,
    requests: [
      () => {
        const request = post('/v1/pets', NEW_ANIMAL)
        return { ...request, headers: { ...request.headers, 'Idempotency-Key': `"${++keys}"` } }
      },
    ],
  },
  pages: {
    status: 200,
    requests: Array.from({ length: 900 }, (_, at) =>
      get(`/v1/pets?status=available&limit=20&after=${at + 1}`),
    ),
  },
  lists: {
    status: 200,
    requests: Array.from({ length: 100 }, (_, at) =>
      get(`/v1/pets?status=available&limit=${at + 1}`),
    ),
  },
}

function get(path) {
  return { method: 'GET', path, headers: { Authorization: `Bearer ${API_KEY}` }, body: '' }
}

function post(path, value) {
  const body = JSON.stringify(value)
  const headers = {
    Authorization: `Bearer ${API_KEY}`,
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
  }
  return { method: 'POST', path, headers, body }
}
