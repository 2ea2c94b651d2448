import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import {
  type ApiHandler,
  type ApiRequest,
  createStore,
  type StoreOptions,
} from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { until } from '../support/waiting.js'
import { heldHandler } from './held-handler.js'
import {
  answerTo,
  GET,
  lastError,
  openSocket,
  POST,
  statusesIn,
  withHeaders,
} from './raw-socket.js'

const REX = '{"name":"Rex","categoryId":1}'

test('pipelining - responses are sent in the order of the requests', async () => {
  const { handler, release, arrived } = heldHandler(open())
  await using server = await listen(handler, { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET.replace('/pets', '/a') + GET + GET.replace('/pets', '/pets/1'))
  await arrived(3)
  for (const index of [2, 1, 0]) release(index)
  const text = await client.until(/There is no pet/)
  assert.deepEqual(statusesIn(text), [404, 200, 404])
  assert.ok(text.indexOf('no such resource') < text.indexOf('[]'))
  client.socket.destroy()
})

test('pipelining - a list sees what was created before it in the same piece', async () => {
  const store = open()
  // Loads the parser of bodies.
  await store.createPet({ name: 'Ada', categoryId: 1 })
  await using server = await listen(store, { port: 0 })
  const client = await openSocket(server.port)
  client.write(withHeaders(POST, `Content-Length: ${REX.length}`) + REX + GET)
  const text = await client.until(/\[.*\]/)
  assert.deepEqual(statusesIn(text), [201, 200])
  assert.match(text, /\[.*\{"id":2,"name":"Rex"/)
  client.socket.destroy()
})

test('body.size - an upload that is too large is answered, and the connection stays open', async () => {
  await using server = await listen(open(), { port: 0 })
  const size = 8_000_000
  for (const [headers, body] of [
    [`Content-Length: ${size}`, 'x'.repeat(size)],
    ['Transfer-Encoding: chunked', `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`],
  ] as const) {
    const text = await answerTo(server.port, withHeaders(POST, headers) + body + GET, '[]')
    assert.deepEqual(statusesIn(text), [413, 200])
  }
})

// Java 17 waits for `100 Continue` for ever, also after a final response.
test('http.expect - 100-continue is honored by a store and a double, whatever the response, other expectations are ignored', async () => {
  for (const handler of [open(), createTestDouble()]) {
    await using server = await listen(handler, { port: 0 })
    const client = await openSocket(server.port)
    const expecting = `Content-Length: ${REX.length}\r\nExpect: 100-continue`
    client.write(withHeaders(POST, expecting).replace('Bearer ', 'Bearer wrong-'))
    await client.until('100 Continue')
    client.write(REX)
    assert.deepEqual(statusesIn(await client.until('}')), [100, 401])
    client.socket.destroy()
  }
  await using server = await listen(open(), { port: 0 })
  const client = await openSocket(server.port)
  client.write(withHeaders(POST, `Content-Length: ${REX.length}\r\nExpect: 100-continue`))
  await client.until('100 Continue')
  client.write(REX)
  await client.until('"available"}')
  client.write(withHeaders(POST, `Content-Length: ${REX.length}\r\nExpect: tea`) + REX)
  assert.deepEqual(statusesIn(await client.until('"id":2')), [100, 201, 201])
  client.socket.destroy()
})

test('http.host - HTTP/1.1 needs one Host, HTTP/1.0 none', async () => {
  await using server = await listen(open(), { port: 0 })
  const without = GET.replace('Host: a\r\n', '')
  for (const request of [without, GET.replace('Host: a', 'Host: a\r\nHost: a')]) {
    const text = await answerTo(server.port, request, '}')
    assert.deepEqual(lastError(text), {
      code: 'invalid_request',
      message: 'Send the Host header, once.',
      status: 400,
    })
    assert.match(text, /X-RateLimit-Remaining: \d+\r\n/)
  }
  const old = await answerTo(server.port, without.replace('1.1', '1.0'))
  assert.match(old, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n\[\]$/)
})

test('http.target - the absolute form is reduced to its path, a foreign host is refused, and an asterisk is not found', async () => {
  await using server = await listen(open(), { port: 0 })
  for (const [target, status] of [
    ['http://a/v1/pets?limit=1', 200],
    ['http://a', 404],
    ['http://a?/v1/pets', 404],
    ['http://other.example/v1/pets?limit=1', 400],
    ['http://u@a/v1/pets', 400],
    ['http://a.other.example/v1/pets', 400],
    ['http:///v1/pets', 400],
    ['*', 404],
  ] as const) {
    const request = GET.replace('/v1/pets', target)
    const sent = target === '*' ? request.replace('GET', 'OPTIONS') : request
    const text = await answerTo(server.port, sent, /\r\n\r\n[[{]/)
    assert.deepEqual(statusesIn(text), [status], target)
  }
})

test('auth.scheme - two Authorization headers are rejected', async () => {
  await using server = await listen(open(), { port: 0 })
  const request = withHeaders(GET, 'Authorization: Bearer demo')
  assert.deepEqual(statusesIn(await answerTo(server.port, request, 'unauthorized')), [401])
})

test('http.half - a client that half-closes still gets its responses', async () => {
  const { handler, release, arrived } = heldHandler(open())
  await using server = await listen(handler, { port: 0 })
  const halfClosed = new Promise<void>(resolve => {
    const watch = (message: unknown) => {
      unsubscribe('net.server.socket', watch)
      const { socket } = message as { socket: Socket }
      socket.once('end', resolve)
    }
    subscribe('net.server.socket', watch)
  })
  const client = await openSocket(server.port, true)
  client.socket.end(GET + GET)
  await Promise.all([arrived(2), halfClosed])
  release(0)
  release(1)
  assert.deepEqual(statusesIn(await client.ended()), [200, 200])
})

test('http.gone - whoever has reset, left or half-closed a connection no longer waits', async () => {
  const requests = new Map<string, ApiRequest>()
  const { handler, release } = heldHandler(open())
  const handle: ApiHandler['handle'] = request => {
    requests.set(request.path, request)
    return handler.handle(request)
  }
  await using server = await listen({ ...handler, handle }, { port: 0 })
  const isGone = (name: string) => requests.get(`/v1/${name}`)?.isGone?.()
  const clients = Object.entries<(socket: Socket) => unknown>({
    reset: socket => socket.resetAndDestroy(),
    left: socket => socket.destroy(),
    'half-closed': socket => socket.end(),
    stays: () => {},
  })
  for (const [at, [name, leave]] of clients.entries()) {
    const { socket } = await openSocket(server.port, true)
    socket.write(GET.replace('pets', name))
    await until(() => isGone(name) === false)
    leave(socket)
    await until(() => isGone(name) === (name !== 'stays'))
    socket.destroy()
    // The server would wait for it when it closes.
    release(at)
  }
})

function open(options: Partial<StoreOptions> = {}) {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'business' } },
    clock: () => T0,
    ...options,
  })
}

test('http.pieces - a connection has one unfinished response in pieces, however many requests it sends', async () => {
  let begun = 0
  const handler: ApiHandler = {
    ...open(),
    handle: () => ({
      status: 200,
      headers: { 'Content-Length': '8000000' },
      body: '',
      *pieces() {
        begun++
        for (let n = 0; n < 8; n++) yield 'x'.repeat(1_000_000)
      },
    }),
  }
  await using server = await listen(handler, { port: 0 })
  const client = await openSocket(server.port)
  client.socket.pause()
  client.write(GET + GET + GET.replace('Host', 'Connection: close\r\nHost'))
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  assert.equal(begun, 1)
  client.socket.resume()
  assert.deepEqual(statusesIn(await client.ended()), [200, 200, 200])
  assert.equal(begun, 3)
})

test('http.deliver - a response with `deliver` is delivered by it, and close does not wait for it', async () => {
  const handler = open()
  const silent: ApiHandler = {
    ...handler,
    async handle(request) {
      const answer = await handler.handle(request)
      if (request.path.endsWith('/1')) return { ...answer, deliver() {} }
      const deliver = (response: unknown) => void (response as ServerResponse).end('by hand')
      return { ...answer, deliver }
    },
  }
  const server = await listen(silent, { port: 0 })
  const client = await openSocket(server.port)
  client.write(GET)
  await client.until('by hand')
  client.write(GET.replace('/pets', '/pets/1') + GET)
  await new Promise(setImmediate)
  await server.close()
  assert.deepEqual(statusesIn(await client.ended()), [200])
})

test('http.connect - requests carry their connection, and its end is reported', async () => {
  const handler = open()
  const ended: number[] = []
  const seen: unknown[] = []
  let opened = 0
  await using server = await listen(
    {
      ...handler,
      connect() {
        const n = ++opened
        return { n, end: () => void ended.push(n) }
      },
      handle(request) {
        seen.push((request.connection as unknown as { n: number }).n)
        return handler.handle(request)
      },
    },
    { port: 0 },
  )
  const first = await openSocket(server.port)
  first.write(GET)
  await first.until('[]')
  const second = await openSocket(server.port)
  second.write(GET + GET)
  await second.until(/\[\].*\[\]/s)
  assert.deepEqual(ended, [])
  second.socket.end()
  await second.ended()
  first.write(GET)
  await first.until(/\[\].*\[\]/s)
  assert.deepEqual([seen, new Set(ended)], [[1, 2, 2, 1], new Set([2])])
  first.socket.destroy()
})

test('http - a handler that breaks its contract costs a connection, not the process', async () => {
  const store = open()
  const broken: ApiHandler['handle'][] = [
    () => {
      throw new Error('at once')
    },
    async () => undefined as never,
    async request => ({ ...(await store.handle(request)), headers: { 'X-Why': 'a\nb' } }),
  ]
  for (const handle of broken) {
    await using server = await listen({ ...store, handle }, { port: 0 })
    assert.deepEqual(statusesIn(await answerTo(server.port, GET)), [])
  }
})
