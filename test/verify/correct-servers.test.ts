import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { broken, KEY } from './correct-servers/failed-checks.js'
import { type Choices, type Count, plainServer } from './correct-servers/plain-server.js'

const SPARE = 'Correct-spare-1'
const DAY = 86_400_000

/** Servers on Node's http that make other choices than ours. */
const PLAIN: Readonly<Record<string, Omit<Choices, 'apiKeys' | 'clock'>>> = {
  'whose limits do not apply, with constant headers': {
    limits: (_, now) => ({ limit: 60, remaining: 60, reset: now + 60_000 }),
  },
  'that is strict, and knows few categories': {
    limits: windows(100, 60_000),
    strict: true,
    categories: [1, 2, 3],
    defaultStatus: 'pending',
  },
  'with large ids, the newest first': {
    limits: windows(100, 60_000),
    firstId: 9_007_199_254_740_993n,
    newestFirst: true,
  },
  'with windows of ten seconds, and dates in Retry-After': {
    limits: windows(40, 10_000),
    retryAfter: (seconds, now) => new Date(now + seconds * 1000).toUTCString(),
    defaultStatus: 'available',
  },
  'with windows of a day': { limits: windows(400, DAY) },
  'with a bucket that is refilled all the time': { limits: bucket(30, 1_000) },
  'that writes JSON with spaces': { limits: windows(100, 60_000), indent: 3 },
}

for (const [name, choices] of Object.entries(PLAIN)) {
  test(`verify - a server ${name} breaks nothing`, async t => {
    let now = Date.parse('2030-01-01T00:00:00Z')
    const clock = () => now
    const baseUrl = await serve(t, plainServer({ apiKeys: [KEY, SPARE], clock, ...choices }))
    const sleep = async (ms: number) => {
      now += ms
    }
    const time = { clock, sleep, maxWait: 10 * DAY }
    const options = { baseUrl, exhaust: true, spareApiKey: SPARE, ...time }
    assert.deepEqual(await broken(options), [])
  })
}

test('verify - a server whose reads lag behind creates breaks no MUST', async t => {
  let now = Date.parse('2030-01-01T00:00:00Z')
  const clock = () => now
  const server = plainServer({ apiKeys: [KEY], clock, limits: windows(100, 60_000), lagMs: 800 })
  const sleep = async (ms: number) => {
    now += ms
  }
  assert.deepEqual(await broken({ baseUrl: await serve(t, server), clock, sleep }), [
    'SHOULD get.newest',
    'SHOULD list.newest',
  ])
})

test('verify - a server without limits and their headers gets one SHOULD', async t => {
  const baseUrl = await serve(t, plainServer({ apiKeys: [KEY], clock: Date.now }))
  assert.deepEqual(await broken({ baseUrl }), ['SHOULD ratelimit.headers'])
})

test('verify - a server that counts all requests together breaks nothing', async t => {
  const inAll = windows(100_000, 60_000)
  const limits = (_: string, now: number) => inAll('all', now)
  const server = plainServer({ apiKeys: [KEY], clock: Date.now, limits })
  assert.deepEqual(await broken({ baseUrl: await serve(t, server) }), [])
})

test('verify - a server that answers 501 to methods that it does not have breaks nothing', async t => {
  const plain = plainServer({ apiKeys: [KEY], clock: Date.now })
  const baseUrl = await serve(t, (request, response) => {
    if (/^(GET|POST)$/.test(request.method ?? '')) return plain(request, response)
    request.resume()
    response.writeHead(501).end()
  })
  assert.deepEqual(await broken({ baseUrl }), ['SHOULD ratelimit.headers'])
})

test('verify - a refusal of a large body that is lost with its connection breaks nothing', async t => {
  const { baseUrl, refused } = await withLimitedBodies(t, refusals => refusals <= 2)
  assert.deepEqual(await broken({ baseUrl, only: ['robust.large-body'] }), [])
  assert.equal(refused(), 3)
})

test('verify - a server that is gone after a large body breaks robust.large-body', async t => {
  const { baseUrl, refused } = await withLimitedBodies(t, () => true)
  const failed = await broken({ baseUrl, only: ['robust.large-body'] })
  assert.deepEqual(failed, ['MUST robust.large-body'])
  assert.equal(refused(), 3)
})

test('verify - a server that a body crashes breaks its check, whatever it answers to a head alone', async t => {
  const plain = plainServer({ apiKeys: [KEY], clock: Date.now })
  let heads = 0
  const baseUrl = await serve(t, (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) < 30_000) return plain(request, response)
    const timer = setTimeout(() => {
      heads++
      response.writeHead(408, { connection: 'close' }).end()
    }, 100)
    request.once('data', () => {
      clearTimeout(timer)
      request.socket.resetAndDestroy()
    })
  })
  const failed = await broken({ baseUrl, only: ['robust.nesting'] })
  assert.deepEqual(failed, ['MUST robust.nesting'])
  assert.equal(heads, 1)
})

test('verify - a connection that ends because of the request before breaks nothing', async t => {
  const plain = plainServer({ apiKeys: [KEY], clock: Date.now })
  let requests = 0
  const baseUrl = await serve(t, (request, response) => {
    if (++requests === 5) request.socket.resetAndDestroy()
    else plain(request, response)
  })
  assert.deepEqual(await broken({ baseUrl, only: ['list'] }), [])
})

/** A server that answers 413 before it reads, or resets the connection instead. */
async function withLimitedBodies(t: TestContext, resets: (refusals: number) => boolean) {
  const plain = plainServer({ apiKeys: [KEY], clock: Date.now })
  let refusals = 0
  const baseUrl = await serve(t, (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) < 1_000_000) return plain(request, response)
    if (resets(++refusals)) return request.socket.resetAndDestroy()
    response.writeHead(413, { connection: 'close', 'content-type': 'application/json' })
    response.end('{"code":"too_large","message":"The body is too large.","status":413}')
    // Whoever still sends does not read it.
    request.once('data', () => request.socket.resetAndDestroy())
  })
  return { baseUrl, refused: () => refusals }
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** At most `limit` requests of each key in windows of `ms`. */
function windows(limit: number, ms: number): (key: string, now: number) => Count {
  const used = new Map<string, { reset: number; count: number }>()
  return (key, now) => {
    const last = used.get(key)
    const window = last && last.reset > now ? last : { reset: now - (now % ms) + ms, count: 0 }
    used.set(key, { ...window, count: window.count + 1 })
    return { limit, remaining: limit - window.count - 1, reset: window.reset }
  }
}

/** A bucket for each key, which gains one request every `ms`. */
function bucket(limit: number, ms: number): (key: string, now: number) => Count {
  const levels = new Map<string, { at: number; level: number }>()
  return (key, now) => {
    const { at, level } = levels.get(key) ?? { at: now, level: limit }
    const filled = Math.min(limit, level + (now - at) / ms)
    const left = filled >= 1 ? filled - 1 : filled
    levels.set(key, { at: now, level: left })
    const remaining = filled >= 1 ? Math.floor(left) : -1
    // When the next request is possible, or all of them are.
    const wait = filled >= 1 ? (limit - left) * ms : (1 - filled) * ms
    return { limit, remaining, reset: now + wait }
  }
}
