import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { listen } from '../../adapters/http/index.js'
import { withConsole } from '../../adapters/pages/console/index.js'
import { withDocs } from '../../adapters/pages/openapi/docs.js'
import { jsonFileStorage } from '../../adapters/stores/json-file/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import {
  CHECKS,
  type CheckResult,
  OptionError,
  type TestFunction,
  VerifyError,
  type VerifyOptions,
  type VerifyReport,
  verify,
  verifySuite,
  type Wait,
} from '../../adapters/verify/index.js'
import { reportJUnit } from '../../adapters/verify/junit.js'
import { createStore, type Store, type StoreOptions, SUNSET } from '../../src/index.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { temporaryFolders } from '../stores/json-file/json-files.js'
import {
  answers,
  failure,
  isBan,
  MAIN_KEY,
  openFaulty,
  SPARE_KEY,
  type Where,
  type Wrong,
} from './faulty-server.js'

const DAY = 86_400_000
const folder = temporaryFolders()

/** Our own server in each of its forms, with the checks that do not apply to it. */
const CONFIGURATIONS: Readonly<
  Record<
    string,
    {
      readonly store?: () => Promise<Partial<StoreOptions>>
      readonly around?: (store: Store) => ApiHandler
      readonly verify?: Partial<VerifyOptions>
      /** Without the checks that need a socket, which this form cannot change. */
      readonly inProcess?: true
      readonly skipped?: readonly string[]
    }
  >
> = {
  'with a JSON file, another base path, a deprecation date and no default status': {
    store: async () => ({
      storage: jsonFileStorage(`${folder()}/p.json`),
      basePath: '/staging/v1',
      deprecatedAt: T0 - 30 * DAY,
      defaultStatus: null,
    }),
    inProcess: true,
  },
  'with a console, a description, pagination, CORS and draft headers': {
    store: async () => ({ pagination: true, cors: true, standardHeaders: 'draft-10' }),
    around: store => withConsole(withDocs(store), { clock: () => T0 }),
    verify: { openApiUrl: '/openapi.json' },
    skipped: [],
  },
  'with 150 animals': {
    inProcess: true,
    store: async () => {
      const storage = memoryStorage()
      for (let n = 1; n <= 150; n++) {
        await storage.insert({ name: `Pet ${n}`, categoryId: n, status: 'available' })
      }
      return { storage }
    },
    // No page shows all animals, or all that are available.
    skipped: ['openapi', 'create.refused-unstored', 'list.created', 'list.newest'],
  },
  'after the removal of getPet, without rate limits': {
    inProcess: true,
    store: async () => ({ clock: () => SUNSET + DAY, rateLimiting: false }),
    // Every response carries the headers (spec §8), so this one is not the API of the specification.
    verify: { skip: ['limits', 'ratelimit'] },
    skipped: [
      'openapi',
      'get',
      'deprecation.announced',
      'deprecation.sunset',
      'deprecation.date',
      'auth.get',
      'auth.again.get',
      'auth.before-id',
      'create.location',
      'error.404',
      'error.as-usual',
    ],
  },
}

const SOCKET = CHECKS.filter(({ needs }) => needs?.includes('socket')).map(({ id }) => id)

for (const [
  name,
  { store, around, inProcess, verify: more, skipped = ['openapi'] },
] of Object.entries(CONFIGURATIONS)) {
  const left = inProcess ? [...skipped, ...SOCKET] : skipped
  test(`verify - our own server ${name} breaks nothing`, async () => {
    await using own = await openOwn(await store?.(), around, inProcess && 'in process')
    const openApiUrl = more?.openApiUrl && `${own.origin}${more.openApiUrl}`
    const { results, ok } = await verify({ ...own.options, ...more, openApiUrl })
    assert.deepEqual(failedIn(results), [])
    assert.equal(ok, true)
    const unexpected = results.filter(
      ({ id, outcome }) =>
        (outcome === 'skipped') !== left.some(part => `${id}.`.startsWith(`${part}.`)),
    )
    assert.deepEqual(unexpected, [])
  })
}

test('verify - a run waits for windows, never gets a 429 or a ban, and names what it creates', async () => {
  const rejections: string[] = []
  await using own = await openOwn({}, undefined, 'in process')
  own.store.events.on('limit.exceeded', ({ partition }) => rejections.push(partition))
  const waits: Wait[] = []
  const { requestCount: requests } = await verify({
    ...own.options,
    exhaust: false,
    onWait: wait => waits.push(wait),
  })
  assert.deepEqual(rejections, [])
  assert.ok(requests <= 450, `${requests} requests`)
  assert.ok(waits.length > 0 && waits.length < requests / 60, `${waits.length} waits`)
  assert.ok(
    waits.every(({ waitMs, reason }) => waitMs > 0 && waitMs <= 61_000 && reason === 'limit'),
  )
  const { pets } = await own.storage.dump()
  assert.ok(pets.length > 20)
  for (const { name } of pets) {
    assert.match(name, /^[ \ufeff]?\[verify [0-9a-z]+\] |^(verify|123|1e3|true|null)$/)
  }
})

test('verify - a check alone passes, and sends no more requests than it announces', async () => {
  for (const { id, maxRequests: requests, needs } of CHECKS) {
    if (needs?.includes('exhaust')) continue
    const report = await verifyOnly(id, needs?.includes('socket') ? 'over HTTP' : 'in process')
    assert.deepEqual([id, report.results[0]?.outcome], [id, 'passed'])
    assert.ok(
      report.requestCount - 1 <= requests,
      `${id}: ${report.requestCount - 1} of ${requests}`,
    )
  }
})

test('verify - 429 that others cause are waited for, then the run ends', async () => {
  const server = await openFaulty({})
  const rejecting = (times: number) => {
    let count = 0
    return byRequest(async request => {
      if (count++ === 0 || count > times + 1) return server.fetch(request)
      return new Response('{}', { status: 429, headers: { 'retry-after': '7' } })
    })
  }
  const waits: number[] = []
  const options = {
    ...server,
    apiKey: MAIN_KEY,
    onWait: ({ waitMs }: Wait) => waits.push(waitMs),
  }
  const { results } = await verify({ ...options, fetch: rejecting(3), only: ['list.answer'] })
  assert.equal(results[0]?.outcome, 'passed')
  assert.deepEqual(waits, [7_000, 7_000, 7_000])
  await assert.rejects(verify({ ...options, fetch: rejecting(4), only: ['list.answer'] }), {
    name: 'VerifyError',
    message: 'Others use the key as well: its requests keep getting 429',
  })
})

test('verify - a budget that cannot suffice until tomorrow ends the run before it begins', async () => {
  await using own = await openOwn(
    withLimits({ perMinute: 500, perDay: 60 }),
    undefined,
    'in process',
  )
  await assert.rejects(verify({ ...own.options, exhaust: false, only: ['auth', 'create'] }), {
    name: 'VerifyError',
    message:
      /^The key has 59 requests until 2030-01-02T00:00:00Z, and this may take \d+; choose fewer checks$/,
  })
  assert.equal((await own.store.listPets()).length, 0)
  const { ok } = await verify({
    ...own.options,
    exhaust: false,
    only: ['list.limit', 'list.answer'],
  })
  assert.equal(ok, true)
})

test('verify - a budget that lasts until tomorrow ends the run', async () => {
  await using own = await openOwn(
    withLimits({ perMinute: 50, perDay: 60 }),
    undefined,
    'in process',
  )
  await assert.rejects(verify({ ...own.options, exhaust: false }), {
    name: 'VerifyError',
    message: 'The key is exhausted until 2030-01-02T00:00:00Z; continue then',
  })
})

test('verify - headers that always say 0 do not stop the run for long', async () => {
  await using own = await openOwn()
  const handler = toFetchHandler(own.store)
  const fetch = byRequest(async request => {
    const response = await handler(request)
    response.headers.set('x-ratelimit-remaining', '0')
    return response
  })
  const waits: number[] = []
  const { results } = await verify({
    ...own.options,
    exhaust: false,
    fetch,
    only: ['auth', 'ratelimit'],
    onWait: ({ waitMs }) => waits.push(waitMs),
  })
  assert.deepEqual(
    failedIn(results).map(({ id }) => id),
    ['ratelimit.counts'],
  )
  assert.ok(waits.length <= 4, `${waits.length} waits`)
})

test('verify - readOnly creates nothing and sends no body', async () => {
  await using own = await openOwn()
  await own.store.createPet({ name: 'Ada', categoryId: 9, status: 'sold' })
  const methods = new Set<string>()
  const handler = toFetchHandler(own.store)
  const fetch = byRequest(async request => {
    methods.add(request.method)
    return handler(request)
  })
  const { results } = await verify({ ...own.options, exhaust: false, fetch, readOnly: true })
  assert.deepEqual([...methods].toSorted(), ['GET', 'HEAD', 'PROPFIND'])
  assert.equal((await own.store.listPets()).length, 1)
  const passed = results.filter(({ outcome }) => outcome === 'passed').map(({ id }) => id)
  for (const id of ['get.answer', 'get.listed', 'list.status', 'ratelimit.counts']) {
    assert.ok(passed.includes(id), id)
  }
  assert.deepEqual(failedIn(results), [])
})

test('verify - only, skip, level and bail choose the checks', async () => {
  const server = await openFaulty({})
  const ids = async (options: Partial<VerifyOptions>) => {
    const { results } = await verify({ ...server, apiKey: MAIN_KEY, ...options })
    return results.map(({ id }) => id)
  }
  assert.deepEqual(await ids({ only: ['auth.scheme', 'get.absent'] }), [
    'auth.scheme',
    'get.absent',
  ])
  assert.deepEqual(await ids({ only: ['auth.exact', 'create.location'], level: 'MUST' }), [
    'auth.exact',
  ])
  assert.equal(
    (await ids({ skip: ['create', 'http'] })).some(id => /^(create|http)\./.test(id)),
    false,
  )
  await assert.rejects(ids({ only: ['auth', 'nonsense'] }), {
    name: 'OptionError',
    option: 'only',
    got: "'nonsense'",
  })
  const broken = byRequest(async request => {
    const { pathname } = new URL(request.url)
    const isProbe = request.url.endsWith('?limit=100')
    return isProbe ? server.fetch(request) : new Response(pathname, { status: 500 })
  })
  assert.equal((await ids({ fetch: broken, bail: true })).length, 1)
})

test('verify - a report shows what was sent, what came and what was expected, but no key', async () => {
  const server = await openFaulty({})
  const fetch = byRequest(async request => {
    if (request.url.endsWith('?limit=100')) return server.fetch(request)
    const { authorization } = Object.fromEntries(request.headers)
    return new Response(`{"heard":"${authorization}"}`, {
      status: 202,
      headers: { location: `/${authorization?.slice(7)}` },
    })
  })
  const options = { ...server, fetch, apiKey: MAIN_KEY, spareApiKey: SPARE_KEY }
  const { results } = await verify(options)
  const text = JSON.stringify(results)
  assert.ok(!text.includes(MAIN_KEY) && !text.includes(MAIN_KEY.slice(0, -1)))
  const failure = results.find(({ id }) => id === 'auth.exact')?.failure
  assert.equal(failure?.sent, 'GET /pets, with the key and one more character')
  assert.equal(
    failure?.came,
    '202 | content-type: text/plain;charset=UTF-8 | location: /<credential> | {"heard":"<credential>"}',
  )
  assert.match(
    failure?.expected ?? '',
    /^401; 5 more failed: GET \/pets, with the key but its last /,
  )
})

test('verify - a key that the server echoes in another spelling is not shown', async () => {
  const apiKey = 's3/cr"et+12=='
  const store = createTestDouble({ apiKeys: { [apiKey]: { id: 'main', plan: 'business' } } })
  const fetch = byRequest(async request => {
    if (request.url.endsWith('?limit=100')) return store.fetch(request)
    const escaped = JSON.stringify(apiKey).replaceAll('/', '\\/')
    const encoded = encodeURIComponent(apiKey)
    const headers = { location: `/${encoded}?${encoded.toLowerCase()}` }
    return new Response(`{"heard":${escaped}}`, { status: 202, headers })
  })
  const options = { baseUrl: store.baseUrl, apiKey, fetch, only: ['auth.list'] }
  const { results } = await verify(options)
  const came = results[0]?.failure?.came ?? ''
  assert.match(came, /location: \/<key>\?<key> \| \{"heard":"<key>"\}$/)
  assert.doesNotMatch([came, ...reportJUnit(await verify(options))].join(''), /s3/)
})

test('verify - a server that cannot be verified is one clear line', async t => {
  const http = (status: number, headers = {}) =>
    createServer((_, response) => response.writeHead(status, headers).end())
  const bytes = (text: string) =>
    createSocketServer(socket => socket.on('error', () => {}).once('data', () => socket.end(text)))
  const x = 'x'.repeat(174)
  const belowV1 = createServer((request, response) =>
    response.writeHead(request.url?.startsWith('/v1/v1/') ? 200 : 404).end('[]'),
  )
  for (const [server, message] of [
    [undefined, /^Cannot reach http:\/\/127\.0\.0\.1:1\/v1 \(.+\); is the server running\?$/],
    [bytes('SSH-2.0-OpenSSH_9.2\r\n'), /does not answer with HTTP \(HPE_\w+\)$/],
    [bytes(''), /closes the connection; is it http or https\?$/],
    [http(301, { location: 'https://a.example/v1' }), / to https:\/\/a\.example\/v1; verify that/],
    [http(301, { location: `https://a.example/${x}?k=s3cret` }), /\/x+\?k=<key>; verify that/],
    [http(301, { location: 'https://user:pa55@a.example/v1' }), / to https:\/\/…@a\.example\/v1; /],
    [http(401), /rejects the API key with 401; is it valid there\?$/],
    [
      http(401, { 'www-authenticate': 'Basic realm="x"' }),
      / asks for Basic authentication, as a proxy/,
    ],
    [belowV1, /has no \/pets \(404\), but \/v1\/pets: add \/v1 to the base URL$/],
    [http(404), /has no \/pets \(404\); the base URL ends with the version segment, such as \/v1$/],
    [createServer(() => {}), /does not answer within 1000 ms$/],
  ] as const) {
    const port = server ? await listenOn(t, server) : 1
    const run = verify({
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: 's3cret',
      timeout: 1_000,
    })
    await assert.rejects(run, (error: Error) => {
      assert.ok(error instanceof VerifyError, String(error))
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /s3c/)
      return true
    })
  }
})

test('verify - a wrong or exhausted spare key is found before the run', async () => {
  const server = await openFaulty({})
  const run = (fetch: typeof server.fetch, spareApiKey: string) =>
    verify({ ...server, fetch, apiKey: MAIN_KEY, spareApiKey, exhaust: true })
  await assert.rejects(run(server.fetch, 'other'), {
    message: 'The server rejects the spare key with 401; is it valid there?',
  })
  const exhausted = byRequest(async request =>
    request.headers.get('authorization')?.endsWith('other')
      ? new Response('{}', { status: 429 })
      : server.fetch(request),
  )
  await assert.rejects(run(exhausted, 'other'), {
    message: 'The spare key is exhausted or banned already; wait, or give another one',
  })
})

test('verify - what a server sends reaches no terminal as an escape sequence', async () => {
  const server = await openFaulty({})
  const fetch = byRequest(async request =>
    request.url.endsWith('?limit=100')
      ? server.fetch(request)
      : new Response('\x1b[2J\u009b2J\r\nend\u202e\ufeff', { status: 202 }),
  )
  const { results } = await verify({ ...server, fetch, apiKey: MAIN_KEY, only: ['auth.exact'] })
  const came =
    '202 | content-type: text/plain;charset=UTF-8 | \\x1b[2J\\x9b2J\\r\\nend\\u{202e}\\u{feff}'
  assert.equal(results[0]?.failure?.came, came)
})

test('verify - when a server is lost, the remaining checks are skipped', async () => {
  const server = await openFaulty({})
  let isLost = false
  const fetch = byRequest(async request => {
    isLost ||= request.url.endsWith('/pets') && request.method === 'POST'
    if (isLost) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
    return server.fetch(request)
  })
  const { results, ok } = await verify({ ...server, fetch, apiKey: MAIN_KEY, only: ['auth'] })
  assert.equal(ok, false)
  const failed = failedIn(results)
  assert.deepEqual(
    failed.map(({ id, failure }) => [id, failure?.came]),
    [['auth.create', 'no response: connection refused (ECONNREFUSED)']],
  )
  assert.equal(results.at(-1)?.reason, 'the server no longer answers')
})

test('verify - a ban with 403 that ends when its Retry-After says is left to the server', async () => {
  const wrong = answers(isBan, given => failure(403, given))
  assert.deepEqual(await outcomesOf('limits', wrong), ['passed'])
})

test('verify - a limit that ends before any ban leaves nothing to look at', async () => {
  let rejections = 0
  const wrong = answers(
    (_, { status }) => status === 429 && ++rejections > 5,
    given => ({ ...given, status: 200, headers: { ...given.headers, 'Retry-After': undefined } }),
  )
  assert.deepEqual(await outcomesOf('limits.ban-ends', wrong), ['skipped'])
})

test('verify - a 5xx breaks a MUST in a check that would pass, skip or miss a SHOULD', async () => {
  const fails = (where: Where) =>
    openFaulty({
      wrong: answers(where, (given, { text }) => failure(text.includes('name') ? 400 : 500, given)),
    })
  for (const [id, where] of [
    ['error.internals', ({ text }) => text === '{'],
    ['error.as-usual', ({ headers }) => String(headers['accept']).startsWith('text/html')],
    ['robust.allow', ({ method }) => method === 'PROPFIND'],
    [
      'idempotency.refused',
      ({ headers }) => String(headers['idempotency-key']).includes('refused'),
    ],
  ] as [string, Where][]) {
    const options = { ...(await fails(where)), apiKey: MAIN_KEY, idempotency: true, only: [id] }
    const { results, ok } = await verify(options)
    const [{ level, failure } = {} as CheckResult] = results
    assert.deepEqual([id, ok, level, failure?.came.slice(0, 3)], [id, false, 'MUST', '500'])
  }
})

test('verify - options are checked at construction, and never show a key', () => {
  for (const [option, options] of [
    ['baseUrl', { baseUrl: 'localhost:4280' }],
    ['baseUrl', { baseUrl: 'http://me:s3cret@a/v1' }],
    ['apiKey', { apiKey: 's3cret key' }],
    ['level', { level: 'MAY' }],
    ['spareApiKey', { exhaust: true }],
    ['spareApiKey', { exhaust: true, apiKey: 's3cret', spareApiKey: 's3cret' }],
  ] as const) {
    const given = { baseUrl: 'http://a/v1', apiKey: 'k', ...options } as VerifyOptions
    assert.throws(
      () => verifySuite(test, given),
      (error: Error) => {
        assert.ok(error instanceof OptionError)
        assert.equal(error.option, option)
        assert.doesNotMatch(error.message, /s3cret/)
        return true
      },
    )
  }
})

test('verify - registers one test for each check with any test runner', async () => {
  const server = await openFaulty({})
  const fetch = byRequest(async request => {
    const response = await server.fetch(request)
    return request.method === 'HEAD' ? new Response(null, { status: 500 }) : response
  })
  const tests = new Map<string, (context?: unknown) => Promise<void>>()
  const register: TestFunction = (name, run, timeoutMs) => {
    // Jest waits for a callback that declares a parameter.
    assert.equal(run.length, 0)
    assert.ok((timeoutMs ?? 0) > 900_000)
    tests.set(name, run)
  }
  const leftOut: string[] = []
  const given = { ...server, fetch, apiKey: MAIN_KEY, only: ['get', 'http.chunked', 'robust'] }
  verifySuite(Object.assign(register, { skip: (name: string) => leftOut.push(name) }), given)
  const title = 'get.absent - an `id` that was never assigned is 404 (MUST, spec §4.3)'
  assert.ok(tests.has(title))
  assert.match(leftOut.join(), /^http\.chunked - .+: needs a socket$/)
  const skipped: unknown[] = []
  for (const [name, run] of tests) {
    const context = { skip: (reason: unknown) => skipped.push(reason) }
    if (!name.startsWith('robust.head ')) await run(context)
    else await assert.rejects(run(context), /sent: {5}HEAD \/pets, with the key\ncame: {5}500/)
  }
  assert.deepEqual(skipped, [])
  verifySuite(register, { ...given, only: ['http.chunked', 'robust'] })
  assert.throws(() => verifySuite(register, { ...given, only: ['http.chunked'] }), {
    name: 'VerifyError',
    message: /^Nothing would be checked: each selected check needs a socket/,
  })
  const expected = CHECKS.filter(
    ({ id, needs }) => /^(get|robust)\./.test(id) && !needs?.includes('socket'),
  )
  assert.equal(tests.size, expected.length)
})

test('verify - a check that has nothing to look at skips its test', async () => {
  const server = await openFaulty({})
  const reasons: unknown[] = []
  const context = { skip: (reason: unknown) => reasons.push(reason) }
  const runs: (() => Promise<void>)[] = []
  verifySuite((_, run) => runs.push(() => run(context)), {
    ...server,
    apiKey: MAIN_KEY,
    readOnly: true,
    only: ['get.answer'],
  })
  for (const run of runs) await run()
  assert.deepEqual(reasons, ['the store has no animals'])
})

function failedIn(results: readonly CheckResult[]): readonly CheckResult[] {
  return results.filter(({ outcome }) => outcome === 'failed')
}

async function listenOn(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Of the checks of a part, each once, against a server with this change. */
async function outcomesOf(part: string, wrong: Wrong): Promise<readonly string[]> {
  const server = await openFaulty({ wrong })
  const keys = { apiKey: MAIN_KEY, spareApiKey: SPARE_KEY }
  const { results } = await verify({ ...server, ...keys, exhaust: true, only: [part] })
  return [...new Set(results.map(({ outcome }) => outcome))]
}

function withLimits(limits: { perMinute: number; perDay: number }): Partial<StoreOptions> {
  return { apiKeys: { [MAIN_KEY]: { id: 'main', plan: 'enterprise', limits } } }
}

/** Against a server with an animal and a description. */
async function verifyOnly(part: string, door?: Door): Promise<VerifyReport> {
  await using own = await openOwn({}, withDocs, door)
  await own.store.createPet({ name: 'Ada', categoryId: 1 })
  const openApiUrl = `${own.origin}/openapi.json`
  return await verify({ ...own.options, only: [part], openApiUrl, exhaust: part === 'limits' })
}

interface Own extends AsyncDisposable {
  readonly origin: string
  readonly store: Store
  readonly storage: ReturnType<typeof memoryStorage>
  readonly options: VerifyOptions
}

type Door = 'over HTTP' | 'in process'

/** Our own server, on a clock that moves only in waits. */
async function openOwn(
  given: Partial<StoreOptions> = {},
  around: (store: Store) => ApiHandler = store => store,
  door: Door = 'over HTTP',
): Promise<Own> {
  let now = given.clock?.() ?? T0
  const clock = () => now
  const storage = (given.storage ?? memoryStorage()) as Own['storage']
  const store = createStore({
    apiKeys: {
      [MAIN_KEY]: { id: 'main', plan: 'free' },
      [SPARE_KEY]: { id: 'spare', plan: 'free' },
    },
    idempotency: { ttl: DAY },
    ...given,
    storage,
    clock,
  })
  const handler = around(store)
  const server = door === 'over HTTP' ? await listen(handler, { port: 0 }) : undefined
  const origin = server?.origin ?? 'http://own.test'
  return {
    origin,
    store,
    storage,
    options: {
      baseUrl: `${origin}${handler.basePath}`,
      ...(!server && { fetch: toFetchHandler(handler) }),
      apiKey: MAIN_KEY,
      spareApiKey: SPARE_KEY,
      exhaust: true,
      idempotency: true,
      clock,
      sleep: async ms => {
        now += ms
      },
    },
    async [Symbol.asyncDispose]() {
      await server?.close()
      await (storage as { close?: () => Promise<void> }).close?.()
    },
  }
}

/** A `fetch` that is written for a Request. */
function byRequest(answer: (request: Request) => Promise<Response>): typeof globalThis.fetch {
  return (...given) => answer(new Request(...given))
}
