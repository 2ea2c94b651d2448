import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientOptions, ClientSnapshot } from '../../adapters/client/index.js'
import { randomFrom } from '../test-double/clients/api.js'
import { answering, createClientServer, type Fault, hang, reset } from './client-server.js'

const REX = { name: 'Rex', categoryId: 1 }

test('idempotency - a create is stored once, whatever happens to its responses', async () => {
  const { client, faults, time, store } = createServer()
  const pets = client({ maxConcurrent: 4, timeout: 1_000 })
  const random = randomFrom(1)
  const kinds = [undefined, reset, hang, lost, answering(500), answering(503), answering(408)]
  for (let n = 0; n < 400; n++) faults.push(kinds[Math.floor(random() * kinds.length)])
  const calls = Array.from({ length: 100 }, (_, n) =>
    pets.createPet({ name: `Pet ${n}`, categoryId: n }),
  )
  const created = await time.run(Promise.all(calls))
  assert.ok(faults.length < 200, `${faults.length} faults were left`)
  assert.deepEqual(
    created.map(({ name }) => name),
    calls.map((_, n) => `Pet ${n}`),
  )
  const stored = await store.listPets({ limit: 100 })
  assert.deepEqual(
    [...stored].sort((a, b) => a.id - b.id),
    created.toSorted((a, b) => a.id - b.id),
  )
  assert.equal(pets.snapshot().creates.length, 0)
})

test('idempotency - every attempt of a create has one key, every create another', async () => {
  const { client, faults, time, keys } = createServer()
  const [first, second] = [client(), client()]
  faults.push(reset, answering(429, { 'retry-after': '1' }))
  await time.run(first.createPet(REX))
  await time.run(first.createPet(REX))
  await time.run(second.createPet(REX))
  const [a, b, c] = [...new Set(keys)] as [string, string, string]
  assert.deepEqual(keys, [a, a, a, b, c])
  for (const key of keys) assert.match(String(key), /^"[0-9a-f]{32}-\d+"$/)
})

test('idempotency - processes with one Math.random, as clones and mocks have it, share no key', async t => {
  for (const crypto of [globalThis.crypto, undefined]) {
    const { client, time, store } = createServer()
    t.mock.method(Math, 'random', () => 0.5)
    // Where there is no `crypto`, as in React Native, the time tells them apart.
    t.mock.getter(globalThis, 'crypto', () => crypto)
    for (const clock of [time.clock, () => time.clock() + 1]) {
      await time.run(client({ random: undefined, clock }).createPet(REX))
    }
    assert.equal((await store.listPets()).length, 2)
    t.mock.restoreAll()
  }
})

test('idempotency - a key of the caller names the create in every process', async () => {
  const { client, faults, time, keys, store } = createServer()
  const idempotencyKey = 'order "7" \\ 8'
  const call = () => client({ idempotency: false }).createPet(REX, { idempotencyKey })
  faults.push(reset)
  assert.deepEqual(await time.run(call()), await time.run(call()))
  assert.deepEqual([...new Set(keys)], ['"order \\"7\\" \\\\ 8"'])
  assert.equal((await store.listPets()).length, 1)
  await assert.rejects(
    time.run(client().createPet({ ...REX, name: 'Bella' }, { idempotencyKey })),
    { name: 'ApiError', code: 'idempotency_key_reused', status: 422 },
  )
  for (const wrong of ['', 'é', 'a\n', 'a'.repeat(256), 7]) {
    await assert.rejects(client().createPet(REX, { idempotencyKey: wrong as string }), {
      name: 'OptionError',
      option: 'idempotencyKey',
    })
  }
})

test('idempotency - a snapshot sends what had no response again, from a later process', async () => {
  const { client, faults, time, store } = createServer()
  const pets = client({ maxConcurrent: 2 })
  faults.push(lost, hang)
  const categoryId = 9_007_199_254_740_993n
  const calls = Array.from({ length: 5 }, (_, n) =>
    pets.createPet({ name: `Pet ${n}`, categoryId }).catch(() => {}),
  )
  void calls
  await time.run(time.sleep(900, {}))
  const saved: ClientSnapshot = JSON.parse(JSON.stringify(pets.snapshot()))
  assert.equal(saved.creates.length, 5)
  // The process ends here: its calls never hear of it.
  const results = await time.run(client({ random: () => 0.25 }).restore(saved))
  assert.deepEqual(
    results.map(result => result.status === 'fulfilled' && result.value.name),
    ['Pet 0', 'Pet 1', 'Pet 2', 'Pet 3', 'Pet 4'],
  )
  const stored = await store.listPets()
  assert.equal(stored.length, 5)
  assert.ok(stored.every(pet => BigInt(pet.categoryId) === categoryId))
})

/** The operation takes place, and there is never a response. */
const lost: Fault = async serve => {
  await serve()
  return new Promise(() => {})
}

function createServer() {
  const idempotency = { ttl: 86_400_000 }
  const limits = { perMinute: 1_000, perDay: 100_000 }
  const server = createClientServer(limits, undefined, { idempotency })
  const random = randomFrom(7)
  const keys: (string | null)[] = []
  const fetch: typeof globalThis.fetch = (input, init) => {
    keys.push(new Headers(init?.headers).get('idempotency-key'))
    return server.fetch(input, init)
  }
  const client = (options: Partial<ClientOptions> = {}) =>
    server.client({ fetch, random, idempotency: true, maxRetries: 10, ...options })
  return { ...server, keys, client }
}
