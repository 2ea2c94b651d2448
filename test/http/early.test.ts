import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { withDocs } from '../../adapters/pages/openapi/docs.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type StoreOptions } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { lastError, openSocket, statusesIn } from './raw-socket.js'

const GET = 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo\r\n\r\n'
const POST = `${GET.replace('GET', 'POST').slice(0, -2)}Content-Length: 9\r\n\r\n`
const with_ = (request: string, headers: string) =>
  request.replace('\r\n\r\n', `\r\n${headers}\r\n\r\n`)

const REFUSED: Readonly<Record<string, readonly [request: string, status: number]>> = {
  'an unknown key': [POST.replace('demo', 'wrong'), 401],
  'an exhausted budget': [POST.replace('demo', 'empty'), 429],
  'an unknown path': [POST.replace('/pets', '/nope'), 404],
  'another method': [POST.replace('POST', 'PUT'), 405],
  'a body that is too large': [POST.replace('Length: 9', 'Length: 9999999'), 413],
  'another content type': [with_(POST, 'Content-Type: text/plain'), 415],
}

for (const [what, [request, status]] of Object.entries(REFUSED)) {
  test(`http.early - ${what} is answered without the body`, async () => {
    await using server = await listen(await exhausted(), { port: 0 })
    const client = await openSocket(server.port)
    client.write(request)
    assert.deepEqual(statusesIn(await client.until('}')), [status])
    client.socket.destroy()
  })
}

test('http.early - the response reaches a client that keeps sending', async () => {
  await using server = await listen(open(), { port: 0 })
  const client = await openSocket(server.port)
  const request = POST.replace('demo', 'wrong').replace('Length: 9', 'Length: 8000000')
  client.write(with_(request, 'Connection: close'))
  client.write('x'.repeat(8_000_000))
  assert.deepEqual(statusesIn(await client.ended()), [401])
  assert.equal(client.socket.errored, null)
})

test('http.early - nothing is served after a response that closes the connection', async () => {
  const store = open()
  await using server = await listen(store, { port: 0 })
  const client = await openSocket(server.port, true)
  const body = '{"name":"Rex","categoryId":1}'
  const create = POST.replace('Length: 9', `Length: ${body.length}`) + body
  client.write(`${with_(POST.replace('demo', 'wrong'), 'Connection: close')}123456789${create}`)
  assert.deepEqual(statusesIn(await client.ended()), [401])
  client.socket.destroy()
  assert.deepEqual(await store.listPets(), [])
})

const HOSTS = [
  ['a b', 400],
  ['user@a', 400],
  ['a:port', 400],
  ['a, b', 400],
  ['', 200],
  ['localhost:4280', 200],
  ['[2001:db8::1]:80', 200],
] as const

for (const [host, status] of HOSTS) {
  test(`http.host - '${host}' is answered ${status}`, async () => {
    await using server = await listen(open(), { port: 0 })
    const client = await openSocket(server.port)
    client.write(GET.replace('Host: a', `Host: ${host}`))
    const text = await client.until(/[}\]]$/)
    assert.deepEqual(statusesIn(text), [status])
    if (status === 400) assert.equal(lastError(text).code, 'invalid_request')
    client.socket.destroy()
  })
}

test('limits.headers - on responses under the base path or without a path, and on no others', async () => {
  await using server = await listen(withDocs(open({ cors: true })), { port: 0 })
  const preflight =
    'OPTIONS /v1/pets HTTP/1.1\r\nHost: a\r\nOrigin: b\r\nAccess-Control-Request-Method: GET\r\n\r\n'
  for (const [request, status, isLimited] of [
    [GET, 200, true],
    [GET.replace('demo', 'wrong'), 401, true],
    [GET.replace('/pets', '/nope'), 404, true],
    [GET.replace('Host: a', 'Host: a b'), 400, true],
    ['hello\r\n\r\n', 400, true],
    [preflight, 204, false],
    [GET.replace('/v1/pets', '/nope'), 404, false],
    [GET.replace('/v1/pets', '/openapi.json'), 200, false],
    [GET.replace('/v1/pets', '/openapi.json').replace('Host: a', 'Host: a b'), 400, false],
    [GET.replace('/v1/pets', '/docs').replace('Host: a\r\n', ''), 400, false],
  ] as const) {
    const client = await openSocket(server.port)
    client.write(request)
    const text = await client.until(/\r\n\r\n/)
    assert.deepEqual(statusesIn(text), [status], request)
    assert.equal(/\r\nX-RateLimit-/.test(text), isLimited, request)
    client.socket.destroy()
  }
})

async function exhausted() {
  const store = open()
  await store.forKey('empty').listPets()
  return store
}

function open(options: Partial<StoreOptions> = {}) {
  return createStore({
    storage: memoryStorage(),
    apiKeys: {
      demo: { id: 'demo', plan: 'business' },
      empty: { id: 'empty', plan: 'enterprise', limits: { perMinute: 1, perDay: 9 } },
    },
    clock: () => T0,
    ...options,
  })
}
