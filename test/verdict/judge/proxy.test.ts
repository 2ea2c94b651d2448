import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  Agent,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import { lastError, openSocket, type RawSocket, statusesIn } from '../../http/raw-socket.js'
import { serveHttp } from '../../support/http-server.js'
import { answering, rawService } from './raw-service.js'
import { rules } from './styles.js'
import { type OpenProxy, proxyTo } from './through-proxy.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]'

test('proxy - heads keep the case, the order and the bytes of their fields', async () => {
  const fields = 'X-One: 1\r\nx-two: \xe9\xff\r\nX-ONE: again\r\nAuthorization: Bearer k\r\n'
  await using service = await rawService(
    answering(
      `HTTP/1.1 203 As I Said\r\nb-Two: \xfc\r\nA-One: 1\r\nb-Two: 3\r\nContent-Length: 0\r\n\r\n`,
    ),
  )
  await using proxy = await proxyTo({ baseUrl: service.url })
  const client = await connect(proxy)
  client.write(
    Buffer.from(`GET /v1/%70ets?a=%7e&B HTTP/1.1\r\nHost: 127.0.0.1\r\n${fields}\r\n`, 'latin1'),
  )
  const { host } = new URL(service.url)
  assert.match(
    await client.until('\r\n\r\n'),
    /^HTTP\/1\.1 203 As I Said\r\nb-Two: \xfc\r\nA-One: 1\r\nb-Two: 3\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n$/,
  )
  assert.equal(
    service.received[0],
    `GET /v1/%70ets?a=%7e&B HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: keep-alive\r\n\r\n`,
  )
})

test('proxy - fields of one connection stay on it, those of the message pass', async () => {
  await using service = await rawService(
    answering(
      'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=9\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-End: 1\r\nContent-Length: 0\r\n\r\n',
    ),
  )
  await using proxy = await proxyTo({ baseUrl: service.url })
  const client = await connect(proxy)
  client.write(
    'GET /v1/pets HTTP/1.1\r\nHost: localhost:1\r\nConnection: keep-alive, X-Own, authorization\r\nX-Own: 1\r\nTE: trailers\r\n' +
      'Upgrade: h2c\r\nProxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nAuthorization: Bearer k\r\nX-End: 1\r\n\r\n',
  )
  const answer = await client.until('\r\n\r\n')
  assert.doesNotMatch(answer, /x-hop|timeout/i)
  assert.match(answer, /X-End: 1/)
  const [sent = ''] = service.received
  assert.doesNotMatch(sent, /x-own|\bte:|upgrade|proxy-/i)
  assert.match(sent, /Authorization: Bearer k\r\nX-End: 1\r\n/)
})

test('proxy - bodies and trailers pass byte by byte in both directions, in any chunks', async t => {
  const { baseUrl } = await serve(t, async (request, response) => {
    const body = await buffer(request)
    response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-end' })
    for (let at = 0; at < body.length; at += 5) response.write(body.subarray(at, at + 5))
    response.addTrailers(
      request.rawTrailers.length > 0 ? [['X-End', request.rawTrailers[1] ?? '']] : [],
    )
    response.end()
  })
  await using proxy = await proxyTo({ baseUrl })
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 })
  const trailer = fc.option(fc.stringMatching(/^[\x21-\x7e]{1,20}$/))
  await fc.assert(
    fc.asyncProperty(chunks, trailer, fc.boolean(), async (parts, end, hasLength) => {
      const whole = Buffer.concat(parts)
      const outgoing = httpRequest(`${proxy.url}/pets`, {
        method: 'POST',
        agent,
        headers: hasLength ? { 'content-length': whole.length } : { trailer: 'X-End' },
      })
      for (const part of parts) if (part.length > 0) outgoing.write(part)
      if (!hasLength && end !== null) outgoing.addTrailers([['X-End', end]])
      outgoing.end()
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
      assert.deepEqual(await buffer(incoming), whole)
      const expected = !hasLength && end !== null ? ['X-End', end] : []
      assert.deepEqual(incoming.rawTrailers, expected)
    }),
    { seed: 20_301_205, numRuns: 60 },
  )
  assert.equal(proxy.failures.length, 0)
})

test('proxy - what arrives at the server is framed as the client framed it', async () => {
  for (const [head, body, sent] of [
    ['POST', '', /Content-Length: 0\r\n/],
    ['POST', 'Content-Length: 0\r\n\r\n', /Content-Length: 0\r\n/],
    ['POST', 'Content-Length: 2\r\n\r\nab', /Content-Length: 2\r\n.*\r\n\r\nab$/s],
    [
      'POST',
      'transfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
      /transfer-encoding: chunked\r\n.*\r\n2\r\nab\r\n0\r\n\r\n$/s,
    ],
    ['DELETE', '', /^(?!.*(content-length|transfer-encoding)).*$/is],
    ['DELETE', 'Content-Length: 2\r\n\r\nab', /Content-Length: 2\r\n.*ab$/s],
    [
      'GET',
      'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
      /Transfer-Encoding: chunked.*2\r\nab\r\n0\r\n\r\n$/s,
    ],
  ] as const) {
    let timer: NodeJS.Immediate | undefined
    await using service = await rawService(socket => {
      clearImmediate(timer)
      timer = setImmediate(() => setImmediate(() => socket.writable && socket.write(OK)))
    })
    await using proxy = await proxyTo({ baseUrl: service.url })
    const client = await connect(proxy)
    client.write(`${head} /v1/pets HTTP/1.1\r\nHost: localhost\r\n${body || '\r\n'}`)
    await client.until('[]')
    assert.match(service.received[0] ?? '', sent, `${head} ${body}`)
  }
})

test('proxy - a client that waits for 100 Continue gets it', async () => {
  await using service = await rawService((socket, received) => {
    if (received.endsWith('\r\n\r\n')) {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    }
    if (received.endsWith('ab')) socket.write(OK)
  })
  await using proxy = await proxyTo({ baseUrl: service.url })
  const client = await connect(proxy)
  client.write(
    'POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  )
  await client.until('100 Continue\r\n\r\n')
  client.write('ab')
  assert.deepEqual(statusesIn(await client.until('[]')), [100, 200])
})

test('proxy - the first bytes arrive before the last are sent, also without a body', async () => {
  await using service = await rawService((socket, received) => {
    if (received.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n')
  })
  await using proxy = await proxyTo({ baseUrl: service.url })
  const client = await connect(proxy)
  client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await client.until('X-A: 1')
  service.sockets[0]?.write('one')
  await client.until('one')
  service.sockets[0]?.end('two')
  assert.match(await client.ended(), /3\r\ntwo\r\n0\r\n\r\n$/)
})

test('proxy - a client that goes away ends its request, in every phase', async () => {
  for (const [sent, phase] of [
    ['POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab', 'while it sends'],
    ['GET /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n', 'while it waits'],
    ['GET /v1/pets?body HTTP/1.1\r\nHost: localhost\r\n\r\n', 'while it reads'],
  ] as const) {
    await using service = await rawService((socket, received) => {
      if (received.includes('?body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab')
    })
    await using proxy = await proxyTo({ baseUrl: service.url })
    const client = await connect(proxy)
    client.write(sent)
    if (phase === 'while it reads') await client.until('ab')
    while (!service.received[0]?.includes(sent.slice(-2))) await nextTurn()
    client.socket.destroy()
    await service.ended[0]
    assert.deepEqual([proxy.failures.length, rules(proxy.report().findings)], [0, []], phase)
  }
})

test('proxy - a server that follows its client and closes has not failed', async t => {
  let onArrival = () => {}
  const { baseUrl } = await serve(t, () => onArrival())
  await using proxy = await proxyTo({ baseUrl })
  const client = await connect(proxy)
  onArrival = () => client.socket.destroy()
  client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n')
  while (proxy.report().unanswered === 0) await nextTurn()
  assert.equal(proxy.failures.length, 0)
})

test('proxy - a connection of the client lives as long as its own to the server', async () => {
  await using service = await rawService((socket, received) => {
    if (received.endsWith('\r\n\r\n')) socket.write(OK)
  })
  await using proxy = await proxyTo({ baseUrl: service.url })
  const [one, other] = [await connect(proxy), await connect(proxy)]
  for (const [client, answer] of [
    [one, /\[\]/],
    [other, /\[\]/],
    [one, /\[\].*\[\]/s],
  ] as const) {
    client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await client.until(answer)
  }
  assert.equal(service.sockets.length, 2)
  service.sockets[0]?.end()
  await one.ended()
  other.socket.end()
  await service.ended[1]

  await using closing = await rawService(answering(OK.replace('\r\n', '\r\nConnection: close\r\n')))
  await using second = await proxyTo({ baseUrl: closing.url })
  const client = await connect(second)
  client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assert.match(await client.ended(), /Connection: close/)
})

test('proxy - reaches one server: whole URLs, CONNECT, foreign hosts and other codings are refused', async () => {
  await using service = await rawService(answering(OK))
  await using proxy = await proxyTo({ baseUrl: service.url })
  for (const [request, status] of [
    [`GET ${service.url}/pets HTTP/1.1\r\nHost: localhost\r\n\r\n`, 400],
    ['GET http://other.test/ HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n', 400],
    ['GET /v1/pets HTTP/1.1\r\nHost: other.test\r\n\r\n', 403],
    ['GET /v1/pets HTTP/1.1\r\n\r\n', 400],
    [
      'POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      501,
    ],
    ['nonsense\r\n\r\n', 400],
    [
      'GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
  ] as const) {
    const client = await connect(proxy)
    client.write(request)
    const received = await client.until(/"status":\d+\}/)
    assert.deepEqual(
      [statusesIn(received), lastError(received).status],
      [[status], status],
      request,
    )
    client.socket.destroy()
  }
  assert.deepEqual([service.sockets.length, proxy.report().requestCount], [0, 0])
})

test('proxy - redirects are not followed, and paths outside the base path pass unjudged', async () => {
  await using other = await rawService(answering(OK))
  const moved = `HTTP/1.1 307 Moved\r\nLocation: ${other.url}/pets\r\nContent-Length: 0\r\n\r\n`
  await using service = await rawService(answering(moved))
  await using proxy = await proxyTo({ baseUrl: service.url })
  const init = { headers: { authorization: 'Bearer k' }, redirect: 'manual' } as const
  const response = await fetch(new URL('/openapi.json', proxy.url), init)
  assert.deepEqual([response.status, response.headers.get('location')], [307, `${other.url}/pets`])
  assert.match(service.received[0] ?? '', /^GET \/openapi\.json HTTP/)
  assert.deepEqual([other.sockets.length, proxy.report().requestCount], [0, 0])
})

/** Bad servers, and what the client gets. */
const HOSTILE: readonly (readonly [behaviour: string, answer: string])[] = [
  ['closes without a response', ''],
  ['sends bytes that are not HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['ends within the head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ['sends an endless head', `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(1_000)}\r\n`.repeat(80)}`],
  ['sends an invalid status', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'],
  ['switches protocols', 'HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
]

for (const [behaviour, answer] of HOSTILE) {
  test(`proxy - 502 for a server that ${behaviour}, which is not held against the client`, async () => {
    await using service = await rawService(socket => void socket.end(answer))
    await using proxy = await proxyTo({ baseUrl: service.url })
    for (let count = 1; count <= 3; count++) {
      const response = await fetch(`${proxy.url}/pets`, { headers: { authorization: 'Bearer k' } })
      const error = (await response.json()) as Record<string, unknown>
      assert.deepEqual([response.status, error['status'], error['code']], [502, 502, 'bad_gateway'])
      assert.equal(response.headers.get('proxy-status'), 'animal-adoption-store')
    }
    const { findings, notes, unanswered, decided } = proxy.report()
    assert.deepEqual([findings, notes, unanswered, decided], [[], [], 3, 0])
    assert.equal(proxy.failures.length, 3)
    assert.doesNotMatch(proxy.failures[0]?.reason ?? '\n', /\n/)
  })
}

test('proxy - a silent server gets its time, before the response and within it', async () => {
  for (const [begins, expected] of [
    ['', /^HTTP\/1\.1 504 [\s\S]*"code":"gateway_timeout"[\s\S]*nothing came for 0\.4 s/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab', /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nab$/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n', /^HTTP\/1\.1 504 /],
  ] as const) {
    await using service = await rawService(socket => void (begins && socket.write(begins)))
    await using proxy = await proxyTo({ baseUrl: service.url }, { timeoutMs: 400 })
    const client = await connect(proxy)
    client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    assert.match(await client.ended(), expected)
    assert.equal(proxy.failures.length, 1)
    assert.deepEqual(rules(proxy.report().findings), [])
  }
})

test('proxy - what is cut off arrives as far as it came', async () => {
  await using service = await rawService(socket => {
    socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[1,')
  })
  await using proxy = await proxyTo({ baseUrl: service.url })
  const client = await connect(proxy)
  client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n\r\n')
  assert.match(await client.ended(), /Content-Length: 9\r\n[\s\S]*\r\n\r\n\[1,$/)
  assert.equal(proxy.failures.length, 1)
})

test('proxy - a slow client is waited for: the server has no turn, and is held back', async t => {
  const megabyte = Buffer.alloc(1_048_576, 'x')
  let written = 0
  const { baseUrl } = await serve(t, async (request, response) => {
    if (request.url === '/v1/silent') return
    response.writeHead(200)
    for (let count = 0; count < 64; count++) {
      const isRead = response.write(megabyte)
      written++
      if (!isRead) await once(response, 'drain')
    }
    response.end()
  })
  await using proxy = await proxyTo({ baseUrl }, { timeoutMs: 300 })
  const client = await connect(proxy)
  client.socket.pause()
  client.write('GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  // The time limit passes again and again, until nothing is under way any more.
  let [before, passed] = [-1, 0]
  for (; before !== written || passed < 3; passed++) {
    before = written
    assert.equal((await fetch(`${proxy.url}/silent`)).status, 504)
  }
  assert.ok(written > 0 && written < 60, `${written} MiB are under way`)
  assert.equal(proxy.failures.length, passed)
  client.socket.resume()
  assert.ok((await client.ended()).length > 64 * megabyte.length)
})

test('proxy - a client that has ended its side still gets its response', async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  await using proxy = await proxyTo({ baseUrl: url })
  const client = await openSocket(Number(new URL(proxy.url).port), true)
  client.socket.end(
    'GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer demo-free\r\n\r\n',
  )
  assert.match(await client.ended(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n\[\]$/)
  assert.deepEqual([proxy.failures.length, proxy.report().decided], [0, 1])
})

test('proxy - a ban is seen in a compressed body', async t => {
  let sent = 0
  const { baseUrl } = await serve(t, (_, response) => {
    const code = ++sent > 2 ? 'api_key_banned' : 'rate_limit_exceeded'
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    response.writeHead(429, { ...headers, 'retry-after': '60' })
    response.end(gzipSync(JSON.stringify({ code, message: '', status: 429 })))
  })
  await using proxy = await proxyTo({ baseUrl, clients: 1, clock: () => 0 })
  const headers = { authorization: 'Bearer k' }
  for (let count = 0; count < 3; count++)
    await (await fetch(`${proxy.url}/pets`, { headers })).text()
  assert.deepEqual(rules(proxy.report().findings), ['ban.risked'])
})

async function connect({ url }: OpenProxy): Promise<RawSocket> {
  return openSocket(Number(new URL(url).port))
}

async function serve(t: TestContext, listener: RequestListener) {
  return { baseUrl: `${(await serveHttp(t, listener)).origin}/v1` }
}
