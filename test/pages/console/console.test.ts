import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { toFetchHandler } from '../../../adapters/http/fetch.js'
import { listen } from '../../../adapters/http/index.js'
import { withConsole } from '../../../adapters/pages/console/index.js'
import type { Update } from '../../../adapters/pages/console/streams.js'
import { memoryRateLimitStore, memoryStorage } from '../../../adapters/stores/memory.js'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import { type ApiHandler, createStore, type PetStorage } from '../../../src/index.js'
import { ROOT_URL } from '../../support/paths.js'

const HTML = { accept: 'text/html,*/*;q=0.8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const TOKEN = 'a-token_of-24-characters'
const BEARER = { authorization: `Bearer ${TOKEN}` }
const API_KEYS = {
  'demo-free': { id: 'demo-free', plan: 'free' },
  s3cret: { id: 'ci', plan: 'pro' },
} as const

test('console - GET / is the page for browsers, and the API is unchanged', async t => {
  const { get, list } = await served(t)
  const page = await get('/', HTML)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/,
  )
  assert.match(policy, /frame-ancestors 'none'/)
  const text = await page.text()
  const urls = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url)
  assert.deepEqual(
    urls.filter(url => !url.startsWith('data:')),
    ['_console/page.css', '_console/page.js'],
  )
  for (const url of ['/_console/page.css', '/_console/page.js']) {
    assert.equal((await get(url)).status, 200)
  }
  assert.equal((await get('/')).status, 404)
  assert.equal((await list()).status, 200)
})

test('console - one script of at most 24 KB gzipped, and one style', async t => {
  const { get } = await served(t)
  for (const [path, most] of [
    ['/_console/page.js', 24],
    ['/_console/page.css', 4],
  ] as const) {
    const { length } = gzipSync(await (await get(path)).text())
    assert.ok(length > 1_000 && length <= most * 1024, `${path}: ${length} bytes`)
  }
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'))
  for (const name of ['preact', 'esbuild']) assert.ok(!(name in dependencies), name)
})

test('console - the stream begins with the latest requests, and continues', async t => {
  const { list, watch } = await served(t)
  await list('demo-free', 'limit=1')
  const { next } = await watch()
  const first = await next()
  assert.deepEqual(
    first.entries.map(({ n, query, keyId, remaining, client, connection }) => [
      ...[n, query, keyId, remaining, client, connection],
    ]),
    [[1, 'limit=1', 'demo-free', 59, 'node', 1]],
  )
  assert.equal(first.state.keys[0]?.usage?.minuteCount, 1)
  await list('wrong')
  await list('demo-free')
  const entries = [...(await next()).entries]
  while (entries.length < 2) entries.push(...(await next()).entries)
  assert.deepEqual(
    entries.map(({ n, status, keyId }) => [n, status, keyId]),
    [
      [2, 401, null],
      [3, 200, 'demo-free'],
    ],
  )
})

test('console - under load, a message holds the latest requests and counts those it omits', async t => {
  const { handler, watch } = await served(t, { rateLimiting: false })
  const { next } = await watch()
  await next()
  const headers = { authorization: 'Bearer demo-free' }
  for (let n = 0; n < 3_000; n++) {
    await handler.handle({ method: 'GET', path: '/v1/pets', query: '', headers })
  }
  let seen = 0
  let omitted = 0
  let last = 0
  const counts = new Map<number, readonly number[]>()
  while (last < 3_000) {
    const update = await next()
    seen += update.entries.length
    omitted += update.omitted
    last = update.entries.at(-1)?.n ?? last
    for (const { at, counts: some } of update.traffic) counts.set(at, some)
    assert.ok(update.entries.length <= 20)
  }
  assert.equal(seen + omitted, 3_000)
  assert.ok(omitted > 0)
  assert.equal(
    [...counts.values()].reduce((sum, [ok = 0]) => sum + ok, 0),
    3_000,
  )
})

test('console - a message that comes late still has the traffic since the one before', async t => {
  const { list, watch } = await served(t)
  let now = 1_700_000_000_000
  t.mock.method(Date, 'now', () => now)
  const { next } = await watch()
  await next()
  await list()
  const at = now / 1_000
  now += 5_000
  const { traffic } = await next()
  assert.deepEqual(
    traffic.map(({ at, counts: [ok] }) => [at, ok]),
    [[at, 1]],
  )
})

test('console - the latest 500 requests are kept, and of a second with more than 1,000 the latest 20', async t => {
  const { handler, watch } = await served(t, { rateLimiting: false })
  let now = 1_700_000_000_000
  t.mock.method(Date, 'now', () => now)
  const kept = async (requests: number) => {
    const headers = { authorization: 'Bearer demo-free' }
    for (let n = 0; n < requests; n++) {
      await handler.handle({ method: 'GET', path: '/v1/pets', query: '', headers })
    }
    const watcher = await watch()
    const { entries, omitted } = await watcher.next()
    watcher.close()
    return [entries.length, omitted, entries[0]?.n]
  }
  assert.deepEqual(await kept(1_000), [500, 500, 501])
  assert.deepEqual(await kept(1), [20, 981, 982])
  now += 1_000
  assert.deepEqual(await kept(480), [500, 981, 982])
  assert.deepEqual(await kept(1), [500, 982, 983])
})

test('console - a create that is sent again is not dropped because its first client has gone', async t => {
  const storage = memoryStorage()
  const gone: (boolean | undefined)[] = []
  const insert: PetStorage['insert'] = (pet, isGone) => {
    gone.push(isGone?.())
    return storage.insert(pet)
  }
  const { fetch, post } = await served(t, { storage: { ...storage, insert } })
  const headers = { ...JSON_TYPE, authorization: 'Bearer demo-free' }
  const body = '{"name":"Ada","categoryId":1}'
  await (await fetch('/v1/pets', { method: 'POST', headers, body })).text()
  await post('/_console/exchanges/1/resend', '{}')
  assert.deepEqual(gone, [false, undefined])
})

test('console - the page is public, and its data open to a bearer of the token only', async t => {
  const handler = withConsole(store(), { token: TOKEN })
  const ask = (path: string, query: string, headers: Readonly<Record<string, string>> = {}) =>
    handler.handle({
      ...{ method: 'GET', path, query, client: '127.0.0.1' },
      headers: { host: 'localhost:8080', ...HTML, ...headers },
    })
  for (const [path, query, headers, status] of [
    ['/', '', {}, 200],
    ['/_console/page.js', '', {}, 200],
    ['/_console/page.css', '', {}, 200],
    ['/_console/info', '', BEARER, 200],
    // Whoever comes through a proxy on this machine looks like this machine.
    ['/_console/info', '', {}, 403],
    ['/_console/info', `token=${TOKEN}`, {}, 403],
    ['/_console/info', '', { cookie: `adoption-store-8080=${TOKEN}` }, 403],
    ['/_console/info', '', { authorization: `Bearer ${TOKEN}x` }, 403],
  ] as const) {
    const answer = await ask(path, query, headers)
    assert.equal(answer.status, status, `${path} ${query} ${JSON.stringify(headers)}`)
    assert.doesNotMatch(answer.body, /a-token/)
    assert.equal(answer.headers['Set-Cookie'], undefined)
  }
  assert.throws(() => withConsole(store(), { token: 'short' }), /^OptionError: .*got a string$/)
  const { token: random } = withConsole(store())
  assert.ok(random.length === 36 && random !== withConsole(store()).token)

  const { get, fetch } = await served(t)
  const info = await get('/_console/info', { origin: 'http://evil.test' })
  assert.equal(info.headers.get('access-control-allow-origin'), null)
  assert.equal(info.headers.get('cross-origin-resource-policy'), 'same-origin')
  for (const path of ['/_console/animals', '/_console/exchanges/1/resend']) {
    const headers = { ...BEARER, 'content-type': 'text/plain' }
    assert.equal((await fetch(path, { method: 'POST', body: '{}', headers })).status, 415)
  }
})

test('console - an open stream does not keep a server from closing', async () => {
  const server = await listen(withConsole(store(), { token: TOKEN }), { port: 0 })
  const response = await fetch(`${server.origin}/_console/events`, { headers: BEARER })
  const reader = response.body?.getReader()
  assert.match(new TextDecoder().decode((await reader?.read())?.value), /^retry: 1000\nid: /)
  await server.close()
})

test('console - streams are limited in number, and end with their readers', {
  timeout: 60_000,
}, async t => {
  const { get, origin } = await served(t)
  const sockets = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      t.after(() => socket.destroy())
      socket.write(
        `GET /_console/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
      )
      await once(socket, 'data')
      return socket
    }),
  )
  assert.equal((await get('/_console/events')).status, 503)
  // A browser that leaves the page stops sending and reading.
  const closed = sockets.map(socket => once(socket.resume().end(), 'close'))
  await Promise.all(closed)
  const again = await get('/_console/events')
  assert.equal(again.status, 200)
  await again.body?.cancel()
})

test('console - works while the rate limit store is unavailable', async t => {
  const handler = withConsole(store(), {
    token: TOKEN,
    apiKeys: () => API_KEYS,
    usage: () => Promise.reject(new Error('no connection')),
  })
  const server = await listen(handler, { port: 0 })
  t.after(() => server.close())
  const { next } = await watchStream(server.origin, {})
  assert.deepEqual(
    (await next()).state.keys.map(({ id, usage }) => [id, usage]),
    [
      ['demo-free', null],
      ['ci', null],
    ],
  )
  await fetch(`${server.origin}/v1/pets`)
  assert.equal((await next()).entries[0]?.status, 401)
})

test('console - through a door that cannot stream, it sends one message and ends', async () => {
  const handle = toFetchHandler(withConsole(store(), { token: TOKEN }))
  const url = 'http://localhost/_console/events'
  const response = await handle(new Request(url, { headers: BEARER }))
  assert.match(await response.text(), /^retry: 1000\nid: \d+-0\ndata: \{"entries":\[\]/)
})

test('console - an invalid option and an unknown path are named', async t => {
  assert.throws(
    () => withConsole(store(), { usage: 1 } as never),
    /Expected `usage` to be a function, got 1/,
  )
  const { get, post } = await served(t)
  assert.equal((await get('/_console/nope')).status, 404)
  assert.equal((await post('/_console/info')).status, 404)
})

test('console - the stream shows the limits that apply to a key', async t => {
  const plans = { free: { perMinute: 5, perDay: 50 } }
  const apiKeys = { 'demo-free': { id: 'demo-free', plan: 'free' } } as const
  const own = createStore({ storage: memoryStorage(), apiKeys, plans })
  const double = createTestDouble({ apiKeys, plans })
  const handlers = [
    withConsole(own, { apiKeys: () => apiKeys, token: TOKEN }),
    withConsole({ ...own, basePath: own.basePath }, { apiKeys: () => apiKeys, token: TOKEN }),
    withConsole(double.handler, { apiKeys: () => apiKeys, plans, token: TOKEN }),
  ]
  for (const handler of handlers) {
    const server = await listen(handler, { port: 0 })
    t.after(() => server.close())
    const stream = await watchStream(server.origin, {})
    t.after(stream.close)
    const [key] = (await stream.next()).state.keys
    assert.deepEqual([key?.limits.perMinute, key?.limits.perDay], [5, 50])
    const headers = { authorization: 'Bearer demo-free' }
    const response = await fetch(`${server.url}/pets`, { headers })
    assert.equal(response.headers.get('x-ratelimit-limit'), String(key?.limits.perMinute))
  }
})

function store(options: { rateLimiting?: boolean } = {}) {
  return createStore({ ...options, storage: memoryStorage(), apiKeys: API_KEYS, cors: true })
}

/** A store with its console, on a socket. */
async function served(
  t: TestContext,
  options: { rateLimiting?: boolean; storage?: PetStorage } = {},
) {
  const storage = options.storage ?? memoryStorage()
  const rateLimitStore = memoryRateLimitStore()
  const inner = createStore({ ...options, storage, rateLimitStore, apiKeys: API_KEYS, cors: true })
  const handler: ApiHandler = withConsole(inner, {
    token: TOKEN,
    apiKeys: () => API_KEYS,
    usage: rateLimitStore.inspect,
    animals: { list: storage.list, create: inner.createPet },
  })
  const server = await listen(handler, { port: 0 })
  t.after(() => server.close())
  const { origin } = server
  const send = (path: string, init?: RequestInit) => fetch(`${origin}${path}`, init)
  return {
    handler,
    origin,
    fetch: send,
    get: (path: string, headers = {}) => send(path, { headers: { ...BEARER, ...headers } }),
    post: (path: string, body?: string) =>
      send(path, {
        method: 'POST',
        headers: { ...BEARER, ...JSON_TYPE },
        ...(body !== undefined && { body }),
      }),
    list: (key = 'demo-free', query = '') =>
      send(`/v1/pets?${query}`, { headers: { authorization: `Bearer ${key}` } }),
    watch: (headers = {}) => watchStream(origin, headers),
  }
}

async function watchStream(origin: string, headers: Record<string, string>) {
  const controller = new AbortController()
  const response = await fetch(`${origin}/_console/events`, {
    headers: { ...BEARER, ...headers },
    signal: controller.signal,
  })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  let id = ''
  return {
    id: () => id,
    close: () => controller.abort(),
    async next(): Promise<Update> {
      while (!buffer.includes('\n\n')) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error('The stream has ended.')
        buffer += value
      }
      const end = buffer.indexOf('\n\n')
      const message = buffer.slice(0, end)
      buffer = buffer.slice(end + 2)
      id = /^id: (.*)$/m.exec(message)?.[1] ?? ''
      return JSON.parse(/^data: (.*)$/m.exec(message)?.[1] ?? '')
    },
  }
}
