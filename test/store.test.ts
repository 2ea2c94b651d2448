import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../adapters/client/index.js'
import { toFetchHandler } from '../adapters/http/fetch.js'
import { listen } from '../adapters/http/index.js'
import { memoryStorage } from '../adapters/stores/memory.js'
import {
  ApiError,
  createStore,
  type NewPet,
  type PetStorage,
  type Pets,
  parseJson,
  type Store,
  type StoreOptions,
  SUNSET,
  toJson,
} from '../src/index.js'
import { T0 } from './limits/rate-limit-vectors.js'
import { DOORS, type Door } from './support/doors.js'

const AUTHORIZED = { authorization: 'Bearer demo' }

/** Run in each form; failures are recorded as code and message. */
const SCRIPT: readonly ((pets: Pets) => Promise<unknown>)[] = [
  pets => pets.createPet({ name: 'Rex', categoryId: 1 }),
  pets => pets.createPet({ name: '', categoryId: 9223372036854775807n, status: 'sold' }),
  pets => pets.createPet({ name: 'é\u0000🐈\ud800', categoryId: -9223372036854775808n }),
  pets => pets.createPet({ name: 'Rex', categoryId: 5n, status: undefined }),
  pets => pets.createPet({ id: 9, name: 'x', categoryId: -0, tag: 1 } as NewPet),
  pets => pets.createPet({ name: 'x' } as NewPet),
  pets => pets.createPet({ name: 1, categoryId: '1', status: 'lost' } as never),
  pets => pets.createPet({ name: 'x', categoryId: 9223372036854775808n }),
  pets => pets.createPet({ name: 'x', categoryId: 1.5 }),
  pets => pets.createPet({ name: 'x', categoryId: Number.NaN }),
  pets => pets.createPet({ name: 'x', categoryId: 1, status: null as never }),
  pets => pets.createPet([] as never),
  pets => pets.listPets(),
  pets => pets.listPets({}),
  pets => pets.listPets({ limit: 1, status: 'available' }),
  pets => pets.listPets({ limit: 100, status: 'pending' }),
  pets => pets.listPets({ limit: 0 }),
  pets => pets.listPets({ limit: 101 }),
  pets => pets.listPets({ limit: 1.5 }),
  pets => pets.listPets({ limit: 1e21 }),
  pets => pets.listPets({ status: 'lost' as never }),
  pets => pets.listPets({ after: -1 }),
  pets => pets.listPets({ after: 2 }),
  pets => pets.getPet(1),
  pets => pets.getPet(2n),
  pets => pets.getPet(4),
  pets => pets.getPet(0),
  pets => pets.getPet(-1),
  pets => pets.getPet(1.5),
  pets => pets.getPet(Number.NaN),
  pets => pets.getPet(9223372036854775807n),
]

for (const options of [
  {},
  { pagination: true },
  { defaultStatus: null },
  { clock: () => SUNSET },
]) {
  const described = Object.keys(options).join() || 'defaults'
  test(`store - direct calls, forKey and the protocol agree, with ${described}`, async () => {
    const direct = await outcomes(open(options))
    assert.deepEqual(await outcomes(open(options).forKey('demo')), direct)
    for (const [name, openDoor] of Object.entries(DOORS)) {
      const door = await openDoor(open(options))
      assert.deepEqual(await outcomes(overProtocol(door)), direct, name)
      await door.close()
    }
  })
}

test('store - the client agrees, through fetch and over a socket, but for the words of an error', async () => {
  const options = { pagination: true }
  const expected = withoutWords(await outcomes(open(options)))
  assert.deepEqual(withoutWords(await outcomes(clientOf(open(options)))), expected)
  await using server = await listen(open(options), { port: 0 })
  const overSocket = createClient({ baseUrl: server.url, apiKey: 'demo' })
  assert.deepEqual(withoutWords(await outcomes(overSocket)), expected)

  function withoutWords(all: unknown[]): unknown[] {
    return all.map(outcome => ({ ...(outcome as object), message: '' }))
  }
})

test('forKey - throws the errors of the protocol, and reports the remaining budget', async () => {
  const store = open()
  const demo = store.forKey('demo')
  assert.equal(demo.rateLimit, undefined)
  await demo.listPets()
  assert.deepEqual(demo.rateLimit, { limit: 60, remaining: 59, reset: T0 / 1000 + 60 })
  await assert.rejects(demo.getPet(5), { code: 'not_found' })
  for (let n = 0; n < 58; n++) await demo.listPets()
  await assert.rejects(demo.createPet({ name: 'x', categoryId: 1 }), {
    name: 'ApiError',
    code: 'rate_limit_exceeded',
    status: 429,
    retryAfter: 60,
    rateLimit: { limit: 60, remaining: 0, reset: T0 / 1000 + 60 },
  })
  assert.deepEqual(await store.listPets(), [], 'nothing was created')
  await assert.rejects(store.forKey('wrong').listPets(), { code: 'unauthorized', status: 401 })
  const removed = open()
  const late = removed.forKey('demo')
  removed.apiKeys.remove('demo')
  await assert.rejects(late.listPets(), { code: 'unauthorized' })
})

test('store - an exhausted limit is the same error, even before the client sends anything', async () => {
  const failures: unknown[] = []
  for (const pets of [open().forKey('demo'), clientOf(open())]) {
    for (let n = 0; n < 60; n++) await pets.listPets()
    await assert.rejects(pets.listPets(), ({ code, status, rateLimit, retryAfter }: ApiError) =>
      Boolean(failures.push({ code, status, rateLimit, retryAfter })),
    )
  }
  assert.deepEqual(failures[1], failures[0])
})

test('forKey - shares its budget with the protocol', async () => {
  const store = open()
  const door = await DOORS.handle(store)
  await door.send({ path: '/v1/pets', key: 'demo' })
  const demo = store.forKey('demo')
  await demo.listPets()
  assert.equal(demo.rateLimit?.remaining, 58)
})

test('store - changing a result changes nothing in the store', async () => {
  const store = open()
  const input = { name: 'Rex', categoryId: 1 }
  const pet = await store.createPet(input)
  input.name = 'Max'
  assert.throws(() => Object.assign(pet, { name: 'Max' }), TypeError)
  const page = await store.listPets()
  assert.throws(() => (page as unknown[]).push(pet), TypeError)
  assert.deepEqual(await store.listPets(), [
    { id: 1, name: 'Rex', categoryId: 1, status: 'available' },
  ])
})

test('about - a response names the operation and the key id, never the key', async () => {
  const store = open()
  const handle = (path: string, authorization: string) =>
    store.handle({ method: 'GET', path, query: '', headers: { authorization } })
  const listed = await handle('/v1/pets', 'Bearer demo')
  assert.equal(listed.about?.operation, 'listPets')
  assert.equal(listed.about?.knownKey?.id, 'key-1')
  assert.equal(listed.about?.knownKey?.plan, 'free')
  assert.doesNotMatch(JSON.stringify(listed.about), /demo/)
  const got = await handle('/v1/pets/1', 'Bearer wrong')
  assert.deepEqual(got.about, { operation: 'getPet', knownKey: undefined })
})

test('handle - answers synchronously when the storage does', async () => {
  const store = open()
  const rex = await store.createPet({ name: 'Rex', categoryId: 1 })
  const request = { method: 'GET', query: '', headers: { authorization: 'Bearer demo' } }
  for (const path of ['/v1/pets', `/v1/pets/${rex.id}`, '/v1/pets/2', '/elsewhere']) {
    assert.ok('status' in store.handle({ ...request, path }), path)
  }
})

test('handle - marks responses outside the base path, and no others', async () => {
  const store = open()
  for (const [path, outside] of [
    ['/', true],
    ['/v1x', true],
    ['/v1', false],
    ['/v1/pets', false],
  ] as const) {
    const response = await store.handle({ method: 'GET', path, query: '', headers: {} })
    assert.equal(response.outside, outside, path)
  }
})

test('handle - a page of more than 262,144 characters of names comes in pieces', async () => {
  const request = { method: 'GET', path: '/v1/pets', query: '', headers: AUTHORIZED }
  for (const [name, isLong] of [
    ['é'.repeat(131_072), false],
    ['é'.repeat(131_073), true],
  ] as const) {
    const store = open()
    for (let n = 0; n < 2; n++) await store.createPet({ name, categoryId: 2n ** 62n })
    const { headers, pieces, body } = await store.handle(request)
    assert.equal(pieces !== undefined, isLong)
    assert.equal(body, toJson(await store.listPets()))
    assert.equal(headers['Content-Length'], String(Buffer.byteLength(body)))
    if (pieces) assert.equal([...pieces()].join(''), body)
    const head = await store.handle({ ...request, method: 'HEAD' })
    assert.deepEqual([head.body, head.pieces], ['', undefined])
    assert.equal(head.headers['Content-Length'], headers['Content-Length'])
  }
})

test('getPet - looks up only positive safe integers', async () => {
  const asked: number[] = []
  const find = (id: number) => void asked.push(id)
  const store = open({ storage: { ...memoryStorage(), find } as unknown as PetStorage })
  for (const id of [1, 2n, Number.MAX_SAFE_INTEGER, 0, -1, 0.5, 2 ** 53, 2n ** 53n, Number.NaN]) {
    await assert.rejects(store.getPet(id), { code: 'not_found' })
  }
  assert.deepEqual(asked, [1, 2, Number.MAX_SAFE_INTEGER])
})

test('store - a storage that mutates its arguments affects no later request', async () => {
  const base = memoryStorage()
  const storage: PetStorage = {
    ...base,
    list(filter) {
      const page = base.list(filter)
      Object.assign(filter, { limit: 1 })
      return page
    },
  }
  const store = open({ storage })
  for (const name of ['Rex', 'Tom']) await store.createPet({ name, categoryId: 1 })
  const { send } = await DOORS.handle(store)
  const ask = async () => JSON.parse((await send({ path: '/v1/pets?limit=2', key: 'demo' })).body)
  assert.equal((await ask()).length, 2)
  assert.equal((await ask()).length, 2)
})

test('store - a storage may return any thenable', async () => {
  const rex = Object.freeze({ id: 1, name: 'Rex', categoryId: 1 })
  const soon = <T>(value: T) => ({
    // biome-ignore lint/suspicious/noThenProperty: some database drivers return thenables
    then: (done: (value: T) => void) => queueMicrotask(() => done(value)),
  })
  const storage = {
    ...memoryStorage(),
    insert: () => soon(rex),
    find: () => soon(rex),
    list: () => soon([rex]),
  } as unknown as PetStorage
  const store = open({ storage })
  const text = '{"id":1,"name":"Rex","categoryId":1}'
  assert.equal(await store.getPet(1), rex)
  assert.deepEqual(await store.listPets(), [rex])
  assert.equal(await store.createPet({ name: 'Rex', categoryId: 1 }), rex)
  const { send } = await DOORS.handle(store)
  assert.equal((await send({ path: '/v1/pets', key: 'demo' })).body, `[${text}]`)
  assert.equal((await send({ path: '/v1/pets/1', key: 'demo' })).body, text)
})

function open(options: Partial<StoreOptions> = {}): Store {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'key-1', plan: 'free' } },
    clock: () => T0,
    ...options,
  })
}

/** Through fetch; it does not wait. */
function clientOf(store: Store): Pets {
  const serve = toFetchHandler(store)
  const fetch: typeof globalThis.fetch = (input, init) => serve(new Request(input, init))
  const surroundings = { fetch, clock: () => T0, maxWait: 0 }
  return createClient({ baseUrl: 'http://store.test/v1', apiKey: 'demo', ...surroundings })
}

async function outcomes(pets: Pets): Promise<unknown[]> {
  const all: unknown[] = []
  for (const step of SCRIPT) {
    const outcome = step(pets).catch(error => {
      if (!(error instanceof ApiError)) throw error
      const { code, message, status } = error
      return { code, message, status }
    })
    all.push(await outcome)
  }
  return all
}

/** The operations as requests, as a client sends them. */
function overProtocol({ send }: Door): Pets {
  const ask = async (call: Parameters<typeof send>[0]) => {
    const { status, body } = await send({ ...call, key: 'demo' })
    const value = parseJson(body)
    if (status < 300) return value as never
    const { code, message } = value as { code: 'not_found'; message: string }
    throw new ApiError(code, message, { status })
  }
  return {
    createPet: pet => ask({ method: 'POST', path: '/v1/pets', body: toJson(pet) }),
    listPets: (query = {}) => {
      const pairs = Object.entries(query).map(([name, value]) => `${name}=${value}`)
      return ask({ path: `/v1/pets?${pairs.join('&')}` })
    },
    getPet: id => ask({ path: `/v1/pets/${id}` }),
  }
}
