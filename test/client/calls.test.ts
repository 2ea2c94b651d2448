import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  type ClientOptions,
  createClient,
  OptionError,
  QueueFullError,
  type Retrying,
  type Sending,
  type Wait,
} from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import { answering, createClientServer, hang, reset, T0 } from './client-server.js'

const BASE = { baseUrl: 'http://store.test/v1', apiKey: 'key' }

test('aborting - a call leaves the queue at once and makes room', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 1, maxQueued: 5, timeout: 5_000 })
  faults.push(hang)
  const first = pets.createPet({ name: 'Rex', categoryId: 1 }).catch(() => {})
  const stop = new AbortController()
  const calls = Array.from({ length: 5 }, () => pets.listPets({}, { signal: stop.signal }))
  const outcomes = Promise.allSettled(calls)
  await assert.rejects(pets.listPets(), QueueFullError)
  stop.abort('stopped')
  for (const outcome of await outcomes) {
    assert.deepEqual(outcome, { status: 'rejected', reason: 'stopped' })
  }
  const next = pets.listPets()
  await time.run(first)
  await time.run(next)
  assert.deepEqual(seen, ['POST - +0', 'GET 200 +5000'])
})

test('aborting - one signal for many calls: no warning, and all leave at once', async () => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  const { signal } = new AbortController()
  const pets = createClient({ ...BASE, maxQueued: 50_000, fetch: async () => new Response('[]') })
  const calls = Array.from({ length: 2_000 }, () => pets.listPets({}, { signal }))
  const stop = new AbortController()
  const stopped = Array.from({ length: 5_000 }, () => pets.listPets({}, { signal: stop.signal }))
  const reasons = Promise.allSettled(stopped)
  // Node 20 does not warn of them, but searches all of them to remove one.
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
  stop.abort()
  assert.ok((await reasons).every(({ status }) => status === 'rejected'))
  await Promise.all(calls)
  process.off('warning', warn)
  assert.deepEqual(warnings, [])
})

test('aborting - no kind of call leaves a listener or memory on a signal', async () => {
  const { signal } = new AbortController()
  const { client, store, faults, time } = createClientServer({ perMinute: 9_999, perDay: 9_999 })
  const pets = client({ maxRetries: 1, timeout: 5_000 })
  await store.createPet({ name: 'Rex', categoryId: 1 }, { signal })
  const kinds: Record<string, () => Promise<unknown>> = {
    read: () => pets.listPets({}, { signal }),
    create: () => pets.createPet({ name: 'Rex', categoryId: 1 }, { signal }),
    'every page': async () => {
      for await (const _ of pets.all({}, { signal }));
    },
    failed: () => pets.getPet(404, { signal }).catch(() => {}),
    'in the store': () => store.createPet({ name: 'Rex', categoryId: 1 }, { signal }),
    ...Object.fromEntries(
      [answering(500), answering(429, { 'retry-after': '1' }), reset, hang].map((fault, n) => [
        `retried ${n}`,
        () => {
          faults.push(fault)
          return pets.listPets({}, { signal })
        },
      ]),
    ),
  }
  for (const [kind, call] of Object.entries(kinds)) {
    await time.run(call())
    assert.equal(getEventListeners(signal, 'abort').length, 0, kind)
    assert.equal(dependentsOf(signal), 0, kind)
  }
})

test('hooks - onRequest, onWait and onRetry see every attempt and every wait', async () => {
  const { client, faults, time } = createClientServer({ perMinute: 2, perDay: 1_000 })
  const events: unknown[] = []
  const pets = client({
    onRequest: ({ method, attempt }: Sending) => events.push(`${method} ${attempt}`),
    onWait: ({ reason, until, waitMs }: Wait) => events.push(`${reason} ${until - T0} ${waitMs}`),
    onRetry: ({ attempt, error, waitMs }: Retrying) =>
      events.push(`retry after ${attempt}: ${error.name} ${waitMs}`),
  })
  faults.push(answering(503, { 'retry-after': '3' }))
  await time.run(pets.listPets())
  assert.deepEqual(events.splice(0), [
    'GET 1',
    'retry after 1: ApiError 3650',
    'retry 3650 3650',
    'GET 2',
  ])
  await time.run(Promise.all([pets.listPets(), pets.listPets()]))
  assert.deepEqual(events.splice(0), ['limit 60650 57000', 'GET 1', 'GET 1'])
  faults.push(answering(429, { 'retry-after': '5' }))
  await time.run(pets.listPets())
  assert.deepEqual(events.slice(1, 3), [
    'retry after 1: RateLimitError 5750',
    'rejected 66400 5750',
  ])
})

test('hooks - one that throws changes no call', async () => {
  const { client, faults, time } = createClientServer()
  const hook = () => {
    throw new Error('Not mine')
  }
  faults.push(answering(429, { 'retry-after': '5' }))
  const pets = client({ onRequest: hook, onWait: hook, onRetry: hook })
  assert.deepEqual(await time.run(pets.listPets()), [])
})

test('close - waiting and new calls fail, requests in flight end', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 1 })
  faults.push(async serve => {
    await time.sleep(1_000, {})
    return serve()
  })
  const inFlight = pets.listPets()
  const waiting = pets.listPets()
  const closing = pets.close()
  await assert.rejects(waiting, { name: 'ClosedError', message: 'The client is closed.' })
  assert.deepEqual(await time.run(inFlight), [])
  await closing
  await assert.rejects(pets.listPets(), { name: 'ClosedError' })
  await pets.close()
  assert.equal(seen.length, 1)
  assert.equal(time.sleeping, 0)
})

test('close - ends a backoff, and await using does the same', async () => {
  const { client, faults, time } = createClientServer()
  faults.push(answering(503, { 'retry-after': '60' }))
  let failed: Promise<void>
  {
    await using pets = client({ onRetry: () => void pets.close() })
    failed = assert.rejects(pets.listPets(), { name: 'ClosedError' })
    await failed
  }
  await time.run(failed)
  assert.equal(time.sleeping, 0)
})

test('all - every animal, page by page, where the server has pagination', async () => {
  for (const count of [0, 99, 100, 101, 250]) {
    const pets = await clientOf(count, true)
    const ids: number[] = []
    for await (const { id } of pets.all()) ids.push(id)
    assert.deepEqual(
      ids,
      Array.from({ length: count }, (_, n) => n + 1),
    )
  }
  const pets = await clientOf(250, true)
  const sold: number[] = []
  for await (const { id } of pets.all({ status: 'sold' })) sold.push(id)
  assert.deepEqual(
    sold,
    [5, 10, 15, 20, 25].flatMap((_, n) =>
      [5, 10, 15, 20, 25, 30, 35, 40, 45, 50].map(id => id + 50 * n),
    ),
  )
})

test('all - without pagination, up to a page is complete, and a full one is an error that claims no more', async () => {
  for (const count of [99, 100]) {
    const pets = await clientOf(count, false)
    const ids: number[] = []
    const read = (async () => {
      for await (const { id } of pets.all()) ids.push(id)
    })()
    const message = /lists 100 animals and has no pagination .*: there may be more\.$/
    if (count === 100) await assert.rejects(read, { name: 'ContractError', message })
    else await read
    assert.equal(ids.length, count)
  }
})

test('timeout - of one call', async () => {
  const { client, faults, time } = createClientServer()
  faults.push(hang)
  const pets = client({ maxRetries: 0 })
  const call = pets.listPets({}, { timeout: 250 })
  await assert.rejects(time.run(call), { message: /no response within 250 ms/ })
  assert.equal(time.clock() - T0, 250)
  await assert.rejects(pets.listPets({}, { timeout: 0 }), OptionError)
})

test('sleep - that of node:timers/promises works as it is, and wrapped', async () => {
  for (const sleep of [
    setTimeout,
    ((ms, options) => setTimeout(ms, undefined, options)) satisfies ClientOptions['sleep'],
  ]) {
    const { client, faults } = createClientServer()
    faults.push(answering(429, { 'retry-after': '0' }))
    const pets = client({ sleep: (_, options) => sleep(1, options as never), timeout: 1_000_000 })
    assert.deepEqual(await pets.listPets(), [])
  }
})

test('clock - Date.now is looked up late: fake timers work', async t => {
  const { fetch, faults, seen } = createClientServer()
  const pets = createClient({ ...BASE, fetch, random: () => 0 })
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: T0 })
  faults.push(answering(429, { 'retry-after': '50' }))
  const call = pets.listPets()
  for (let turn = 0; turn < 200 && seen.length < 2; turn++) {
    await new Promise(resolve => setImmediate(resolve))
    t.mock.timers.tick(1_000)
  }
  assert.deepEqual(await call, [])
})

test('client - null and invalid call options are refused by name', async () => {
  const fetch = () => Promise.resolve(Response.json([]))
  const client = createClient({ ...BASE, fetch })
  const all = (...given: unknown[]) =>
    client
      .all(...(given as []))
      [Symbol.asyncIterator]()
      .next()
  const list = (...given: unknown[]) => client.listPets(...(given as []))
  for (const [call, message] of [
    [() => list(null), /^Expected `query` to be an object, got null$/],
    [() => all(null), /^Expected `query` to be an object, got null$/],
    [() => list({}, null), /^Expected `options` to be an object, got null$/],
    [() => list({}, { signal: 5 }), /^Expected `signal` to be an AbortSignal, got 5$/],
  ] as const) {
    await assert.rejects(call, { name: 'OptionError', message })
  }
})

/** Signals that follow this one: `AbortSignal.any` keeps them for as long as it lives. */
function dependentsOf(signal: AbortSignal): number {
  const name = Object.getOwnPropertySymbols(signal).find(
    ({ description }) => description === 'kDependantSignals',
  )
  return name ? ((signal as never)[name] as Set<unknown>).size : 0
}

/** A client of a store with so many animals, every fifth of them sold. */
async function clientOf(count: number, pagination: boolean) {
  const limits = { perMinute: 1_000, perDay: 1_000 }
  const apiKeys = { key: { id: 'key', plan: 'enterprise' as const, limits } }
  const store = createStore({ storage: memoryStorage(), apiKeys, pagination })
  for (let n = 1; n <= count; n++) {
    await store.createPet({
      name: `Pet ${n}`,
      categoryId: 1,
      status: n % 5 === 0 ? 'sold' : 'pending',
    })
  }
  const serve = toFetchHandler(store)
  return createClient({ ...BASE, fetch: (input, init) => serve(new Request(input, init)) })
}
