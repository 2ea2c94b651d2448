import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../adapters/client/index.js'
import { toFetchHandler } from '../adapters/fetch.js'
import { listen } from '../adapters/http/index.js'
import { memoryStorage } from '../adapters/memory.js'
import { ApiError, createStore, type Pets, type Policy, type Store } from '../src/index.js'

const NOW = Date.UTC(2030, 0, 1)
const LIMITS = { perMinute: 1_000_000, perDay: 1_000_000 }

test('swap - one program runs in process, through fetch and over a socket', async () => {
  const expected = await program(createPets())
  assert.equal(expected.length, 47)

  const store = createPets()
  const serve = toFetchHandler(store)
  const fetch: typeof globalThis.fetch = (input, init) => serve(new Request(input, init))
  const remote = { baseUrl: 'http://store.test/v1', apiKey: 'key' }
  assert.deepEqual(await program(createClient({ ...remote, fetch })), expected)

  await using server = await listen(createPets(), { port: 0 })
  const overSocket = createClient({ ...remote, baseUrl: server.url })
  assert.deepEqual(await program(overSocket), expected)

  assert.deepEqual(await program(createPets().forKey('key')), expected)
})

test('swap - an invalid key is the same error in process and through fetch', async () => {
  const store = createPets()
  const serve = toFetchHandler(store)
  const remote = createClient({
    baseUrl: 'http://store.test/v1',
    apiKey: 'wrong',
    fetch: (input, init) => serve(new Request(input, init)),
  })
  for (const pets of [store.forKey('wrong'), remote]) {
    assert.equal(await outcome(pets.listPets()), 'unauthorized 401')
  }
})

test('swap - an exhausted limit is the same error, even before anything is sent', async () => {
  const failures = []
  for (const swap of [(store: Store) => store.forKey('key'), withoutWaiting]) {
    const pets = swap(createPets({ perMinute: 1, perDay: 10 }))
    await pets.listPets()
    const { code, status, rateLimit, retryAfter } = await failure(pets.listPets())
    failures.push({ code, status, rateLimit, retryAfter })
  }
  assert.equal(failures[0]?.retryAfter, 60)
  assert.deepEqual(failures[1], failures[0])

  function withoutWaiting(store: Store): Pets {
    const serve = toFetchHandler(store)
    const fetch: typeof globalThis.fetch = (input, init) => serve(new Request(input, init))
    const baseUrl = 'http://store.test/v1'
    return createClient({ baseUrl, apiKey: 'key', fetch, clock: () => NOW, maxWaitMs: 0 })
  }
})

function createPets(limits: Policy = LIMITS): Store {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { key: { id: 'key', plan: 'enterprise', limits } },
    clock: () => NOW,
  })
}

/** Runs on any implementation of the operations; returns the result or error code of each step. */
async function program(pets: Pets): Promise<readonly unknown[]> {
  const steps: (() => Promise<unknown>)[] = []
  for (const input of INPUTS) steps.push(() => pets.createPet(input as never))
  for (const query of QUERIES) steps.push(() => pets.listPets(query as never))
  for (const id of IDS) steps.push(() => pets.getPet(id as never))
  const results: unknown[] = []
  for (const step of steps) results.push(await outcome(step()))
  return results
}

const INPUTS = [
  { name: 'Rex', categoryId: 1 },
  { name: 'Rex', categoryId: 1, status: 'sold' },
  { name: 'Rex', categoryId: 1, status: undefined },
  { name: '', categoryId: -0, colour: 'brown', id: 7 },
  { name: 'é\u0000🐈\ud800', categoryId: 9_223_372_036_854_775_807n, status: 'pending' },
  { name: 'Rex', categoryId: -9_223_372_036_854_775_808n },
  { name: 'Rex', categoryId: 5n },
  { name: 'Rex', categoryId: 2n ** 63n },
  { name: 'Rex', categoryId: 2 ** 53 },
  { name: 'Rex', categoryId: 1.5 },
  { name: 'Rex', categoryId: Number.NaN },
  { name: 'Rex', categoryId: '1' },
  { name: 'Rex' },
  { name: 7, categoryId: 1 },
  { name: 'Rex', categoryId: 1, status: 'lost' },
  { name: 'Rex', categoryId: 1, status: null },
  {},
  [],
  null,
  undefined,
  'Rex',
]

const QUERIES = [
  undefined,
  {},
  { limit: 2 },
  { limit: 100, status: 'pending' },
  { status: 'available' },
  { status: undefined },
  { limit: 0 },
  { limit: 101 },
  { limit: 1.5 },
  { limit: -1 },
  { limit: Number.NaN },
  { limit: 1e21 },
  { status: 'lost' },
  { status: '' },
  { status: 'sold&limit=1' },
]

const IDS = [1, 5, 6, 99, 0, -1, 1.5, Number.NaN, 2 ** 53, 1n, 2n ** 64n]

async function outcome(step: Promise<unknown>): Promise<unknown> {
  try {
    return await step
  } catch {
    const { code, status } = await failure(step)
    return `${code} ${status}`
  }
}

async function failure(step: Promise<unknown>): Promise<ApiError> {
  const error = await step.catch((error: unknown) => error)
  assert.ok(error instanceof ApiError, String(error))
  return error
}
