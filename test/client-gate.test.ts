import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGate } from '../adapters/client/gate.js'
import {
  ApiKeyBannedError,
  type Client,
  ConnectionError,
  RateLimitError,
} from '../adapters/client/index.js'
import {
  answering,
  createClientServer,
  type Fault,
  hang,
  reset,
  T0,
} from './support/client-server.js'
import { createVirtualTime, type VirtualTime } from './support/virtual-time.js'

test('gate - 300 calls at once on a Free key: no 429, in the shortest time there is', async () => {
  const { client, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 10 })
  const calls = Array.from({ length: 300 }, (_, n) =>
    n % 3 === 0 ? pets.createPet({ name: `Pet ${n}`, categoryId: n }) : pets.listPets(),
  )
  await time.run(Promise.all(calls))
  assert.equal(rejected(seen), 0)
  assert.equal(seen.length, 300)
  assert.deepEqual(perMinute(seen), [60, 60, 60, 60, 60])
})

test('gate - stops at the limit of the day, and says until when', async () => {
  const { client, time, seen } = createClientServer({ perMinute: 60, perDay: 70 })
  const pets = client()
  const results = await time.run(outcomes(80, () => pets.listPets()))
  const errors = results.filter(result => result instanceof RateLimitError)
  assert.equal(errors.length, 10)
  for (const { code, status, retryAt, rateLimit, retryAfter } of errors) {
    assert.deepEqual([code, status, retryAt], ['rate_limit_exceeded', 429, T0 + 86_400_000])
    assert.equal(rateLimit?.limit, 70)
    assert.equal(retryAfter, (retryAt - time.clock()) / 1000)
  }
  assert.equal(seen.length, 70)
})

test('gate - answers out of order: the least that is left counts, a later window replaces', async () => {
  const { clock, sleep, run } = createVirtualTime(T0)
  const gate = createGate({ clock, sleep, maxWaitMs: 120_000 })
  const enter = () => gate.enter(0, undefined)
  const leave = (remaining: number, seconds: number) => {
    const reset = T0 / 1000 + seconds
    gate.leave({ rateLimit: { limit: 60, remaining, reset }, sentAt: clock() })
  }
  await Promise.all([enter(), enter(), enter(), enter(), enter()])
  leave(1, 60)
  leave(5, 60)
  leave(9, 0)
  leave(1, 60)
  leave(5, 60)
  await enter()
  assert.equal(clock(), T0)
  await run(enter())
  assert.equal(clock(), T0 + 60_000)
  leave(0, 60)
  leave(1, 120)
  await enter()
  await run(enter())
  assert.equal(clock(), T0 + 120_000)
})

test('gate - what is on its way is counted as used', async () => {
  const { client, faults, time, seen } = createClientServer({ perMinute: 5, perDay: 1_000 })
  const pets = client()
  await time.run(pets.listPets())
  faults.push(...Array(8).fill(slow(time)))
  await time.run(outcomes(8, () => pets.listPets()))
  assert.deepEqual(perMinute(seen), [5, 4])
  assert.equal(rejected(seen), 0)
})

test('gate - a request without an answer may have been counted', async () => {
  const { client, faults, time, seen } = createClientServer({ perMinute: 2, perDay: 1_000 })
  const pets = client({ maxConcurrent: 1, maxRetries: 0 })
  faults.push(undefined, reset)
  await time.run(outcomes(3, () => pets.listPets()))
  assert.deepEqual(perMinute(seen), [2, 1])
  assert.equal(rejected(seen), 0)
})

test('gate - a clock that is wrong by minutes makes no difference', async () => {
  for (const skew of [-400_000, 400_000, 86_400_000]) {
    const { client, time, seen } = createClientServer({ perMinute: 5, perDay: 1_000 }, skew)
    const pets = client({ maxConcurrent: 2 })
    await time.run(Promise.all(Array.from({ length: 20 }, () => pets.listPets())))
    assert.equal(seen.length, 20, `${seen}`)
    assert.ok(time.clock() - T0 <= 240_000)
  }
})

test('gate - a 429 stops every call of the key, and the wait is never shorter than told', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 2, random: () => 0.5 })
  faults.push(answering(429, { 'retry-after': '50' }))
  await time.run(Promise.all(Array.from({ length: 4 }, () => pets.listPets())))
  assert.deepEqual(seen, [
    'GET 429 +0',
    'GET 200 +53000',
    'GET 200 +53000',
    'GET 200 +53000',
    'GET 200 +53000',
  ])
})

test('gate - told to wait longer than maxWaitMs: fails at once, and nothing more is sent', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxWaitMs: 120_000 })
  faults.push(answering(429, { 'retry-after': '121' }, rejection('rate_limit_exceeded')))
  const told = { name: 'RateLimitError', retryAt: T0 + 121_000, retryAfter: 121, status: 429 }
  await assert.rejects(time.run(pets.listPets()), { ...told, message: 'As the test says.' })
  await assert.rejects(time.run(pets.listPets()), { ...told, message: /longer than `maxWaitMs`/ })
  assert.equal(time.clock(), T0)
  assert.equal(seen.length, 1)
  faults.push(answering(429, { 'retry-after': '120' }))
  const other = client()
  assert.deepEqual(await time.run(other.listPets()), [])
})

test('gate - a ban rejects whoever waits and whoever comes, until it ends', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 2 })
  const banned = answering(429, { 'retry-after': '300' }, rejection('api_key_banned'))
  // The others wait for the first, which was told to, when the second is banned.
  faults.push(slow(time, answering(429, { 'retry-after': '60' })), slow(time, banned, 100))
  const errors = await time.run(outcomes(6, () => pets.listPets()))
  assert.equal(time.clock(), T0)
  assert.ok(errors.every(error => error instanceof ApiKeyBannedError))
  const sent = seen.length
  assert.equal(sent, 2)
  await assert.rejects(time.run(pets.createPet({ name: 'Rex', categoryId: 1 })), {
    name: 'ApiKeyBannedError',
    code: 'api_key_banned',
    retryAt: T0 + 300_000,
    message: 'As the test says.',
  })
  assert.equal(seen.length, sent)

  await time.run(time.sleep(300_000, new AbortController().signal))
  assert.deepEqual(await time.run(pets.listPets()), [])
})

test('gate - a client alone cannot be banned, even when others use up its key', async () => {
  const { client, time, store, seen, faults } = createClientServer()
  const other = store.forKey('key')
  for (let n = 0; n < 60; n++) await other.listPets()
  const banned: unknown[] = []
  store.events.on('key.banned', event => banned.push(event))
  const pets = client()
  faults.push(...Array(10).fill(slow(time)))
  await time.run(Promise.all(Array.from({ length: 100 }, () => pets.listPets())))
  assert.deepEqual(banned, [])
  assert.equal(rejected(seen), 10)
})

test('gate - a POST is retried after a 429, and after nothing else', async () => {
  const { client, faults, time, seen, store } = createClientServer()
  const add = (pets: Client) => time.run(pets.createPet({ name: 'Rex', categoryId: 1 }))
  faults.push(answering(429, { 'retry-after': '1' }))
  assert.equal((await add(client())).id, 1)
  for (const fault of [answering(503, { 'retry-after': '1' }), answering(500), answering(502)]) {
    faults.push(fault)
    await assert.rejects(add(client()), { name: 'ApiError' })
  }
  for (const fault of [reset, hang]) {
    faults.push(fault)
    await assert.rejects(add(client()), ConnectionError)
  }
  assert.equal(seen.length, 2 + 3 + 2)
  // The reset lost the answer, and not the animal.
  assert.equal((await store.listPets()).length, 2)
})

test('gate - gives up after maxRetries, with what was said last', async () => {
  const { client, faults, time, seen } = createClientServer()
  faults.push(...Array(9).fill(answering(503)))
  const failure = { name: 'ApiError', code: 'storage_unavailable', status: 503 }
  await assert.rejects(time.run(client().listPets()), failure)
  assert.equal(seen.length, 4)
  await assert.rejects(time.run(client({ maxRetries: 0 }).listPets()), failure)
  assert.equal(seen.length, 5)
})

/** What each of some calls at once brings, or what it throws. */
function outcomes<T>(count: number, call: () => Promise<T>): Promise<unknown[]> {
  return Promise.all(Array.from({ length: count }, () => call().catch((error: unknown) => error)))
}

function perMinute(seen: readonly string[]): number[] {
  const counts: number[] = []
  for (const line of seen) {
    const minute = Math.floor(Number(line.split('+')[1]) / 60_000)
    counts[minute] = (counts[minute] ?? 0) + 1
  }
  return counts
}

function rejection(code: string): string {
  return JSON.stringify({ code, message: 'As the test says.', status: 429 })
}

function rejected(seen: readonly string[]): number {
  return seen.filter(line => line.includes(' 429 ')).length
}

/** Answers only after others had the time to be sent as well. */
function slow(time: VirtualTime, answer: Fault = serve => serve(), turns = 50): Fault {
  return (serve, request) =>
    time.hold(async () => {
      for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setTimeout(resolve))
      return answer(serve, request)
    })
}
