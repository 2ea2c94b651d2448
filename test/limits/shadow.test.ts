import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createStore } from '../../src/index.js'
import { T0 } from './rate-limit-vectors.js'

const LIMITS = { perMinute: 3, perDay: 8, banAfterRejections: 2 }
const API_KEYS = { demo: { id: 'demo', plan: 'enterprise', limits: LIMITS } } as const
const SECOND = 1_000

/** Past the minute, into a ban, through it, past the day. */
const SCHEDULE = [0, 0, 0, 0, 0, 0, 1, 2, 299, 301, 301, 301, 302, 400, 500, 501, 86_400].map(
  seconds => T0 + seconds * SECOND,
)

test('shadow - headers and events are the same, and nothing is rejected', async () => {
  const [on, shadow] = [await run(true), await run('shadow')]
  for (const name of ['headers', 'events'] as const) {
    assert.deepEqual(
      shadow.map(reply => reply[name]),
      on.map(reply => reply[name]),
      name,
    )
  }
  assert.deepEqual(
    shadow.map(({ shadowed }) => shadowed),
    on.map(({ code }) => code),
  )
  assert.ok(on.some(({ code }) => code === 'rate_limit_exceeded'))
  assert.ok(on.some(({ code }) => code === 'api_key_banned'))
  assert.ok(on.some(({ events }) => events.includes('key.banned')))
  for (const { status, code, retryAfter } of shadow) {
    assert.deepEqual([status, code, retryAfter], [200, undefined, undefined])
  }
})

test('shadow - metered calls and callers without a key are not rejected either', async () => {
  const plans = { anonymous: { perMinute: 1, perDay: 10 } }
  const store = createStore({
    ...{ storage: memoryStorage(), apiKeys: API_KEYS, clock: () => T0, plans },
    rateLimiting: 'shadow',
  })
  const metered = store.forKey('demo')
  for (let count = 0; count < 6; count++) await metered.listPets()
  assert.deepEqual(metered.rateLimit?.remaining, 0)
  for (const remaining of ['0', '0', '0']) {
    const reply = await store.handle({ method: 'GET', path: '/v1/pets', query: '', headers: {} })
    assert.deepEqual([reply.status, reply.headers['X-RateLimit-Remaining']], [401, remaining])
  }
})

test('shadow - a client of a double in shadow mode is not held to a limit', async () => {
  const double = createTestDouble({ apiKeys: API_KEYS, rateLimiting: 'shadow' })
  const headers = { authorization: 'Bearer demo' }
  for (let count = 0; count < 20; count++) {
    assert.equal((await double.fetch('pets', { headers })).status, 200)
  }
  assert.deepEqual(double.report().findings, [])
  const snapshot = await double.snapshot()
  assert.ok(snapshot.usage[0]?.[1].bannedUntil)
  double.faults.arm({ kind: 'status', status: 429 })
  assert.equal((await double.fetch('pets', { headers })).status, 429)
})

interface Reply {
  readonly status: number
  readonly code: string | undefined
  readonly shadowed: string | undefined
  readonly retryAfter: string | undefined
  readonly headers: readonly (string | undefined)[]
  readonly events: readonly string[]
}

/** The schedule, sent to a store of its own. */
async function run(rateLimiting: true | 'shadow'): Promise<readonly Reply[]> {
  let now = T0
  const store = createStore({
    ...{ storage: memoryStorage(), apiKeys: API_KEYS, clock: () => now },
    ...{ rateLimiting, standardHeaders: 'draft-11' },
  })
  let events: string[] = []
  store.events.on('*', name => events.push(name))
  const replies: Reply[] = []
  for (const at of SCHEDULE) {
    now = at
    events = []
    const { status, headers, body, about } = await store.handle({
      ...{ method: 'GET', path: '/v1/pets', query: '' },
      headers: { authorization: 'Bearer demo' },
    })
    const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit']
    replies.push({
      status,
      code: (JSON.parse(body) as { code?: string }).code,
      shadowed: about?.shadowed,
      retryAfter: headers['Retry-After'],
      headers: names.map(name => headers[name]),
      events,
    })
  }
  return replies
}
