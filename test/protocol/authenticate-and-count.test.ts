import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryRateLimitStore, memoryStorage } from '../../adapters/stores/memory.js'
import {
  ApiError,
  createStore,
  type RateLimitStore,
  type Store,
  type StoreOptions,
} from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { DOORS, type Reply } from '../support/doors.js'

test('limits.apply - a failing rate limit store causes no 500 and lifts no limit', async () => {
  const broken: Record<string, () => unknown> = {
    throws() {
      throw new Error('down')
    },
    rejects: () => Promise.reject(new Error('down')),
    'answers nothing': () => undefined,
    'answers a decision without numbers': () => ({}),
  }
  for (const [how, consume] of Object.entries(broken)) {
    const rateLimitStore = { ...memoryRateLimitStore(), consume } as unknown as RateLimitStore
    const store = open({ rateLimitStore })
    const errors: unknown[] = []
    store.events.on('ratelimit.degraded', ({ error }) => errors.push(error))
    const statuses = await statusesOf(store, 61)
    assert.deepEqual(statuses, [...Array(60).fill(200), 429], how)
    assert.equal(errors.length, 61, how)
    assert.ok(errors[0] instanceof Error, how)
  }
})

test('limits.apply - a recovered rate limit store is used again', async () => {
  const table = memoryRateLimitStore()
  let down = true
  const rateLimitStore: RateLimitStore = {
    ...table,
    consume(...request) {
      if (down) throw new Error('down')
      return table.consume(...request)
    },
  }
  const store = open({ rateLimitStore })
  assert.equal((await list(store)).headers['x-ratelimit-remaining'], '59')
  down = false
  assert.equal((await list(store)).headers['x-ratelimit-remaining'], '59')
  assert.equal((await list(store)).headers['x-ratelimit-remaining'], '58')
})

const DECISION = { limit: 60, remaining: 59, reset: T0 / 1000 + 60, window: 'minute' } as const

const REJECTION = { ...DECISION, code: 'rate_limit_exceeded', remaining: 0, retryAfter: 60 }

test('limits.apply - a decision that cannot become a response is replaced, and the reason reported', async () => {
  for (const [field, decision] of [
    ['limit', null],
    ['limit', { ...DECISION, limit: undefined }],
    ['limit', { ...DECISION, limit: '60\r\nX-Injected: 1' }],
    ['limit', { ...DECISION, limit: -60 }],
    ['remaining', { ...DECISION, remaining: 0.5 }],
    ['remaining', { ...DECISION, remaining: -5 }],
    ['reset', { ...DECISION, reset: Number.NaN }],
    ['reset', { ...DECISION, reset: -5 }],
    ['window', { ...DECISION, window: 'hour\r\nX-Injected: 1' }],
    ['code', { ...DECISION, code: null }],
    ['code', { ...REJECTION, code: 'slow_down' }],
    ['retryAfter', { ...REJECTION, retryAfter: undefined }],
    ['retryAfter', { ...REJECTION, retryAfter: 0 }],
    ['bannedUntil', { ...REJECTION, code: 'api_key_banned', bannedUntil: Number.NaN }],
  ] as const) {
    const consume = async () => decision
    const store = open({ rateLimitStore: { ...memoryRateLimitStore(), consume } as never })
    const messages: string[] = []
    store.events.on('ratelimit.degraded', ({ error }) => messages.push((error as Error).message))
    const { status, headers } = await list(store)
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, '59'])
    assert.deepEqual(messages, [
      `The rate limit store returned no decision: its \`${field}\` is invalid`,
    ])
  }
})

for (const [what, now] of [
  ['before 1970', -1_000_000_000_000],
  ['a moment before 1970', -1],
  ['the last instant of a Date', 8.64e15],
] as const) {
  test(`limits.apply - counts normally with a clock at ${what}`, async () => {
    const table = memoryRateLimitStore()
    const remote: RateLimitStore = {
      ...table,
      consume: async (...given) => table.consume(...given),
    }
    for (const rateLimitStore of [memoryRateLimitStore(), remote]) {
      const store = open({ clock: () => now, rateLimitStore })
      let degraded = 0
      store.events.on('ratelimit.degraded', () => degraded++)
      assert.deepEqual(await statusesOf(store, 62), [...Array(60).fill(200), 429, 429])
      assert.match((await list(store)).body, /used up until/)
      assert.equal(degraded, 0)
    }
  })
}

test('limits.apply - a clock that throws or returns no number is a 500, and no fault of the store', async () => {
  const broken = () => {
    throw new Error('no battery')
  }
  for (const clock of [broken, () => Number.NaN, () => 1n, () => undefined]) {
    const store = open({ clock: clock as never })
    let degraded = 0
    store.events.on('ratelimit.degraded', () => degraded++)
    const { status, headers, body } = await list(store)
    assert.deepEqual([degraded, status, headers['date']], [0, 500, undefined])
    assert.equal((JSON.parse(body) as { code: string }).code, 'internal_error')
    assert.doesNotMatch(body, /battery/)
  }
})

test('limits.apply - when off, nothing is counted and no response has limit headers', async () => {
  const store = open({ rateLimiting: false, standardHeaders: 'draft-10' })
  for (let n = 0; n < 200; n++) await list(store)
  const { status, headers } = await list(store)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(headers), [
    'content-length',
    'content-type',
    'date',
    'x-content-type-options',
  ])
  assert.equal((await list(store, 'wrong')).status, 401)
  const metered = store.forKey('demo')
  await metered.listPets()
  assert.equal(metered.rateLimit, undefined)
})

for (const draft of ['draft-10', 'draft-11'] as const)
  test(`standardHeaders - ${draft} describes both windows, and what is left of the reported one`, async () => {
    let now = T0 + 500
    const store = open({
      apiKeys: {
        demo: {
          id: 'demo',
          plan: 'enterprise',
          limits: { perMinute: 2, perDay: 3, banAfterRejections: 1 },
        },
      },
      clock: () => now,
      standardHeaders: draft,
    })
    const policy = '"minute";q=2;w=60, "day";q=3;w=86400'
    const limitHeaders = async () => {
      const { headers } = await list(store)
      assert.equal(headers['ratelimit-policy'], policy)
      return [headers['ratelimit'], headers['retry-after']]
    }
    assert.deepEqual(await limitHeaders(), ['"minute";r=1;t=60', undefined])
    assert.deepEqual(await limitHeaders(), ['"minute";r=0;t=60', undefined])
    assert.deepEqual(await limitHeaders(), ['"minute";r=0;t=60', '60'])
    assert.deepEqual(await limitHeaders(), ['"minute";r=0;t=301', '301'], 'the ban ends later')
    now = T0 + 301_000
    assert.deepEqual(await limitHeaders(), ['"day";r=0;t=86099', undefined])
    now = T0 + 360_000
    assert.deepEqual(await limitHeaders(), ['"day";r=0;t=86040', '86040'])
  })

test('limits.apply - a request that could not be read counts, unless it is outside the API', async () => {
  const store = open()
  const refusal = new ApiError('payload_too_large', 'The body is too large.')
  for (const [path, remaining] of [
    ['/elsewhere', undefined],
    ['/v1/pets', '59'],
    ['/v1/nowhere', '58'],
    ['', '57'],
  ] as const) {
    const headers = { authorization: 'Bearer demo' }
    const reply = await store.handle({ method: 'POST', path, query: '', headers, refusal })
    assert.equal(reply.headers['X-RateLimit-Remaining'], remaining, path)
    assert.equal((JSON.parse(reply.body) as { code: string }).code, 'payload_too_large', path)
  }
})

test('standardHeaders - t is 0 when the window has already ended', async () => {
  const decision = { ...DECISION, reset: T0 / 1000 - 5 }
  const rateLimitStore = { ...memoryRateLimitStore(), consume: () => decision }
  const { headers } = await list(open({ rateLimitStore, standardHeaders: 'draft-10' }))
  assert.equal(headers['ratelimit'], '"minute";r=59;t=0')
})

test('identify - returns the operation and the key, and counts nothing', async () => {
  const store = open()
  const identify = (method: string, path: string, authorization?: string) => {
    const { operation, knownKey } = store.identify({
      method,
      path,
      query: '',
      headers: { authorization },
    })
    return { operation, knownKey }
  }
  assert.deepEqual(identify('GET', '/v1/pets', 'bearer demo'), {
    operation: 'listPets',
    knownKey: { id: 'demo', plan: 'free', limits: { perMinute: 60, perDay: 1_000 } },
  })
  assert.deepEqual(identify('GET', '/v1/pets/1', 'Bearer wrong'), {
    operation: 'getPet',
    knownKey: undefined,
  })
  assert.deepEqual(identify('PUT', '/v1/pets'), { operation: undefined, knownKey: undefined })
  assert.deepEqual(identify('GET', '/'), { operation: undefined, knownKey: undefined })
  assert.equal((await list(store)).headers['x-ratelimit-remaining'], '59')
})

function open(options: Partial<StoreOptions> = {}): Store {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'free' } },
    clock: () => T0,
    ...options,
  })
}

async function list(store: Store, key = 'demo'): Promise<Reply> {
  const door = await DOORS.handle(store)
  return door.send({ path: '/v1/pets', key })
}

async function statusesOf(store: Store, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) statuses.push((await list(store)).status)
  return statuses
}
