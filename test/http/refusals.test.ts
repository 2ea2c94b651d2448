import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ListenOptions, listen } from '../../adapters/http/index.js'
import type { ApiHandler } from '../../src/index.js'
import { openStore } from '../support/demo-store.js'
import { gate } from '../support/waiting.js'
import {
  answerTo,
  GET,
  lastError,
  openSocket,
  POST,
  statusesIn,
  withHeaders,
} from './raw-socket.js'

const NOT_HTTP: Readonly<Record<string, string>> = {
  'a line that is no request line': 'hello\r\n\r\n',
  'a method in lower case': GET.replace('GET', 'get'),
  'a method nobody knows': GET.replace('GET', 'ADOPT'),
  'a space in the target': GET.replace('/pets', '/my pets'),
  'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  CONNECT: GET.replace('GET /v1/pets', 'CONNECT other.example:443'),
  'a space before the colon': withHeaders(GET, 'X-A : 1'),
  'a header without a colon': withHeaders(GET, 'nonsense'),
  'a folded header': withHeaders(GET, 'X-A: 1\r\n  2'),
  'a bare carriage return': withHeaders(GET, 'X-A: 1\rX-B: 2'),
  'NUL in a header': withHeaders(GET, 'X-A: 1\x002'),
  'two equal Content-Lengths': withHeaders(POST, 'Content-Length: 2\r\nContent-Length: 2'),
  'a Content-Length that is no number': withHeaders(POST, 'Content-Length: 1e3'),
  'a negative Content-Length': withHeaders(POST, 'Content-Length: -1'),
  'a Content-Length beyond counting': withHeaders(POST, `Content-Length: ${'9'.repeat(40)}`),
  'a transfer coding that does not end': withHeaders(POST, 'Transfer-Encoding: chunked, gzip'),
}

for (const [what, bytes] of Object.entries(NOT_HTTP)) {
  test(`http.refusal - ${what} is answered 400, counted, and ends the connection`, async () => {
    await using server = await listen(openStore(), { port: 0 })
    const text = await answerTo(server.port, Buffer.from(bytes, 'latin1'))
    assert.deepEqual(lastError(text), {
      code: 'invalid_request',
      message: 'The request is not valid HTTP/1.1.',
      status: 400,
    })
    assert.deepEqual(statusesIn(text), [400])
    assert.match(text, /\r\nX-RateLimit-Remaining: 59\r\n/)
    assert.match(text, /\r\nConnection: close\r\n/)
  })
}

test('http.refusal - HTTP/1.0 with Transfer-Encoding gets 400, and nothing after it is read', async () => {
  await using server = await listen(openStore(), { port: 0 })
  const framed = 'Connection: keep-alive\r\nTransfer-Encoding: chunked'
  const request = withHeaders(POST.replace('1.1', '1.0'), framed)
  assert.deepEqual(statusesIn(await answerTo(server.port, `${request}0\r\n\r\n${GET}`)), [400])
})

test('http.refusal - a version that is not 1.x gets 505, and ends the connection', async () => {
  await using server = await listen(openStore(), { port: 0 })
  for (const version of ['0.9', '2.0', '3.0', '12.1']) {
    const text = await answerTo(server.port, GET.replace('HTTP/1.1', `HTTP/${version}`))
    assert.deepEqual(statusesIn(text), [505], version)
    assert.equal(lastError(text).message, 'Send the request as HTTP/1.1.')
  }
})

test('http.refusal - oversized headers get 431, however many follow', async () => {
  await using server = await listen(openStore(), { port: 0 })
  for (const flood of [
    `X-Large: ${'x'.repeat(20_000)}\r\n`,
    `X-Large: ${'x'.repeat(4_000_000)}\r\n`,
    'X-Many: 1\r\n'.repeat(400_000),
  ]) {
    const client = await openSocket(server.port)
    client.write(`GET /v1/pets HTTP/1.1\r\nHost: a\r\n${flood}\r\n`)
    const text = await client.ended()
    assert.deepEqual(statusesIn(text), [431])
    if (!client.socket.closed) await new Promise(resolve => client.socket.once('close', resolve))
    assert.equal(client.socket.errored, null, 'the answer is not followed by a reset')
    const message = 'The header fields are too large.'
    assert.deepEqual(lastError(text), { code: 'invalid_request', message, status: 431 })
  }
})

test('http.refusal - a request that does not arrive in time gets 408', async () => {
  const options: ListenOptions = { port: 0, headersTimeout: 20, requestTimeout: 40 }
  await using server = await listen(openStore(), options)
  for (const start of [
    '',
    'GET /v1/pets HT',
    GET.slice(0, -2),
    withHeaders(POST, 'Content-Length: 9'),
  ]) {
    const text = await answerTo(server.port, start)
    const message = 'The request did not arrive in time.'
    assert.deepEqual(lastError(text), { code: 'invalid_request', message, status: 408 })
    assert.deepEqual(statusesIn(text), [408], start)
  }
})

test('http.refusal - valid requests before it are answered first, whichever finishes first', async () => {
  for (const [before, slow] of ['/a', '/b', '/c'].entries()) {
    const store = openStore()
    const held = gate()
    const handler: ApiHandler = {
      ...store,
      async handle(request) {
        if (request.path.endsWith(slow)) await held.passed
        return store.handle(request)
      },
    }
    await using server = await listen(handler, { port: 0 })
    const client = await openSocket(server.port)
    const good = ['/a', '/b', '/c'].map(path => GET.replace('/pets', path)).join('')
    client.write(`${good}garbage\r\n\r\nmore garbage\r\n\r\n`)
    client.write('and more\r\n\r\n')
    await client.until(new RegExp(`^(HTTP[^}]*}){${before}}`))
    // An answer out of turn would have time to leave now.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    held.open()
    assert.deepEqual(statusesIn(await client.ended()), [404, 404, 404, 400])
  }
})

test('http.refusal - a broken body is answered after the requests before it, and counted against its own key', async () => {
  await using server = await listen(openStore(), { port: 0 })
  const broken = `${withHeaders(POST, 'Transfer-Encoding: chunked')}xyz\r\n`
  const text = await answerTo(server.port, GET + GET + broken)
  assert.deepEqual(statusesIn(text), [200, 200, 400])
  assert.equal(lastError(text).message, 'The request is not valid HTTP/1.1.')
  assert.match(
    text,
    /X-RateLimit-Remaining: 997\r\nX-RateLimit-Reset: \d+\r\nConnection: close\r\n/,
  )
})

test('http.refusal - a body cut off by the end of the connection is refused', async () => {
  const store = openStore()
  await using server = await listen(store, { port: 0 })
  const client = await openSocket(server.port, true)
  client.socket.end(`${withHeaders(POST, 'Content-Length: 50')}{"name":"Rex","categoryId":1}`)
  assert.deepEqual(statusesIn(await client.ended()), [400])
  assert.deepEqual(await store.listPets(), [])
})

test('http.refusal - is counted against the address, until it gets 429', async () => {
  await using server = await listen(openStore(), { port: 0 })
  let text = ''
  for (let n = 0; n < 61; n++) text = await answerTo(server.port, 'hello\r\n\r\n')
  assert.equal(lastError(text).code, 'rate_limit_exceeded')
  const own = await answerTo(server.port, GET, '[]')
  assert.deepEqual(statusesIn(own), [200], 'a valid key still passes')
})
