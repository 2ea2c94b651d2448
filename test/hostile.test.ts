import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { type ListenOptions, listen } from '../adapters/http/index.js'
import {
  answerTo,
  GET,
  openSocket,
  POST,
  type RawSocket,
  statusesIn,
  withHeaders,
} from './http/raw-socket.js'
import { openStore } from './support/demo-store.js'
import { assertGrowth } from './support/memory.js'

const MEGABYTE = 1_000_000
/** Beside a load of 35, the default of 30 s is not enough for megabytes in small pieces. */
const PATIENT = { requestTimeout: 600_000 }
const post = (headers: string) => withHeaders(POST, headers)

test('hostile - headers that arrive byte by byte are timed out', async () => {
  await using server = await serve({ headersTimeout: 40, requestTimeout: 40 })
  const client = await openSocket(server.port)
  const drip = setInterval(() => client.write('x'), 2)
  client.write('GET /v1/pets HTTP/1.1\r\nX-Slow: ')
  const text = await client.ended()
  clearInterval(drip)
  assert.deepEqual(statusesIn(text), [408])
})

test('hostile - a body that never arrives does not delay close', async () => {
  const server = await serve({ headersTimeout: 2_000, requestTimeout: 2_000 })
  const client = await openSocket(server.port)
  client.write(post('Content-Length: 10\r\nExpect: 100-continue'))
  await client.until('100 Continue')
  await server.close()
  assert.deepEqual(statusesIn(await client.ended()), [100])
})

for (const [what, headers, chunk] of [
  ['declared gigabyte', 'Content-Length: 1000000000', 'x'.repeat(MEGABYTE)],
  ['endless stream', 'Transfer-Encoding: chunked', `f4240\r\n${'x'.repeat(MEGABYTE)}\r\n`],
] as const) {
  test(`hostile - a body that is a ${what} is rejected, and not buffered`, async () => {
    await using server = await serve(PATIENT)
    await assertGrowth(60 * MEGABYTE, async measure => {
      const client = await openSocket(server.port)
      client.write(post(headers))
      await flood(client, chunk, 200)
      assert.deepEqual(statusesIn(await client.until('payload_too_large')), [413])
      measure()
      client.socket.destroy()
    })
  })
}

test('hostile - a hundred thousand levels of nesting are answered', async () => {
  await using server = await serve()
  for (const [body, status] of [
    ['['.repeat(100_000), 400],
    ['{"a":'.repeat(100_000), 400],
    [`${'['.repeat(100_000)}1e400${']'.repeat(100_000)}`, 400],
    [`{"name":"","categoryId":1,"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
  ] as const) {
    const text = await answerTo(server.port, post(`Content-Length: ${body.length}`) + body, '}')
    assert.deepEqual(statusesIn(text), [status])
  }
})

test('hostile - three thousand pipelined requests are answered, even to a client that reads late', async () => {
  await using server = await serve()
  const client = await openSocket(server.port)
  client.socket.pause()
  const count = 3_000
  client.write(GET.repeat(count - 1))
  client.write(GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  await new Promise(setImmediate)
  client.socket.resume()
  const statuses = statusesIn(await client.ended())
  assert.equal(statuses.length, count)
  assert.deepEqual(new Set(statuses), new Set([200, 429]))
})

test('hostile - a client that disconnects at any byte leaves nothing behind', async () => {
  const store = openStore()
  const server = await listen(store, { port: 0 })
  const request = `${post('Content-Length: 29')}{"name":"Rex","categoryId":1}`
  for (let length = 0; length < request.length; length += 7) {
    const client = await openSocket(server.port)
    client.write(request.slice(0, length))
    client.socket.resetAndDestroy()
  }
  await answerTo(server.port, GET, '[]')
  await server.close()
  assert.deepEqual(await store.listPets(), [])
})

test('hostile - a smuggled request is not served', async () => {
  const store = openStore()
  await using server = await listen(store, { port: 0 })
  const smuggled = `${post('Content-Length: 29')}{"name":"Rex","categoryId":1}`
  for (const headers of [
    'Content-Length: 4\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 4',
    'Content-Length: 4\r\nContent-Length: 5',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunked, identity',
    'Content-Length: 4\r\nTransfer-Encoding : chunked',
  ]) {
    const text = await answerTo(server.port, `${post(headers)}0\r\n\r\n${smuggled}`)
    assert.deepEqual(statusesIn(text), [400], headers)
  }
  assert.deepEqual(await store.listPets(), [])
})

function serve(options: ListenOptions = {}) {
  return listen(openStore(), { port: 0, ...options })
}

/** Writes the text that many times, no faster than the server reads. */
async function flood({ socket }: RawSocket, text: string, times: number): Promise<void> {
  const bytes = Buffer.from(text)
  for (let n = 0; n < times; n++) if (!socket.write(bytes)) await once(socket, 'drain')
}
