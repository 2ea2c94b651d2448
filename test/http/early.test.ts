import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { withDocs } from '../../adapters/pages/openapi/docs.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type StoreOptions } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import {
  answerTo,
  GET,
  lastError,
  openSocket,
  POST,
  statusesIn,
  withHeaders,
} from './raw-socket.js'

const UPLOAD = withHeaders(POST, 'Content-Length: 9')

const REFUSED: Readonly<Record<string, readonly [request: string, status: number]>> = {
  'an unknown key': [UPLOAD.replace('demo', 'wrong'), 401],
  'an exhausted budget': [UPLOAD.replace('demo', 'empty'), 429],
  'an unknown path': [UPLOAD.replace('/pets', '/nope'), 404],
  'another method': [UPLOAD.replace('POST', 'PUT'), 405],
  'a body that is too large': [UPLOAD.replace('Length: 9', 'Length: 9999999'), 413],
  'another content type': [withHeaders(UPLOAD, 'Content-Type: text/plain'), 415],
}

for (const [what, [request, status]] of Object.entries(REFUSED)) {
  test(`http.early - ${what} is answered without the body`, async () => {
    await using server = await listen(await exhausted(), { port: 0 })
    assert.deepEqual(statusesIn(await answerTo(server.port, request, '}')), [status])
  })
}

test('http.early - the response reaches a client that keeps sending', async () => {
  await using server = await listen(open(), { port: 0 })
  const client = await openSocket(server.port)
  const request = UPLOAD.replace('demo', 'wrong').replace('Length: 9', 'Length: 8000000')
  client.write(withHeaders(request, 'Connection: close'))
  client.write('x'.repeat(8_000_000))
  assert.deepEqual(statusesIn(await client.ended()), [401])
  assert.equal(client.socket.errored, null)
})

test('http.early - nothing is served after a response that closes the connection', async () => {
  const store = open()
  await using server = await listen(store, { port: 0 })
  const client = await openSocket(server.port, true)
  const body = '{"name":"Rex","categoryId":1}'
  const create = UPLOAD.replace('Length: 9', `Length: ${body.length}`) + body
  client.write(
    `${withHeaders(UPLOAD.replace('demo', 'wrong'), 'Connection: close')}123456789${create}`,
  )
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
    const text = await answerTo(server.port, GET.replace('Host: a', `Host: ${host}`), /[}\]]$/)
    assert.deepEqual(statusesIn(text), [status])
    if (status === 400) assert.equal(lastError(text).code, 'invalid_request')
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
    const text = await answerTo(server.port, request, /\r\n\r\n/)
    assert.deepEqual(statusesIn(text), [status], request)
    assert.equal(/\r\nX-RateLimit-/.test(text), isLimited, request)
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
