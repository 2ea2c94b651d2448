import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { type ApiHandler, createStore } from '../../src/index.js'
import { openStore } from '../support/demo-store.js'
import { gate } from '../support/waiting.js'
import { heldHandler } from './held-handler.js'
import { GET, openSocket, POST, statusesIn, withHeaders } from './raw-socket.js'

const GET_ALL = GET.replace('/pets', '/pets?limit=100')
const REX = '{"name":"Rex","categoryId":1}'

test('close - finishes an upload in flight, drops idle sockets, and can be called again', async () => {
  const server = await listen(openStore(), { port: 0 })
  const idle = await openSocket(server.port)
  idle.write(GET)
  await idle.until('[]')
  const silent = await openSocket(server.port)
  const upload = await openSocket(server.port)
  upload.write(withHeaders(POST, `Content-Length: ${REX.length}\r\nExpect: 100-continue`))
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

test('close - requests that arrive in one chunk while closing are all answered', async () => {
  const store = openStore()
  const [held, arrived, created] = [gate(), gate(), gate()]
  const handler: ApiHandler = {
    ...store,
    handle(request) {
      if (request.path !== '/v1/pets/9') return store.handle(request)
      arrived.open()
      return held.passed.then(() => store.handle(request))
    },
  }
  const server = await listen(handler, { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET.replace('/pets', '/pets/9'))
  await arrived.passed
  const closed = server.close()
  store.events.on('pet.created', created.open)
  client.write(GET + withHeaders(POST, `Content-Length: ${REX.length}`) + REX)
  await created.passed
  held.open()
  assert.deepEqual(statusesIn(await client.ended()), [404, 200, 201])
  await closed
})

test('close - answers every pipelined request in flight, in whatever order they finish', async () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const { handler, release, arrived } = heldHandler(openStore())
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

test('close - a response larger than the system buffers arrives in full', async () => {
  const store = openStore()
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

test('close - does not wait forever for a client that does not read its response', async () => {
  const server = await listen(openLarge(), { port: 0, requestTimeout: 50, headersTimeout: 50 })
  const client = await openSocket(server.port)
  client.socket.pause()
  client.write(GET_ALL)
  await fetch(`${server.url}/pets?limit=1`, { headers: { authorization: 'Bearer demo' } })
  await server.close()
  client.socket.destroy()
})

test('close - what follows a request that ends its connection is not answered', async () => {
  const { handler, release, arrived } = heldHandler(openStore())
  const server = await listen(handler, { port: 0 })
  const client = await openSocket(server.port)
  client.write(`${GET}garbage\r\n\r\n`)
  await arrived(1)
  const closed = server.close()
  release(0)
  assert.deepEqual(statusesIn(await client.ended()), [200])
  await closed
  assert.equal(client.socket.errored, null)
})

/** Responses larger than the system buffers. */
function openLarge() {
  const pets = Array.from({ length: 60 }, (_, at) => ({
    id: at + 1,
    name: 'x'.repeat(500_000),
    categoryId: 1,
  }))
  const storage = memoryStorage({ pets, nextId: 61 })
  return createStore({ storage, apiKeys: { demo: { id: 'demo', plan: 'pro' } } })
}

test('close - in its grace, an idle connection gets one more response, or is closed by its client', async () => {
  const server = await listen(openStore(), { port: 0 })
  const [late, silent] = [await openSocket(server.port), await openSocket(server.port)]
  for (const client of [late, silent]) {
    client.write(GET)
    await client.until('[]')
  }
  const arriving = openSocket(server.port)
  await new Promise(process.nextTick)
  const closed = server.drain('1h')
  const arrived = await arriving
  arrived.write(GET)
  await arrived.until('[]')
  arrived.socket.destroy()
  await untilRefused(server.port)
  late.write(GET)
  const answers = await late.ended()
  assert.deepEqual(statusesIn(answers), [200, 200])
  assert.match(answers, /\r\nConnection: close\r\n/i)
  silent.socket.destroy()
  await closed
})

async function untilRefused(port: number): Promise<void> {
  for (let isOpen = true; isOpen; ) {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    const socket = connect(port, '127.0.0.1')
    const opened = once(socket, 'connect').then(() => true)
    isOpen = await opened.catch(() => false)
    socket.destroy()
  }
}

test('keepAliveTimeout - is longer than a proxy keeps its connections, if nothing is said', async () => {
  await using server = await listen(openStore(), { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET)
  assert.match(await client.until('[]'), /\r\nKeep-Alive: timeout=72\r\n/)
  client.socket.destroy()
})

test('timeouts - what arrived while the process could not read is not late', async () => {
  // More than a busy machine takes from one line of this test to the next.
  const timeouts = { headersTimeout: 1_000, requestTimeout: 1_000, keepAliveTimeout: 1_000 }
  await using server = await listen(openStore(), { port: 0, ...timeouts })
  const [idle, begun] = [await openSocket(server.port), await openSocket(server.port)]
  idle.write(GET)
  await idle.until('[]')
  begun.write(GET.slice(0, 40))
  await new Promise(setImmediate)
  for (const [client, rest] of [
    [idle, GET],
    [begun, GET.slice(40)],
  ] as const) {
    client.write(rest)
  }
  freeze(1_500)
  assert.deepEqual(statusesIn(await idle.until(/\[\].*\[\]/s)), [200, 200])
  assert.deepEqual(statusesIn(await begun.until('[]')), [200])
  for (const { socket } of [idle, begun]) socket.destroy()
})

/** Stops the whole process, as a machine does that is suspended. */
function freeze(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('keepAliveTimeout - closes an idle connection, but not one with a request in flight', async () => {
  const { handler, release, arrived } = heldHandler(openStore())
  await using server = await listen(handler, { port: 0, keepAliveTimeout: 1_000 })
  const busy = await openSocket(server.port)
  busy.write(GET)
  await arrived(1)
  const idle = await openSocket(server.port)
  idle.write(GET)
  await arrived(2)
  release(1)
  assert.match(await idle.until('[]'), /\r\nKeep-Alive: timeout=1\r\n/)
  assert.deepEqual(statusesIn(await idle.ended()), [200])
  release(0)
  await busy.until('[]')
  busy.socket.destroy()
})
