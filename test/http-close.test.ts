import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { endIdleConnections } from '../adapters/http/idle.js'
import { listen } from '../adapters/http/index.js'
import { memoryStorage } from '../adapters/memory.js'
import { type ApiHandler, createStore } from '../src/index.js'
import { heldHandler } from './support/held-handler.js'
import { T0 } from './support/rate-limit-vectors.js'
import { openSocket, type RawSocket, statusesIn } from './support/raw-socket.js'

const GET = 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo\r\n\r\n'
const POST = (headers: string, body = '') =>
  `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo\r\n${headers}\r\n\r\n${body}`
const REX = '{"name":"Rex","categoryId":1}'

test('close - finishes an upload in flight, drops idle sockets, and can be called again', async () => {
  const server = await listen(open(), { port: 0 })
  const idle = await openSocket(server.port)
  idle.write(GET)
  await idle.until('[]')
  const silent = await openSocket(server.port)
  const upload = await openSocket(server.port)
  upload.write(POST(`Content-Length: ${REX.length}\r\nExpect: 100-continue`))
  await upload.until('100 Continue')

  const closed = server.close()
  assert.equal(server.close(), closed)
  assert.deepEqual(statusesIn(await idle.ended()), [200])
  assert.equal(await silent.ended(), '')
  upload.write(REX)
  const answer = await upload.ended()
  assert.deepEqual(statusesIn(answer), [100, 201])
  assert.match(answer, /\r\nConnection: close\r\n/i)
  await closed
  await server[Symbol.asyncDispose]()
  const late = connect(server.port, '127.0.0.1')
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNREFUSED')
})

test('close - what comes in one piece while closing is all answered', async () => {
  const store = open()
  const [held, release] = signal()
  const [arrived, arrive] = signal()
  const handler: ApiHandler = {
    ...store,
    handle(request) {
      if (request.path !== '/v1/pets/9') return store.handle(request)
      arrive()
      return held.then(() => store.handle(request))
    },
  }
  const server = await listen(handler, { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET.replace('/pets', '/pets/9'))
  await arrived
  const closed = server.close()
  const [created, create] = signal()
  store.events.on('pet.created', () => create())
  client.write(GET + POST(`Content-Length: ${REX.length}`, REX))
  await created
  release()
  assert.deepEqual(statusesIn(await client.ended()), [404, 200, 201])
  await closed
})

test('close - answers every pipelined request in flight, in whatever order they are done', async () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const { handler, release, arrived } = heldHandler(open())
    const server = await listen(handler, { port: 0, keepAliveTimeout: 60_000 })
    const client = await openSocket(server.port)
    client.write(GET + GET + GET)
    await arrived(3)
    // The one that is done before the close does not know that it will be the last.
    release(order[0] as number)
    await new Promise(setImmediate)
    const closed = server.close()
    release(order[1] as number)
    await new Promise(setImmediate)
    release(order[2] as number)
    assert.deepEqual(statusesIn(await client.ended()), [200, 200, 200])
    await closed
  }
})

test('close - an answer larger than the buffers of the system arrives whole', async () => {
  const store = open()
  const name = 'x'.repeat(1_000_000)
  for (let n = 0; n < 20; n++) await store.createPet({ name, categoryId: 1 })
  const server = await listen(store, { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET)
  await client.until('200 OK')
  client.socket.pause()
  const closed = server.close()
  await new Promise(setImmediate)
  client.socket.resume()
  const text = await client.ended()
  assert.ok(text.length > 20_000_000)
  assert.ok(text.endsWith('"status":"available"}]'))
  await closed
})

function open() {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'business' } },
    clock: () => T0,
  })
}

test('close - does not wait for ever for a client that does not read its answer', async () => {
  const pets = Array.from({ length: 60 }, (_, at) => ({
    id: at + 1,
    name: 'x'.repeat(500_000),
    categoryId: 1,
  }))
  const storage = memoryStorage({ pets, nextId: 61 })
  const store = createStore({ storage, apiKeys: { demo: { id: 'demo', plan: 'pro' } } })
  const server = await listen(store, { port: 0, requestTimeout: 50, headersTimeout: 50 })
  const client = await openSocket(server.port)
  client.socket.pause()
  const request = 'GET /v1/pets?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo\r\n\r\n'
  client.write(request)
  await fetch(`${server.url}/pets?limit=1`, { headers: { authorization: 'Bearer demo' } })
  await server.close()
  client.socket.destroy()
})

test('keepAliveTimeout - ends a connection that nobody asks on, and none that is in use', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { handler, release, arrived } = heldHandler(open())
  const silence = { status: 200, headers: {}, body: '', deliver() {} }
  const hanging: ApiHandler = {
    ...handler,
    handle: request => (request.path === '/hang' ? silence : handler.handle(request)),
  }
  const server = await listen(hanging, { port: 0, keepAliveTimeout: 3_000 })
  const [idle, busy, unasked, hung] = (await Promise.all(
    Array.from({ length: 4 }, () => openSocket(server.port)),
  )) as [RawSocket, RawSocket, RawSocket, RawSocket]
  hung.write(GET.replace('/v1/pets', '/hang'))
  unasked.write('GET /v1/pets HTTP/1.1\r\n')
  idle.write(GET)
  await arrived(1)
  release(0)
  assert.match(await idle.until('[]'), /\r\nKeep-Alive: timeout=3\r\n/)
  busy.write(GET)
  await arrived(2)

  // A look at what came until now, three more, and then the last.
  for (let second = 0; second < 4; second++) t.mock.timers.tick(1_000)
  idle.write(GET)
  await arrived(3)
  release(2)
  await idle.until(/\[\].*\[\]/s)
  for (let second = 0; second < 4; second++) t.mock.timers.tick(1_000)
  const ended = idle.ended()
  t.mock.timers.tick(1_000)
  assert.deepEqual(statusesIn(await ended), [200, 200])

  for (let second = 0; second < 20; second++) t.mock.timers.tick(1_000)
  release(1)
  await busy.until('[]')
  unasked.write('Host: a\r\nAuthorization: Bearer demo\r\n\r\n')
  await arrived(4)
  release(3)
  await unasked.until('[]')
  assert.ok(!hung.socket.readableEnded)
  await server.close()
})

test('keepAliveTimeout - begins again with every byte of a request that arrives slowly', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const socket = { bytesRead: 1, destroyed: false, destroy: () => (socket.destroyed = true) }
  const connections = new Map([[socket, { isKeptAlive: () => true }]])
  const stop = endIdleConnections(connections as never, 3_000)
  for (let second = 0; second < 20; second++) {
    t.mock.timers.tick(1_000)
    if (second % 4 === 3) socket.bytesRead++
  }
  assert.ok(!socket.destroyed)
  for (let second = 0; second < 5; second++) t.mock.timers.tick(1_000)
  assert.ok(socket.destroyed)
  stop()
})

/** A promise, and what fulfils it. */
function signal(): [promise: Promise<void>, give: () => void] {
  let give = () => {}
  const promise = new Promise<void>(resolve => {
    give = resolve
  })
  return [promise, give]
}
