import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimitError } from '../../adapters/client/index.js'
import {
  answering,
  createClientServer,
  type Fault,
  hang,
  perMinute,
  reset,
  T0,
  windowHeaders,
} from './client-server.js'
import type { VirtualTime } from './virtual-time.js'

test('throttle - 300 calls at once on a Free key: no 429, in the shortest time there is', async () => {
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

test('throttle - stops at the limit of the day, and says until when', async () => {
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

test('throttle - what is on its way is counted as used', async () => {
  const { client, faults, time, seen } = createClientServer({ perMinute: 5, perDay: 1_000 })
  const pets = client()
  await time.run(pets.listPets())
  faults.push(...Array(8).fill(slow(time)))
  await time.run(outcomes(8, () => pets.listPets()))
  assert.deepEqual(perMinute(seen), [5, 4])
  assert.equal(rejected(seen), 0)
})

test('throttle - a request without an answer may have been counted', async () => {
  const { client, faults, time, seen } = createClientServer({ perMinute: 2, perDay: 1_000 })
  const pets = client({ maxConcurrent: 1, maxRetries: 0 })
  faults.push(undefined, reset)
  await time.run(outcomes(3, () => pets.listPets()))
  assert.deepEqual(perMinute(seen), [2, 1])
  assert.equal(rejected(seen), 0)
})

test('throttle - a refused key is tried one call at a time, and no longer than the address may', async () => {
  const { client, store, time, seen } = createClientServer()
  const pets = client()
  store.apiKeys.remove('key')
  const results = await time.run(outcomes(100, () => pets.listPets()))
  assert.ok(results.every(result => (result as { status: number }).status === 401))
  assert.deepEqual(perMinute(seen), [60, 40])
  assert.equal(rejected(seen), 0)
  // The limits of a 401 are those of the address.
  assert.equal(pets.rateLimit, undefined)
  store.apiKeys.add('key', { id: 'key', plan: 'free' })
  assert.deepEqual(await time.run(pets.listPets()), [])
})

test('throttle - a 429 stops every call of the key, and the wait is never shorter than asked for', async () => {
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

test('throttle - asked to wait longer than maxWait: fails at once, and nothing more is sent', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxWait: 120_000 })
  faults.push(answering(429, { 'retry-after': '121' }, rejection('rate_limit_exceeded')))
  const expected = { name: 'RateLimitError', retryAt: T0 + 121_000, retryAfter: 121, status: 429 }
  await assert.rejects(time.run(pets.listPets()), { ...expected, message: 'As the test says.' })
  await assert.rejects(time.run(pets.listPets()), {
    ...expected,
    message: /longer than `maxWait`/,
  })
  assert.equal(time.clock(), T0)
  assert.equal(seen.length, 1)
  faults.push(answering(429, { 'retry-after': '120' }))
  const other = client()
  assert.deepEqual(await time.run(other.listPets()), [])
})

test('throttle - a computer that slept does not sleep on: the clock is read once a minute', async () => {
  const { client, faults, time, seen } = createClientServer()
  let asleep = 0
  const clock = () => time.clock() + asleep
  const pets = client({ clock, maxWait: 3_600_000 })
  faults.push(answering(429, { 'retry-after': '1800' }))
  const call = pets.listPets()
  await time.run(time.sleep(1_000, {}))
  asleep = 3_600_000
  await time.run(call)
  assert.deepEqual(seen, ['GET 429 +0', 'GET 200 +60000'])
})

test('throttle - a ban rejects waiting and new calls until it ends, each with an error of its own', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 2 })
  for (const call of [pets.listPets, pets.listPets]) await time.run(call())
  const banned = answering(429, { 'retry-after': '300' }, rejection('api_key_banned'))
  // The others wait for the first, which was asked to, when the second is banned.
  faults.push(slow(time, answering(429, { 'retry-after': '60' })), slow(time, banned, 100))
  const calls = outcomes(6, () => pets.listPets())
  const errors = await time.run(calls)
  assert.equal(time.clock(), T0)
  assert.equal(seen.length, 4)
  assert.ok(errors.every(error => (error as Error).name === 'ApiKeyBannedError'))
  assert.equal(new Set(errors).size, 6)

  await time.run(time.sleep(100_500, {}))
  await assert.rejects(time.run(pets.createPet({ name: 'Rex', categoryId: 1 })), {
    name: 'ApiKeyBannedError',
    code: 'api_key_banned',
    retryAt: T0 + 300_000,
    retryAfter: 200,
    message: 'As the test says.',
  })
  assert.equal(seen.length, 4)
  await time.run(time.sleep(199_500, {}))
  assert.deepEqual(await time.run(pets.listPets()), [])
})

test('throttle - with waitForBan, calls wait until the ban ends, beyond maxWait', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ waitForBan: true, maxWait: 1_000, maxRetries: 0 })
  faults.push(answering(429, { 'retry-after': '300' }, rejection('api_key_banned')))
  const calls = Array.from({ length: 3 }, () => pets.listPets())
  assert.deepEqual(await time.run(Promise.all(calls)), [[], [], []])
  const wait = 300_000 + 0.5 * 30_000
  assert.deepEqual(seen, ['GET 429 +0', ...Array(3).fill(`GET 200 +${wait}`)])
})

test('throttle - finds out with one request that others have exhausted the key', async () => {
  const { client, time, store, seen } = createClientServer()
  const other = store.forKey('key')
  for (let n = 0; n < 60; n++) await other.listPets()
  const banned: unknown[] = []
  store.events.on('key.banned', event => banned.push(event))
  const pets = client()
  await time.run(Promise.all(Array.from({ length: 100 }, () => pets.listPets())))
  assert.deepEqual(banned, [])
  assert.equal(rejected(seen), 1)
})

test('throttle - a 429 that others caused does not count as a retry while calls still succeed', async () => {
  const { client, faults, time, seen } = createClientServer()
  const exhausted = { ...windowHeaders(60, 0), 'retry-after': '1' }
  const fault = answering(429, exhausted, rejection('rate_limit_exceeded'))
  for (let n = 0; n < 4; n++) faults.push(undefined, fault)
  const pets = client({ maxRetries: 0 })
  await time.run(Promise.all(Array.from({ length: 6 }, () => pets.listPets())))
  assert.equal(rejected(seen), 4)
})

test('throttle - gives up on a server that rejects everything', async () => {
  const { client, faults, time, seen } = createClientServer()
  const headers = { 'retry-after': '1', ...windowHeaders(1, 0) }
  faults.push(...Array(50).fill(answering(429, headers, rejection('rate_limit_exceeded'))))
  await assert.rejects(time.run(client().listPets()), { name: 'RateLimitError' })
  assert.equal(seen.length, 5)
})

test('throttle - ten reads in a backoff hold no slot: a create is sent at once', async () => {
  const { client, faults, time } = createClientServer()
  const pets = client({ maxConcurrent: 10 })
  await time.run(pets.listPets())
  faults.push(...Array(10).fill(answering(503, { 'retry-after': '100' })))
  const reads = Promise.all(Array.from({ length: 10 }, () => pets.listPets()))
  const start = time.clock()
  await time.run(pets.createPet({ name: 'Rex', categoryId: 1 }))
  assert.equal(time.clock(), start)
  await time.run(reads)
  assert.equal(time.clock(), start + 100_000 + 5_500)
})

test('throttle - a response that takes long holds up the first requests for a second at most', async () => {
  const { client, faults, time, seen } = createClientServer()
  faults.push(hang)
  const pets = client({ maxRetries: 0, timeout: 10_000 })
  await time.run(Promise.allSettled([pets.listPets(), pets.listPets()]))
  assert.deepEqual(seen, ['GET - +0', 'GET 200 +1000'])
})

test('throttle - a clock wrong by up to a day makes no difference, also where Date is hidden', async () => {
  for (const hidden of [[], ['date']]) {
    for (const skew of [-86_400_000, -400_000, -30_000, 30_000, 400_000, 86_400_000]) {
      const limits = { perMinute: 5, perDay: 1_000 }
      const { client, fetch, time, seen } = createClientServer(limits, () => skew)
      const pets = client({ fetch: hiding(fetch, hidden) })
      await time.run(Promise.all(Array.from({ length: 20 }, () => pets.listPets())))
      const what = `${hidden} ${skew}: ${seen}`
      assert.ok(rejected(seen) <= 4, what)
      assert.ok(time.clock() - T0 <= 4 * 66_000, what)
    }
  }
})

test('throttle - a server without limits gets all requests at once', async () => {
  const { client, faults, time, seen } = createClientServer()
  const unlimited: Fault = async () => new Response('[]')
  faults.push(...Array(25).fill(slow(time, unlimited, 5)))
  const pets = client()
  await time.run(pets.listPets())
  await time.run(Promise.all(Array.from({ length: 24 }, () => pets.listPets())))
  assert.ok(seen.every(line => line === 'GET 200 +0'))
})

test('throttle - a turn ends with its request, however that ends', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 1, maxRetries: 0, maxResponseBytes: 10, timeout: 1_000 })
  const stop = new AbortController()
  const stopping: Fault = () => {
    stop.abort('stopped')
    return new Promise(() => {})
  }
  const redirect = answering(302, { location: '/' })
  const page = answering(200, {}, 'more than ten bytes')
  for (const fault of [redirect, page, answering(500), answering(404), reset, hang, stopping]) {
    faults.push(fault)
    await assert.rejects(time.run(pets.listPets({}, { signal: stop.signal })))
    assert.deepEqual(await time.run(pets.listPets()), [])
  }
  assert.equal(seen.length, 14)
})

test('throttle - retries go first, in the order in which they failed', async () => {
  const { fetch, faults, time, client } = createClientServer()
  const order: string[] = []
  const pets = client({
    maxConcurrent: 3,
    fetch: (input, init) => {
      order.push(String(input).split('=')[1] ?? '')
      return fetch(input, init)
    },
  })
  await time.run(Promise.all([1, 2, 3].map(limit => pets.listPets({ limit }))))
  const fault = answering(429, { 'retry-after': '5', ...windowHeaders(60, 0) })
  faults.push(slow(time, fault), slow(time, fault), slow(time, fault))
  await time.run(Promise.all([4, 5, 6, 7, 8].map(limit => pets.listPets({ limit }))))
  assert.deepEqual(order, '123456456'.split('').concat('7', '8'))
})

test('throttle - gives up after maxRetries, with the last error', async () => {
  const { client, faults, time, seen } = createClientServer()
  faults.push(...Array(9).fill(answering(503)))
  const failure = { name: 'ApiError', code: 'storage_unavailable', status: 503 }
  await assert.rejects(time.run(client().listPets()), failure)
  assert.equal(seen.length, 4)
  await assert.rejects(time.run(client({ maxRetries: 0 }).listPets()), failure)
  assert.equal(seen.length, 5)
})

/** Results and errors of concurrent calls. */
function outcomes<T>(count: number, call: () => Promise<T>): Promise<unknown[]> {
  return Promise.all(Array.from({ length: count }, () => call().catch((error: unknown) => error)))
}

function rejection(code: string): string {
  return JSON.stringify({ code, message: 'As the test says.', status: 429 })
}

/** As a browser hides headers that the server does not expose. */
function hiding(fetch: typeof globalThis.fetch, names: readonly string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    for (const name of names) response.headers.delete(name)
    return response
  }
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
