import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { type Call, DOORS, type Door } from '../support/doors.js'

interface Row {
  readonly id: string
  /** In ms after T0. */
  readonly at: number
  readonly call: Call
  /** @default 1 */
  readonly count?: number
  /** Of the last response. */
  readonly status: number
  /** Limit, Remaining, Reset in seconds after T0; null if the response has none of them. */
  readonly limit: readonly [number, number, number] | null
  /** Required headers; null for headers that must be absent. */
  readonly headers?: Readonly<Record<string, string | null>>
  readonly code?: string
}

const PETS = '/v1/pets'
const CHALLENGE = 'Bearer realm="animal-adoption-store"'
const INVALID = `${CHALLENGE}, error="invalid_token"`
const PREFLIGHT = { origin: 'https://example.org', 'access-control-request-method': 'POST' }
const RL = 'rate_limit_exceeded'

/** Sent to one server in this order, from one address. */
const ROWS: readonly Row[] = [
  { id: 'P1', at: 0, call: { path: PETS, key: 'good' }, status: 200, limit: [60, 59, 60] },
  {
    id: 'P2',
    at: 0,
    call: { method: 'POST', path: PETS, key: 'good', body: '{' },
    status: 400,
    limit: [60, 58, 60],
  },
  {
    id: 'P3',
    at: 0,
    call: { path: '/v1/pets/999', key: 'good' },
    status: 404,
    limit: [60, 57, 60],
    headers: { sunset: 'Thu, 05 Dec 2030 00:00:00 GMT', deprecation: null },
  },
  { id: 'P4', at: 0, call: { path: '/v1/nope', key: 'good' }, status: 404, limit: [60, 56, 60] },
  {
    id: 'P5',
    at: 0,
    call: { method: 'DELETE', path: PETS, key: 'good' },
    status: 405,
    limit: [60, 55, 60],
    headers: { allow: 'GET, HEAD, POST' },
  },
  {
    id: 'P6',
    at: 0,
    call: { method: 'HEAD', path: PETS, key: 'good' },
    status: 200,
    limit: [60, 54, 60],
  },
  {
    id: 'P7',
    at: 0,
    call: { method: 'OPTIONS', path: PETS, key: 'good' },
    status: 405,
    limit: [60, 53, 60],
  },
  {
    id: 'P8',
    at: 0,
    call: { method: 'OPTIONS', path: PETS, headers: PREFLIGHT },
    status: 204,
    limit: null,
  },
  {
    id: 'P9',
    at: 0,
    call: { path: PETS },
    status: 401,
    limit: [60, 59, 60],
    headers: { 'www-authenticate': CHALLENGE },
  },
  {
    id: 'P10',
    at: 0,
    call: { path: PETS, key: 'wrong' },
    status: 401,
    limit: [60, 58, 60],
    headers: { 'www-authenticate': INVALID },
  },
  { id: 'P11', at: 0, call: { path: '/v1/nope' }, status: 401, limit: [60, 57, 60] },
  {
    id: 'P12',
    at: 0,
    call: { path: PETS, key: 'wrong' },
    count: 58,
    status: 429,
    limit: [60, 0, 60],
    headers: { 'retry-after': '60', 'cache-control': 'no-store' },
    code: RL,
  },
  { id: 'P13', at: 0, call: { path: PETS, key: 'good' }, status: 200, limit: [60, 52, 60] },
  {
    id: 'P14',
    at: 0,
    call: { path: PETS, headers: { authorization: 'bearer good' } },
    status: 200,
    limit: [60, 51, 60],
  },
  { id: 'P15', at: 500, call: { path: PETS, key: 'tiny' }, status: 200, limit: [1, 0, 60] },
  {
    id: 'P16',
    at: 500,
    call: { method: 'POST', path: PETS, key: 'tiny', body: '{' },
    status: 429,
    limit: [1, 0, 60],
    headers: { 'retry-after': '60' },
    code: RL,
  },
  {
    id: 'P17',
    at: 500,
    call: { path: '/v1/nope', key: 'tiny' },
    status: 429,
    limit: [1, 0, 60],
    code: RL,
  },
  {
    id: 'P18',
    at: 500,
    call: { path: PETS, key: 'tiny' },
    status: 429,
    limit: [1, 0, 301],
    headers: { 'retry-after': '301' },
    code: 'api_key_banned',
  },
  { id: 'P19', at: 500, call: { path: PETS, key: 'ent' }, status: 200, limit: [5000, 4999, 60] },
  { id: 'P20', at: 60_000, call: { path: PETS, key: 'wrong' }, status: 401, limit: [60, 59, 120] },
]

for (const [name, open] of Object.entries(DOORS)) {
  test(`${name} - vectors P`, async () => {
    let now = T0
    const store = createStore({
      storage: memoryStorage(),
      apiKeys: {
        good: { id: 'good', plan: 'free' },
        tiny: { id: 'tiny', plan: 'enterprise', limits: { perMinute: 1, perDay: 10, banAfter: 2 } },
        ent: { id: 'ent', plan: 'enterprise', limits: { perMinute: 5_000, perDay: 2_000_000 } },
      },
      clock: () => now,
      cors: true,
    })
    const door = await open(store)
    try {
      for (const row of ROWS) {
        now = T0 + row.at
        await run(row, door)
      }
    } finally {
      await door.close()
    }
  })
}

async function run(row: Row, { send }: Door): Promise<void> {
  const { id, call, count = 1, limit, code } = row
  for (let n = 1; n < count; n++) await send(call)
  const { status, headers, body } = await send(call)
  const expected = limit && [limit[0], limit[1], T0 / 1000 + limit[2]].map(String)
  const reported = ['limit', 'remaining', 'reset'].map(
    name => headers[`x-ratelimit-${name}`] ?? null,
  )
  assert.deepEqual(
    { id, status, reported },
    { id, status: row.status, reported: expected ?? [null, null, null] },
  )
  assert.equal(headers['retry-after'] !== undefined, row.status === 429, id)
  for (const [header, value] of Object.entries(row.headers ?? {})) {
    assert.equal(headers[header] ?? null, value, `${id} ${header}`)
  }
  if (call.method === 'HEAD') assert.equal(body, '', id)
  if (code) assert.equal((JSON.parse(body) as { code: string }).code, code, id)
}
