import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { type Call, DOORS, type Door } from '../support/doors.js'

/** The last fields are headers, null for those that must be absent, and the code. */
type Row = readonly [
  id: string,
  /** In ms after T0. */
  at: number,
  call: Call & { readonly count?: number },
  /** Of the last response. */
  status: number,
  /** Limit, Remaining, Reset in seconds after T0; null if the response has none of them. */
  limit: readonly [number, number, number] | null,
  headers?: Readonly<Record<string, string | null>>,
  code?: string,
]

const PETS = '/v1/pets'
const CHALLENGE = 'Bearer realm="animal-adoption-store"'
const INVALID = `${CHALLENGE}, error="invalid_token"`
const PREFLIGHT = { origin: 'https://example.org', 'access-control-request-method': 'POST' }
const RL = 'rate_limit_exceeded'

const SUNSET = { sunset: 'Thu, 05 Dec 2030 00:00:00 GMT', deprecation: null }
const NO_STORE = { 'retry-after': '60', 'cache-control': 'no-store' }
const get = (path: string, key?: string) => ({ path, key })
const send = (method: string, key: string, body?: string) => ({
  ...{ method, path: PETS, key },
  ...(body !== undefined && { body }),
})
const preflight = { method: 'OPTIONS', path: PETS, headers: PREFLIGHT }
const lowerCase = { path: PETS, headers: { authorization: 'bearer good' } }

/** Sent to one server in this order, from one address. */
const ROWS: readonly Row[] = [
  ['P1', 0, get(PETS, 'good'), 200, [60, 59, 60]],
  ['P2', 0, send('POST', 'good', '{'), 400, [60, 58, 60]],
  ['P3', 0, get('/v1/pets/999', 'good'), 404, [60, 57, 60], SUNSET],
  ['P4', 0, get('/v1/nope', 'good'), 404, [60, 56, 60]],
  ['P5', 0, send('DELETE', 'good'), 405, [60, 55, 60], { allow: 'GET, HEAD, POST' }],
  ['P6', 0, send('HEAD', 'good'), 200, [60, 54, 60]],
  ['P7', 0, send('OPTIONS', 'good'), 405, [60, 53, 60]],
  ['P8', 0, preflight, 204, null],
  ['P9', 0, get(PETS), 401, [60, 59, 60], { 'www-authenticate': CHALLENGE }],
  ['P10', 0, get(PETS, 'wrong'), 401, [60, 58, 60], { 'www-authenticate': INVALID }],
  ['P11', 0, get('/v1/nope'), 401, [60, 57, 60]],
  ['P12', 0, { ...get(PETS, 'wrong'), count: 58 }, 429, [60, 0, 60], NO_STORE, RL],
  ['P13', 0, get(PETS, 'good'), 200, [60, 52, 60]],
  ['P14', 0, lowerCase, 200, [60, 51, 60]],
  ['P15', 500, get(PETS, 'tiny'), 200, [1, 0, 60]],
  ['P16', 500, send('POST', 'tiny', '{'), 429, [1, 0, 60], { 'retry-after': '60' }, RL],
  ['P17', 500, get('/v1/nope', 'tiny'), 429, [1, 0, 60], {}, RL],
  ['P18', 500, get(PETS, 'tiny'), 429, [1, 0, 301], { 'retry-after': '301' }, 'api_key_banned'],
  ['P19', 500, get(PETS, 'ent'), 200, [5000, 4999, 60]],
  ['P20', 60_000, get(PETS, 'wrong'), 401, [60, 59, 120]],
]

for (const [name, open] of Object.entries(DOORS)) {
  test(`${name} - vectors P`, async () => {
    let now = T0
    const store = createStore({
      storage: memoryStorage(),
      apiKeys: {
        good: { id: 'good', plan: 'free' },
        tiny: {
          id: 'tiny',
          plan: 'enterprise',
          limits: { perMinute: 1, perDay: 10, banAfterRejections: 2 },
        },
        ent: { id: 'ent', plan: 'enterprise', limits: { perMinute: 5_000, perDay: 2_000_000 } },
      },
      clock: () => now,
      cors: true,
    })
    const door = await open(store)
    try {
      for (const row of ROWS) {
        now = T0 + row[1]
        await run(row, door)
      }
    } finally {
      await door.close()
    }
  })
}

async function run(row: Row, { send }: Door): Promise<void> {
  const [id, , { count = 1, ...call }, status, limit, given = {}, code] = row
  for (let n = 1; n < count; n++) await send(call)
  const reply = await send(call)
  const { headers, body } = reply
  const expected = limit && [limit[0], limit[1], T0 / 1000 + limit[2]].map(String)
  const reported = ['limit', 'remaining', 'reset'].map(
    name => headers[`x-ratelimit-${name}`] ?? null,
  )
  assert.deepEqual([id, reply.status, reported], [id, status, expected ?? [null, null, null]])
  assert.equal(headers['retry-after'] !== undefined, status === 429, id)
  for (const [header, value] of Object.entries(given)) {
    assert.equal(headers[header] ?? null, value, `${id} ${header}`)
  }
  if (call.method === 'HEAD') assert.equal(body, '', id)
  if (code) assert.equal((JSON.parse(body) as { code: string }).code, code, id)
}
