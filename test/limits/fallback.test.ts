import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { memoryRateLimitStore, memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type Decision, type RateLimitStore } from '../../src/index.js'
import { T0 } from './rate-limit-vectors.js'

/** The time limit of these tests, in ms, and one more in which answers are read. */
const TIMEOUT = 40
const LIMIT = TIMEOUT + 1
const RETRY = 500
const KEYS = { a: { id: 'a', plan: 'free' }, b: { id: 'b', plan: 'free' } } as const

test('circuit breaker - a late answer ends its wait, and then nobody waits', async t => {
  const { remote, left, pass, errors } = open(t)
  remote.hang()
  const waiting = [left('a'), left('b'), left('a')]
  await pass(LIMIT - 1)
  assert.deepEqual(errors, [])
  await pass(1)
  assert.deepEqual(await Promise.all(waiting), [59, 59, 58])
  assert.deepEqual(errors, Array(3).fill('The rate limit store did not answer within 40 ms'))
  assert.deepEqual([await left('a'), await left('b'), remote.asked], [57, 58, 3])
})

test('circuit breaker - a process that stalls does not mistake its own delay for an outage', async t => {
  const { remote, left, stall, errors } = open(t)
  remote.hang()
  const waiting = left('a')
  await stall(60_000)
  remote.recover()
  assert.equal(await waiting, 59)
  assert.deepEqual(errors, [])
  assert.equal(await left('a'), 58)
})

test('circuit breaker - one request every 500 ms asks whether the server is back, and waits for nothing', async t => {
  const { remote, left, pass, errors, recoveries } = open(t)
  remote.hang()
  const first = left('a')
  await pass(LIMIT)
  await first
  await pass(RETRY - 1)
  await left('a')
  assert.equal(remote.asked, 1)
  await pass(1)
  await Promise.all([left('a'), left('a')])
  assert.equal(remote.asked, 2)
  await pass(LIMIT)
  assert.equal(errors.length, 2, 'the retry is late too')

  await pass(RETRY)
  assert.equal(await left('a'), 55, 'still counted here')
  assert.equal(remote.asked, 3)
  remote.recover()
  await pass(0)
  assert.equal(recoveries(), 0)
  assert.equal(await left('a'), 56, 'the server has counted all three that reached it')
  assert.equal(await left('a'), 55)
  assert.equal(recoveries(), 1, 'at the first decision of the server')
  assert.equal(errors.length, 2)
})

test('circuit breaker - a retry that fails is tried again, and so is one that throws', async t => {
  const { remote, left, pass, errors } = open(t)
  remote.hang()
  void left('a')
  await pass(LIMIT)
  for (const fail of [() => Promise.reject(new Error('down')), thrower]) {
    remote.answer(fail)
    await pass(RETRY)
    await left('a')
    await pass(0)
    assert.equal(errors.at(-1), 'down')
  }
  remote.recover()
  await pass(RETRY)
  await left('a')
  await pass(0)
  assert.equal(await left('a'), 57, 'the server has counted the first and the last')
})

test('circuit breaker - a server that hangs does not affect the partitions of another', async t => {
  const { remote, left, pass } = open(t, partition => partition)
  remote.hang('a')
  const waiting = left('a')
  await pass(LIMIT)
  assert.equal(await waiting, 59)
  assert.deepEqual([await left('b'), await left('b'), await left('a')], [59, 58, 58])
  assert.equal(remote.asked, 3)
})

test('circuit breaker - counts kept in this process need none', async t => {
  const timers = t.mock.method(globalThis, 'setTimeout')
  const rateLimitStore = memoryRateLimitStore()
  const store = createStore({ storage: memoryStorage(), apiKeys: KEYS, rateLimitStore })
  const pets = store.forKey('a')
  for (let n = 0; n < 60; n++) await pets.listPets()
  await assert.rejects(pets.listPets(), { code: 'rate_limit_exceeded' })
  assert.equal(timers.mock.callCount(), 0)
})

test('circuit breaker - an answer in time leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const { rateLimitStore } = remoteLimits()
  const waits = { rateLimitStoreTimeout: 60_000 }
  const store = createStore({ storage: memoryStorage(), apiKeys: KEYS, rateLimitStore, ...waits })
  const before = timers()
  await store.forKey('a').listPets()
  await settled()
  assert.equal(timers(), before)
})

/** A store over a remote rate limit store, with its time in the hands of the test. */
function open(t: TestContext, serverOf?: (partition: string) => string) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { remote, rateLimitStore } = remoteLimits(serverOf)
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: KEYS,
    rateLimitStore,
    rateLimitStoreTimeout: TIMEOUT,
    clock: () => T0,
  })
  const errors: string[] = []
  let recoveries = 0
  store.events.on('ratelimit.degraded', ({ error }) => errors.push((error as Error).message))
  store.events.on('ratelimit.recovered', () => recoveries++)
  return { remote, errors, recoveries: () => recoveries, left, pass, stall }

  /** Sends a request, and resolves with X-RateLimit-Remaining. */
  async function left(key: 'a' | 'b'): Promise<number | undefined> {
    const pets = store.forKey(key)
    await pets.listPets()
    return pets.rateLimit?.remaining
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed++) await stall(1)
    await settled()
  }

  /** All timers that are due run in one turn of the loop. */
  async function stall(ms: number): Promise<void> {
    await settled()
    t.mock.timers.tick(ms)
  }
}

function remoteLimits(serverOf?: (partition: string) => string) {
  const table = memoryRateLimitStore()
  const waiting: (() => void)[] = []
  let hanging: (partition: string) => boolean = () => false
  let instead: (() => Promise<Decision>) | undefined
  const remote = {
    asked: 0,
    hang(only?: string): void {
      hanging = partition => only === undefined || partition === only
    },
    answer(reply: () => Promise<Decision>): void {
      hanging = () => false
      instead = reply
    },
    /** Answers what waits, and everything from now on. */
    recover(): void {
      hanging = () => false
      instead = undefined
      for (const answer of waiting.splice(0)) answer()
    },
  }
  const rateLimitStore: RateLimitStore = {
    ...table,
    ...(serverOf && { serverOf }),
    consume(...request) {
      remote.asked++
      if (instead) return instead()
      return new Promise(resolve => {
        const answer = () => resolve(table.consume(...request))
        if (hanging(request[0])) waiting.push(answer)
        else answer()
      })
    },
  }
  return { remote, rateLimitStore }
}

function thrower(): never {
  throw new Error('down')
}

/** Runs everything that is due without a timer. */
function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
