import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ApiError,
  ConnectionError,
  ContractError,
  createClient,
} from '../../adapters/client/index.js'
import { until } from '../support/waiting.js'
import { answering, createClientServer, hang, T0 } from './client-server.js'

test('client - the three operations, and the rate limit last seen', async () => {
  const { client, time } = createClientServer()
  const pets = client()
  assert.equal(pets.rateLimit, undefined)
  const rex = { id: 1, name: 'Rex', categoryId: 7, status: 'sold' }
  assert.deepEqual(
    await time.run(pets.createPet({ name: 'Rex', categoryId: 7, status: 'sold' })),
    rex,
  )
  assert.deepEqual(await time.run(pets.listPets({ limit: 5, status: 'sold' })), [rex])
  assert.deepEqual(await time.run(pets.listPets({ status: 'pending' })), [])
  assert.deepEqual(await time.run(pets.getPet(1)), rex)
  assert.deepEqual(pets.rateLimit, { limit: 60, remaining: 56, reset: T0 / 1000 + 60 })
})

test('client - an ApiError has code, status, message and rate limit', async () => {
  const { client } = createClientServer()
  const error = await rejects(client().getPet(9), ApiError, { code: 'not_found', status: 404 })
  assert.equal(error.message, 'There is no pet with this id.')
  assert.deepEqual(error.rateLimit, { limit: 60, remaining: 59, reset: T0 / 1000 + 60 })
  await rejects(client({ apiKey: 'wrong' }).listPets(), ApiError, { code: 'unauthorized' })
})

test('client - a code or a body that nobody knows becomes the code of its status', async () => {
  const { client, faults } = createClientServer()
  const foreign = '{"code":"PET_NOT_FOUND","message":"No pet","status":404}'
  faults.push(answering(404, {}, foreign), answering(413, {}, '<html>'), answering(418))
  await rejects(client().getPet(1), ApiError, { code: 'not_found', message: 'No pet' })
  const tooLarge = { code: 'payload_too_large', message: /^The server answered 413/ }
  await rejects(client().getPet(1), ApiError, tooLarge)
  await rejects(client().getPet(1), ApiError, { code: 'invalid_request', status: 418 })
})

test('client - an answer that breaks the contract says where', async () => {
  const { client, faults } = createClientServer()
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      '[{"id":1,"name":"Rex"}]',
      /GET http:.*\/pets breaks the contract: `0.categoryId` is required/,
    ],
    ['[{"id":0,"name":"Rex","categoryId":1}]', /`0.id` must be a positive integer/],
    ['[{"id":1,"name":"Rex","categoryId":1,"status":"lost"}]', /`0.status` must be one of/],
    ['[{"id":1,"name":7,"categoryId":9223372036854775808}]', /`0.name` .*; `0.categoryId` /],
    ['{}', /The body must be a JSON array/],
    ['<html>', /is not JSON/],
    ['', /is not JSON/],
  ]
  for (const [body, message] of cases) {
    faults.push(answering(200, {}, body))
    await rejects(client().listPets(), ContractError, { message })
  }
})

test('client - an answer that does not come in time is a ConnectionError', async () => {
  const { client, faults, time, seen } = createClientServer()
  faults.push(hang)
  const call = client({ timeout: 5_000 }).createPet({ name: 'Rex', categoryId: 1 })
  const error = await rejects(time.run(call), ConnectionError)
  assert.match(
    error.message,
    /^POST http:\/\/store\.test\/v1\/pets failed: no response within 5000 ms\./,
  )
  assert.equal(error.mayHaveTakenEffect, true)
  assert.equal(time.clock() - T0, 5_000)
  assert.deepEqual(seen, ['POST - +0'])
  assert.equal(time.sleeping, 0)
})

test('client - a signal ends a call on its way, in a wait and in the queue', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ maxConcurrent: 1 })
  faults.push(hang)
  const stops = [1, 2, 3].map(() => new AbortController())
  const calls = stops.map(({ signal }) => pets.listPets({}, { signal }))
  const reasons = calls.map(call => call.catch((error: unknown) => error))
  await until(() => seen.length === 1)
  for (const n of [2, 0, 1] as const) {
    if (n === 1) await until(() => seen.length === 2)
    stops[n]?.abort(`stopped ${n}`)
    assert.equal(await reasons[n], `stopped ${n}`)
    faults.push(hang)
  }
  assert.equal(time.sleeping, 0)
  assert.equal(seen.length, 2)

  faults.splice(0, faults.length, answering(429, { 'retry-after': '60' }))
  const waiting = new AbortController()
  const call = pets.listPets({}, { signal: waiting.signal }).catch((error: unknown) => error)
  await until(() => time.sleeping === 1 && seen.length === 3)
  waiting.abort('stopped while it waited')
  assert.equal(await call, 'stopped while it waited')
  assert.equal(time.sleeping, 0)

  const early = pets.listPets({}, { signal: AbortSignal.abort('before') })
  assert.equal(await early.catch((error: unknown) => error), 'before')
  assert.equal(seen.length, 3)
})

test('client - options that are not right are named, the API key never shown', () => {
  const good = { baseUrl: 'http://store.test/v1', apiKey: 'key' }
  const refused = (options: object, message: RegExp) =>
    assert.throws(() => createClient({ ...good, ...options }), { name: 'OptionError', message })
  refused({ baseUrl: 'http://me:secret@store.test' }, /Expected `baseUrl` .*, got a string$/)
  refused({ maxConcurrent: 0 }, /`maxConcurrent` to be an integer of at least 1, got 0/)
  refused({ retries: 3 }, /^Unknown option `retries`; expected one of maxRetries, /)
  refused(
    { apiKey: 'secret\n' },
    /^Expected `apiKey` to be printable ASCII without spaces, got a string$/,
  )
  refused({ apiKey: undefined }, /`apiKey`/)
})

async function rejects<E extends Error>(
  promise: Promise<unknown>,
  kind: abstract new (...values: never[]) => E,
  expected: Readonly<Record<string, unknown>> = {},
): Promise<E> {
  const error = await promise.then(
    () => assert.fail('Expected a rejection'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof kind, String(error))
  if (Object.keys(expected).length > 0) await assert.rejects(Promise.reject(error), expected)
  return error
}
