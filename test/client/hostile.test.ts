import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  ApiError,
  ConnectionError,
  ContractError,
  createClient,
} from '../../adapters/client/index.js'
import { serveHttp } from '../support/http-server.js'
import { answering, createClientServer, reset } from './client-server.js'

const REX = { name: 'Rex', categoryId: 1 }

test('hostile - a response larger than maxResponseBytes ends while it is decompressed', async t => {
  const bomb = gzipSync(Buffer.alloc(1024 * 1024, ' '))
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  // It never ends, so who reads it to its end fails otherwise.
  const url = await serve(t, (_, response) => response.writeHead(200, headers).write(bomb))
  const pets = createClient({ baseUrl: url, apiKey: 'key', maxResponseBytes: 100_000 })
  await assert.rejects(pets.listPets(), {
    name: 'ContractError',
    message: /^The response to GET .* is larger than `maxResponseBytes` \(100000\)\.$/,
  })
})

test('hostile - no redirect is followed: key and animal stay, a create remains a create', async t => {
  let elsewhere = 0
  const other = await serve(t, (_, response) => {
    elsewhere++
    response.end('[]')
  })
  for (const status of [301, 302, 303, 307, 308]) {
    let requests = 0
    const url = await serve(t, (_, response) => {
      requests++
      response.writeHead(status, { location: `${other}/pets` }).end()
    })
    const pets = createClient({ baseUrl: url, apiKey: 'key' })
    const message = `is redirected to ${other}/pets. Set \`baseUrl\``
    for (const call of [pets.listPets(), pets.createPet(REX)]) {
      const error = await call.catch((error: unknown) => error)
      assert.ok(error instanceof ContractError && error.message.includes(message), `${error}`)
    }
    assert.equal(requests, 2)
  }
  assert.equal(elsewhere, 0)
})

test('hostile - a refused connection names host and cause, and sent nothing', async () => {
  // No server is there.
  const url = 'http://127.0.0.1:2/v1'
  const pets = createClient({ baseUrl: url, apiKey: 'secret-key', maxRetries: 0 })
  for (const [call, method] of [
    [pets.createPet(REX), 'POST'],
    [pets.listPets(), 'GET'],
  ] as const) {
    const error = await call.catch((error: unknown) => error)
    assert.ok(error instanceof ConnectionError)
    assert.equal(error.mayHaveTakenEffect, false)
    const { host } = new URL(url)
    const start = `${method} ${url}/pets failed: connect ECONNREFUSED ${host}.`
    assert.equal(error.message, method === 'POST' ? `${start} Nothing was sent.` : start)
    assert.ok(error.cause instanceof Error)
  }
})

test('hostile - a lost connection may have added the animal, and says so', async t => {
  const url = await serve(t, request => request.socket.destroy())
  const pets = createClient({ baseUrl: url, apiKey: 'key', maxRetries: 0 })
  const error = await pets.createPet(REX).catch((error: unknown) => error)
  assert.ok(error instanceof ConnectionError && error.mayHaveTakenEffect)
  assert.match(error.message, /failed: .* The animal may have been added nevertheless\.$/)
  const { client, faults } = createClientServer()
  faults.push(reset)
  await assert.rejects(client({ maxRetries: 0 }).listPets(), {
    message: 'GET http://store.test/v1/pets failed: fetch failed.',
    mayHaveTakenEffect: false,
  })
})

test('hostile - a fetch without web streams is read, as React Native and node-fetch have it', async () => {
  const pets = [{ id: 1, ...REX }]
  for (const body of [undefined, Readable.from([JSON.stringify(pets)])]) {
    const response = { status: 200, headers: new Headers(), text: async () => JSON.stringify(pets) }
    const fetch = async () => ({ ...response, body }) as never
    const options = { baseUrl: 'http://store.test/v1', apiKey: 'key', fetch, maxRetries: 0 }
    assert.deepEqual(await createClient(options).listPets(), pets)
    const small = createClient({ ...options, maxResponseBytes: 10 })
    await assert.rejects(small.listPets(), { name: 'ContractError', message: /maxResponseBytes/ })
  }
})

test('hostile - ids and categories beyond 2^53 are exact', async () => {
  const { client, faults, seen, store } = createClientServer()
  const pet = '{"id":9007199254740993,"name":"Rex","categoryId":-9223372036854775808}'
  faults.push(answering(200, {}, pet), answering(200, {}, `[${pet}]`))
  const expected = {
    id: 9_007_199_254_740_993n,
    name: 'Rex',
    categoryId: -9_223_372_036_854_775_808n,
  }
  assert.deepEqual(await client().getPet(9_007_199_254_740_993n), expected)
  assert.deepEqual(await client().listPets(), [expected])
  assert.equal(seen.length, 2)
  assert.deepEqual(await store.listPets(), [])
})

test('hostile - an HTML error page shows its text', async () => {
  const { client, faults } = createClientServer()
  const page = '<html><style>p{}</style>\n<h1>502 Bad Gateway</h1>\n<p>nginx</p></html>'
  faults.push(answering(502, {}, page), answering(404, {}, `<p>${'x'.repeat(500)}`), answering(404))
  const pets = client({ maxRetries: 0 })
  await assert.rejects(pets.listPets(), {
    code: 'internal_error',
    status: 502,
    message: 'The server answered 502 without an Error body: "502 Bad Gateway nginx"',
  })
  await assert.rejects(pets.getPet(1), { message: new RegExp(`"${'x'.repeat(120)}…"$`) })
  await assert.rejects(pets.getPet(1), {
    message: 'The server answered 404 without an Error body.',
  })
})

test('hostile - retryCreates repeats a create after 503 storage_unavailable, and after nothing else', async () => {
  const { client, faults, time, seen } = createClientServer()
  const pets = client({ retryCreates: true })
  const unavailable = '{"code":"storage_unavailable","message":"Later","status":503}'
  const crashed = '{"code":"internal_error","message":"Oops","status":500}'
  faults.push(answering(503, {}, unavailable))
  assert.equal((await time.run(pets.createPet(REX))).id, 1)
  // A gateway may answer 503 when a connection breaks over which the create was sent.
  const others = [
    answering(503, {}, '<h1>503</h1>'),
    answering(503, {}, ''),
    answering(503, {}, '{}'),
    answering(504, {}, unavailable),
  ]
  for (const fault of [answering(500, {}, crashed), reset, ...others]) {
    faults.push(fault)
    await assert.rejects(time.run(pets.createPet(REX)))
  }
  assert.equal(seen.length, 8)
})

test('hostile - what the server would refuse is refused before it is sent, by the same rules', async () => {
  const { client, store, seen } = createClientServer()
  for (const query of [
    { limit: 1_000 },
    { limit: 0 },
    { limit: 1.5 },
    { status: 'lost' as never },
  ]) {
    const { code, message } = await failure(store.listPets(query))
    assert.deepEqual(await failure(client().listPets(query)), { code, message })
  }
  for (const pet of [
    {},
    [],
    null,
    'Rex',
    { name: 7, categoryId: '1' },
    { name: 'Rex', categoryId: 1.5, status: 'lost' },
    { name: 'Rex', categoryId: 1, status: null },
    { name: 'Rex', categoryId: 2n ** 63n },
  ]) {
    const { code, message } = await failure(store.createPet(pet as never))
    const own = await failure(client().createPet(pet as never))
    // The store also shows an integer that is out of range.
    assert.deepEqual(own, { code, message: message.replace(/, got (\d+|a string)$/, '') })
  }
  for (const categoryId of [2 ** 53, Number.NaN]) {
    const { message } = await failure(client().createPet({ name: 'Rex', categoryId }))
    assert.match(message, /^`categoryId` must be an integer/)
  }
  assert.deepEqual(seen, [])
})

async function failure(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await call.catch((error: unknown) => error)
  assert.ok(error instanceof ApiError)
  return { code: error.code, message: error.message }
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return `${(await serveHttp(t, listener)).origin}/v1`
}
