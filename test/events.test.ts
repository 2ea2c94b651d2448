import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { memoryRateLimitStore, memoryStorage } from '../adapters/stores/memory.js'
import { createStore, type Store, type StoreEvents } from '../src/index.js'
import { T0 } from './limits/rate-limit-vectors.js'
import { DOORS, type Reply } from './support/doors.js'

const KEY = 'a-very-secret-key'

test('events - are emitted in order and never contain a key', async () => {
  const store = open()
  const seen = record(store)
  await exercise(store)
  const names = seen.map(([name]) => name)
  assert.deepEqual(names, [
    'pet.created',
    ...Array(30).fill('limit.exceeded'),
    'key.banned',
    'limit.exceeded',
  ])
  const until = T0 / 1000 + 60
  assert.deepEqual(seen[0]?.[1], {
    pet: { id: 1, name: 'Rex', categoryId: 1, status: 'available' },
  })
  assert.deepEqual(seen[1]?.[1], {
    partition: 'key-1',
    rateLimit: { limit: 60, remaining: 0, reset: until },
  })
  assert.deepEqual(seen[31]?.[1], { keyId: 'key-1', bannedUntil: T0 + 300_000 })
  assert.deepEqual(seen[32]?.[1], {
    partition: 'addr:local',
    rateLimit: { limit: 60, remaining: 0, reset: until },
  })
  assert.ok(!JSON.stringify(seen).includes(KEY))
})

test('events - storage.failed says which operation failed and why, and the response does not', async () => {
  const error = new Error('disk full')
  const fail = () => Promise.reject(error)
  for (const [method, operation, call] of [
    ['insert', 'createPet', (store: Store) => store.createPet({ name: 'Rex', categoryId: 1 })],
    ['list', 'listPets', (store: Store) => store.listPets()],
    ['find', 'getPet', (store: Store) => store.getPet(1)],
  ] as const) {
    const storage = { ...memoryStorage(), [method]: fail }
    const store = createStore({ storage, apiKeys: {}, clock: () => T0 })
    const seen = record(store)
    await assert.rejects(call(store), (thrown: Error) => !thrown.message.includes('disk full'))
    assert.deepEqual(seen, [['storage.failed', { operation, error }]])
  }
  const store = open()
  const seen = record(store)
  await assert.rejects(store.getPet(7), { code: 'not_found' })
  await assert.rejects(store.createPet({} as never), { code: 'invalid_request' })
  assert.deepEqual(seen, [])
})

test('events - ratelimit.degraded carries the error of the rate limit store', async () => {
  const error = new Error('down')
  const rateLimitStore = { ...memoryRateLimitStore(), consume: () => Promise.reject(error) }
  const store = open({ rateLimitStore })
  const seen = record(store)
  await send(store, 'GET')
  assert.deepEqual(seen, [['ratelimit.degraded', { error }]])
})

const FAULTY: Readonly<Record<string, () => unknown>> = {
  throws() {
    throw new Error(KEY)
  },
  rejects: () => Promise.reject(new Error(KEY)),
  'rejects with a promise of another realm': () => runInNewContext('Promise.reject(new Error())'),
  'never settles': () => new Promise(() => {}),
}

for (const [what, listener] of Object.entries(FAULTY)) {
  test(`events - a listener that ${what} affects neither the response nor other listeners`, async () => {
    const [undisturbed, disturbed] = [open(), open()]
    for (const name of ['pet.created', 'limit.exceeded', 'key.banned', '*'] as const) {
      disturbed.events.on(name as 'pet.created', listener as never)
    }
    const seen = record(disturbed)
    const expected = record(undisturbed)
    assert.deepEqual(await exercise(disturbed), await exercise(undisturbed))
    assert.deepEqual(seen, expected)
  })
}

test('events - a listener can remove itself or others', async () => {
  const store = open()
  const calls: string[] = []
  const once = () => {
    calls.push('once')
    store.events.off('pet.created', once)
    store.events.off('pet.created', removed)
  }
  const removed = () => void calls.push('removed')
  store.events.on('pet.created', once)
  store.events.on('pet.created', removed)
  store.events.on('pet.created', () => void calls.push('always'))
  await send(store, 'POST')
  await send(store, 'POST')
  assert.deepEqual(calls, ['once', 'removed', 'always', 'always'])
})

test('events - an event caused by a listener follows the current one', async () => {
  const store = open()
  const created: number[] = []
  store.events.on('pet.created', ({ pet }) => {
    if (pet.id < 3_000) void store.createPet({ name: 'Rex', categoryId: 1 })
  })
  store.events.on('pet.created', ({ pet }) => void created.push(pet.id))
  await store.createPet({ name: 'Rex', categoryId: 1 })
  assert.deepEqual(
    created,
    Array.from({ length: 3_000 }, (_, at) => at + 1),
  )
})

test('events - pet.created follows the commit, in every form of createPet', async () => {
  const store = open()
  const found: Promise<unknown>[] = []
  store.events.on('pet.created', ({ pet }) => void found.push(store.getPet(pet.id)))
  await store.createPet({ name: 'Rex', categoryId: 1 })
  await store.forKey(KEY).createPet({ name: 'Rex', categoryId: 1 })
  await send(store, 'POST')
  assert.deepEqual((await Promise.all(found)).length, 3)
})

/** Causes every event but `storage.failed` and `ratelimit.degraded`. */
async function exercise(store: Store): Promise<Reply[]> {
  const replies = [await send(store, 'POST')]
  for (let n = 0; n < 95; n++) replies.push(await send(store, 'GET'))
  for (let n = 0; n < 61; n++) replies.push(await send(store, 'GET', `not-${KEY}`))
  return replies
}

function record(store: Store): (readonly [keyof StoreEvents, unknown])[] {
  const seen: (readonly [keyof StoreEvents, unknown])[] = []
  store.events.on('*', (name, event) => void seen.push([name, event]))
  return seen
}

function open(options: object = {}): Store {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { [KEY]: { id: 'key-1', plan: 'free' } },
    clock: () => T0,
    ...options,
  })
}

async function send(store: Store, method: 'GET' | 'POST', key = KEY): Promise<Reply> {
  const door = await DOORS.handle(store)
  const body = method === 'POST' ? { body: '{"name":"Rex","categoryId":1}' } : {}
  return door.send({ method, path: '/v1/pets', key, ...body })
}
