import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import {
  createTestDouble,
  DEMO_KEYS,
  EDGE_ANIMALS,
  type Snapshot,
  type TestDouble,
} from '../../adapters/test-double/index.js'
import { judge } from '../../adapters/verdict/judge/index.js'
import type { Awaitable } from '../../src/lib/async.js'
import { OptionError } from '../../src/lib/check-options.js'
import { parseJson, toJson } from '../../src/lib/json.js'
import type { ApiRequest } from '../../src/protocol/api-request.js'
import { createStore } from '../../src/store.js'
import { serveHttp } from '../support/http-server.js'
import { FREE, list, numbers, T0 } from './requests.js'

const DOUBLE = new URL('../../adapters/test-double/index.js', import.meta.url).href
const ADA = { name: 'Ada', categoryId: 9223372036854775807n }

test('test double - listen() answers preflights, and fetch sends no CORS headers, unless told otherwise', async () => {
  const headers = { ...FREE, origin: 'http://app.test', 'access-control-request-method': 'GET' }
  for (const [options, overHttp, inProcess] of [
    [{}, [204, '*'], [405, null]],
    [{ cors: false }, [405, null], [405, null]],
    [{ cors: true }, [204, '*'], [204, '*']],
  ] as const) {
    await using double = createTestDouble(options)
    const { url } = await double.listen()
    const init = { method: 'OPTIONS', headers }
    const said = ({ status, headers }: Response) => [
      status,
      headers.get('access-control-allow-origin'),
    ]
    assert.deepEqual(said(await fetch(`${url}/pets`, init)), overHttp)
    assert.deepEqual(said(await double.fetch('pets', init)), inProcess)
    assert.ok(double.report().ok)
  }
})

test('test double - a script has the same transcript in process, through fetch and over HTTP, twice', async () => {
  const first = await transcript(inProcess)
  assert.equal(first.length, 76)
  for (const door of [inProcess, throughFetch, throughFetch, overHttp, overHttp]) {
    assert.deepEqual(await transcript(door), first, door.name)
  }
})

test('test double - without faults it answers like a plain store, byte for byte', async () => {
  assert.deepEqual(await transcript(overHttp, false), await transcript(plainStore, false))
})

test('test double - takes only the animals of a snapshot as its initial ones', async () => {
  const other = createTestDouble()
  await other.seed([ADA])
  await list(other)
  other.faults.arm({ kind: 'hang' })
  const double = createTestDouble({
    snapshot: await other.snapshot(),
    time: '2031-01-01',
    faults: [],
  })
  const { pets, nextId, time, usage, faults, journal } = await double.snapshot()
  assert.deepEqual([pets, nextId], [[{ id: 1, ...ADA, status: 'available' }], 2])
  assert.deepEqual(time, { now: Date.UTC(2031, 0, 1), frozen: true })
  assert.deepEqual([usage, faults, journal.received], [[], [], 0])
})

test('test double - animals at the edges arrive exactly, and as often as they are stored', async () => {
  const double = createTestDouble({ pets: EDGE_ANIMALS, defaultStatus: null })
  const body = await (await list(double)).text()
  const stored = EDGE_ANIMALS.map((pet, at) => ({ id: at + 1, ...pet }))
  assert.deepEqual(parseJson(body), stored)
  assert.notDeepEqual(JSON.parse(body), stored)
})

test('test double - begins with the same animals as option, seed and in a world', async () => {
  const pets = [ADA, { name: 'Bo', categoryId: 2, status: 'sold' as const }]
  const double = createTestDouble({ pets })
  const seeded = createTestDouble()
  assert.deepEqual(await double.pets.listPets(), await seeded.seed(pets))
  assert.equal(
    await double.digest(),
    await createTestDouble({ snapshot: await double.snapshot() }).digest(),
  )
  for (const [given, problem] of [
    [{ pets, nextId: 3 }, 'The animals must be an array'],
    [[{ id: 1, ...ADA }], 'Animal 1: leave out `id`'],
    [[ADA, { name: 'Bo' }], 'Animal 2: `categoryId` is required'],
  ] as const) {
    const message = new RegExp(problem)
    const invalid = { name: 'OptionError', message: new RegExp(`^Invalid \`pets\`: ${problem}`) }
    assert.throws(() => createTestDouble({ pets: given as never }), invalid)
    await assert.rejects(seeded.seed(given as never), { code: 'invalid_request', message })
  }
  assert.equal((await seeded.pets.listPets()).length, pets.length, 'of an invalid list, none')
})

test('reset - restores the initial digest after any change', async () => {
  const double = createTestDouble({
    snapshot: { pets: [{ id: 3, name: 'Bo', categoryId: 1 }], nextId: 9 },
  })
  const beginning = await double.digest()
  const changes: Record<string, (double: TestDouble) => unknown> = {
    pets: () => double.pets.createPet(ADA),
    counters: () => double.handle(listing('demo-free')),
    ban: () => Promise.all(Array.from({ length: 91 }, () => double.handle(listing('demo-free')))),
    addresses: () => double.handle(listing('nobody')),
    fault: () => double.faults.arm({ kind: 'hang' }),
    clock: () => double.clock.advance(1),
    running: () => double.clock.resume(),
    key: () => double.addKey('mine', { id: 'mine', plan: 'pro' }),
  }
  for (const [name, change] of Object.entries(changes)) {
    await change(double)
    assert.notEqual(await double.digest(), beginning, name)
    double.reset()
    assert.equal(await double.digest(), beginning, name)
  }
  assert.deepEqual(await double.seed([ADA]), [{ ...ADA, id: 9, status: 'available' }])
  double.reset()
  assert.deepEqual(await double.seed([ADA]), [{ ...ADA, id: 9, status: 'available' }])
  assert.equal((await double.handle(listing('mine'))).status, 401)
})

test('reset - concurrent requests see the old state or the new one, and bring nothing back', async () => {
  const double = createTestDouble({ rateLimiting: false })
  const start = await double.digest()
  for (let round = 0; round < 20; round++) {
    double.faults.arm({ kind: 'delay', duration: 1_000, operation: 'createPet' })
    const delayed = double.handle(creation('late'))
    await double.seed(Array.from({ length: 50 }, () => ADA))
    const readers: Awaitable<{ body: string }>[] = []
    const creators: Awaitable<{ status: number }>[] = []
    for (let at = 0; at < 20; at++) {
      if (at === 10) double.reset()
      if (at < 10) creators.push(double.handle(creation('early')))
      readers.push(double.handle(listing('demo-free', 'limit=100')))
    }
    const sizes = (await Promise.all(readers)).map(({ body }) => JSON.parse(body).length)
    assert.ok(
      sizes.slice(0, 10).every(size => size >= 50),
      String(sizes),
    )
    assert.deepEqual(sizes.slice(10), Array(10).fill(0))
    assert.equal((await delayed).status, 201)
    for (const creator of creators) assert.equal((await creator).status, 201)
    assert.deepEqual(await double.pets.listPets(), [])
    assert.equal(double.requests().length, 10)
    double.reset()
    assert.equal(await double.digest(), start)
  }
})

test('snapshot - is plain JSON, exact, and restorable in another process', async () => {
  const double = createTestDouble()
  await double.seed([ADA])
  for (let count = 0; count < 91; count++) await double.handle(listing('demo-free'))
  double.faults.arm({ kind: 'status', status: 503, times: 3, keyId: 'demo-pro' })
  double.clock.advance('10s')
  await double.handle(listing('demo-pro'))
  const json = toJson(await double.snapshot('banned'))
  assert.match(json, /"name":"banned",.*9223372036854775807/)
  const digest = await double.digest()
  double.reset()
  await double.restore('banned')
  assert.equal(await double.digest(), digest)
  await assert.rejects(double.restore('lifted'), OptionError)

  const script = `
    import { createTestDouble } from ${JSON.stringify(DOUBLE)}
    import { parseJson } from ${JSON.stringify(new URL('../../src/lib/json.js', import.meta.url).href)}
    import { text } from 'node:stream/consumers'
    const double = createTestDouble()
    await double.restore(parseJson(await text(process.stdin)))
    console.log(await double.digest())
    const answer = await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
    console.log((await answer.json()).code, (await double.pets.listPets())[0].categoryId)
    console.log(double.faults.list()[0].left)`
  assert.deepEqual((await node(script, json)).split('\n'), [
    digest,
    'api_key_banned 9223372036854775807n',
    '2',
    '',
  ])
})

test('snapshot - is shared when it is restored here, and checked when it comes from elsewhere', async () => {
  const double = createTestDouble()
  await double.seed([ADA, ADA])
  double.faults.arm({ kind: 'status', status: 503, nth: 99, body: { code: 'x' } })
  for (let count = 0; count < 63; count++) await list(double)
  const snapshot = await double.snapshot()
  for (const part of [snapshot, snapshot.pets, snapshot.usage, snapshot.time, snapshot.journal]) {
    assert.equal(Object.isFrozen(part), true)
  }
  const [shared, checked] = [createTestDouble(), createTestDouble()]
  await shared.restore(snapshot)
  await checked.restore(parseJson(toJson(snapshot)) as Snapshot)
  assert.deepEqual(shared.report(), checked.report())
  assert.equal(shared.report().findings.length, 1)
  for (const copy of [shared, checked]) {
    await copy.seed([ADA])
    await list(copy)
    assert.equal((await copy.pets.listPets()).length, 3)
  }
  assert.equal(await shared.digest(), await checked.digest())
  assert.equal((await double.pets.listPets()).length, 2)
  assert.equal(snapshot.journal.exchanges.length, 63)
  await assert.rejects(shared.restore({ ...snapshot, nextId: 1 }), { name: 'RangeError' })
})

test('snapshot - an invalid one changes nothing and names the field', async () => {
  const double = createTestDouble()
  await double.seed([ADA])
  const digest = await double.digest()
  const good = parseJson(toJson(await double.snapshot())) as object
  const bad: [wrong: unknown, message: RegExp][] = [
    [7, /snapshot/],
    [{}, /`pets` is required/],
    [{ ...good, time: { now: '2030', frozen: true } }, /`time\.now`/],
    [
      { ...good, usage: [['demo-free', { lastSeenAt: 0 }]] },
      /`usage\.0\.1\.minuteCount` is required/,
    ],
    [{ ...good, faults: [{ kind: 'earthquake' }] }, /`kind` to be one of 'status'/],
    [{ ...good, nextId: 1 }, /`nextId` to be .* above 1, got 1/],
    [{ ...good, journal: { exchanges: [{ n: 1 }], dropped: 0 } }, /journal\.exchanges\.0/],
  ]
  for (const [wrong, message] of bad) {
    await assert.rejects(double.restore(wrong as never), { message })
    assert.equal(await double.digest(), digest)
  }
})

test('journal - lists exchanges in order, with virtual times and without keys', async () => {
  const double = createTestDouble({ apiKeys: { s3cret: { id: 'ci', plan: 'free' } } })
  const authorization = 'Bearer s3cret'
  double.faults.arm({ kind: 'delay', duration: 500 })
  const late = double.fetch('pets?limit=2&key=s3cret', { headers: { authorization } })
  await double.fetch('pets/7', { headers: { authorization } })
  double.clock.advance('2s')
  await late
  await double.fetch('pets', {
    method: 'POST',
    headers: { authorization: 'Bearer wr0ng' },
    body: '{"name":1}',
  })
  const journal = double.requests().map(({ at, answeredAt, operation, ...exchange }) => {
    const { n, keyId, query, status, code, fault } = exchange
    return [n, at - T0, (answeredAt ?? 0) - T0, keyId, operation, query, status, code, fault]
  })
  assert.deepEqual(journal, [
    [1, 0, 2_000, 'ci', 'listPets', 'limit=2', 200, null, 'delay'],
    [2, 0, 0, 'ci', 'getPet', '', 404, 'not_found', null],
    [3, 2_000, 2_000, null, 'createPet', '', 401, 'unauthorized', null],
  ])
  assert.equal(double.requests()[1]?.headers['X-RateLimit-Remaining'], '59')
  assert.equal(double.requests()[2]?.requestBody, '{"name":1}')
  assert.doesNotMatch(toJson(await double.snapshot()), /s3cret|wr0ng/)
  assert.deepEqual(numbers(double, { status: 404 }), [2])
  assert.deepEqual(numbers(double, { operation: 'listPets', keyId: 'ci' }), [1])
})

test('fetch - accepts what the global one accepts, and reaches only its base URL', async () => {
  const double = createTestDouble({ baseUrl: 'https://api.example.com/v1/' })
  assert.equal(double.baseUrl, 'https://api.example.com/v1')
  const json = { ...FREE, 'content-type': 'application/json' }
  const body = toJson(ADA)
  const request = new Request(`${double.baseUrl}/pets`, { method: 'POST', headers: json, body })
  const created = await double.fetch(request)
  assert.equal(created.status, 201)
  assert.equal(created.url, 'https://api.example.com/v1/pets')
  assert.equal(
    await created.text(),
    `{"id":1,"name":"Ada","categoryId":${ADA.categoryId},"status":"available"}`,
  )
  for (const input of [
    'pets',
    '/v1/pets',
    `${double.baseUrl}/pets#x`,
    new URL(`${double.baseUrl}/pets`),
  ]) {
    assert.equal((await double.fetch(input, { headers: FREE })).status, 200, String(input))
  }
  assert.equal((await double.fetch('https://api.example.com/v2/pets')).status, 404)
  await assert.rejects(double.fetch('https://example.com/v1/pets'), {
    name: 'TypeError',
    message: /reaches https:\/\/api\.example\.com\/v1 only/,
  })
})

test('fetch - a call that has ended leaves no listener on its signal, nor does a judge', async () => {
  const double = createTestDouble()
  const { signal } = new AbortController()
  const judged = judge({ fetch: double.fetch, baseUrl: double.baseUrl }).fetch
  const body = toJson(ADA)
  for (const fetch of [double.fetch, judged]) {
    for (const init of [{}, { method: 'POST', body }, { method: 'POST', body: 'no animal' }]) {
      const headers = { ...FREE, 'Content-Type': 'application/json' }
      await (await fetch(`${double.baseUrl}/pets`, { ...init, headers, signal })).text()
      assert.equal(getEventListeners(signal, 'abort').length, 0)
    }
  }
  await double.clock.sleep(0, { signal })
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('fetch - sends and refuses the same with and without a Request', async () => {
  const double = createTestDouble()
  const json = { ...FREE, 'Content-Type': 'application/json' }
  const { signal } = new AbortController()
  class Inherited {
    get method() {
      return 'POST'
    }
  }
  Object.defineProperty(Inherited.prototype, 'method', { enumerable: true })
  const inits: unknown[] = [
    undefined,
    {
      headers: [
        ['A', '1'],
        ['a', ' 2 '],
      ],
      signal,
    },
    { headers: new Headers(json), method: undefined, signal: null },
    { headers: { a: '\u20ac' } },
    { headers: null },
    { headers: { 'X-B': '1', 'x-a': ' 2 3 ', 'X-C': '' } },
    { headers: { 'X-B': '1', 'x-a': '2', A: '3 4' } },
    { headers: { A: 1, b: undefined } },
    { headers: { a: '1', [Symbol('b')]: '2' } },
    { headers: { ['__proto__']: '1' } },
    { headers: Object.create({ a: '1' }, { b: { value: '2' } }) },
    { headers: Object.assign(Object.create(null), json) },
    { signal: {} },
    { method: 'get' },
    { method: 'POST', headers: json, body: toJson(ADA) },
    { method: 'POST', headers: json, body: '\ufeff{"name":"\ud800"}' },
    { method: 'POST', headers: FREE, body: '' },
    { method: 'POST', headers: FREE, body: new URLSearchParams({ name: 'Ada' }) },
    { method: 'POST', body: 7 },
    { method: 'PUT', body: '{}' },
    { mode: 'navigate' },
    new Request('http://a.test', { method: 'POST', headers: FREE }),
    new Inherited(),
  ]
  const entryOf = async (...given: Parameters<typeof fetch>) => {
    double.reset()
    const answer = await double.fetch(...given).catch(({ name }: Error) => name)
    const [entry] = double.requests()
    const order = Object.keys(entry?.requestHeaders ?? {})
    return { entry, order, answer: typeof answer === 'string' ? answer : await answer.text() }
  }
  for (const [at, given] of inits.entries()) {
    const init = given as RequestInit
    for (const path of [
      'pets',
      '/v1/pets?limit=1&x#y',
      'http://me:secret@adoption-store.test/v1/',
    ]) {
      const built = (async () => new Request(new URL(path, `${double.baseUrl}/`), init))()
      const viaRequest = await built.then(entryOf, ({ name }: Error) => ({
        entry: undefined,
        order: [],
        answer: name,
      }))
      assert.deepEqual(await entryOf(path, init), viaRequest, `${at} ${path}`)
    }
  }
})

test('fetch - can be aborted at every step of a request that hangs', async () => {
  const double = createTestDouble()
  const reason = new Error('enough')
  for (let step = 0; step < 20; step++) {
    double.faults.arm({ kind: 'hang' })
    const abort = new AbortController()
    const waiting = double.fetch('pets', { headers: FREE, signal: abort.signal })
    const refused = assert.rejects(waiting, reason, String(step))
    for (let turn = 0; turn < step; turn++) await undefined
    abort.abort(reason)
    await refused
  }
  await double.close()
})

test('test double - names an invalid option', () => {
  const rex = { id: 1, name: 'Rex', categoryId: 1 }
  const wrong: [options: object, message: RegExp][] = [
    [{ time: '2030-01-01T00:00:00' }, /Expected `time` to be an instant/],
    [{ baseUrl: '/v1' }, /`baseUrl` .*, got one without http:\/\/$/],
    [{ baseUrl: 'ftp://localhost/v1' }, /`baseUrl` .*, got one without http:\/\/$/],
    [{ baseUrl: 'http://' }, /`baseUrl` .*, got a string$/],
    ...['http://a/v1#f', 'http://a/v1?q', 'http://me:s3cret@a/v1', new URL('http://a/v1')].map(
      (baseUrl): [object, RegExp] => [
        { baseUrl },
        /^Expected `baseUrl` to be an address .*, without user name, query and fragment, got an? [a-z]+$/,
      ],
    ),
    [{ faults: [{ kind: 'delay' }] }, /`duration`/],
    [
      { snapshot: [] },
      /^Expected `snapshot` to be .*; animals without ids are for `pets`, got an ar/,
    ],
    [{ snapshot: { pets: 5, nextId: 1 } }, /^Expected `snapshot\.pets` to be an array, got 5$/],
    [{ snapshot: { pets: [rex] } }, /^Expected `snapshot\.nextId` to be an integer of at least 1/],
    [{ snapshot: { pets: [rex], nextId: 1 } }, /^Invalid `snapshot`: .*`nextId`/],
    [
      { snapshot: { pets: [rex, null], nextId: 3 } },
      /^Expected `snapshot\.pets\[1\]` to be an ani/,
    ],
    [{ snapshot: { pets: [], nextId: 1 }, pets: [] }, /cannot be combined with `pets`/],
    [
      { apiKeys: { k: { id: 'a', plan: 'Pro' } } },
      /^Expected `apiKeys\['a'\]\.plan` to be .*, got 'Pro'$/,
    ],
    [{ apiKeys: { k: { id: 'a', plan: 's3cret' } } }, /, got a string$/],
  ]
  for (const [options, message] of wrong) {
    assert.throws(() => createTestDouble(options), { name: 'OptionError', message })
  }
})

test('test double - options may be left out, but not null', async () => {
  const message = 'Expected `options` to be an object, got null'
  assert.throws(() => createTestDouble(null as never), { name: 'OptionError', message })
  const double = createTestDouble()
  assert.equal((await double.fetch('pets', null as never)).status, 401)
})

test('listen - close lets the process exit despite open sockets, hanging and delayed calls', async () => {
  const script = `
    import { createTestDouble } from ${JSON.stringify(DOUBLE)}
    const headers = { authorization: 'Bearer demo-free' }
    const double = createTestDouble()
    const server = await double.listen({ keepAliveTimeout: 60_000 })
    await Promise.all([1, 2, 3].map(async () => (await fetch(server.url + '/pets', { headers })).text()))
    double.faults.arm({ kind: 'hang' })
    double.faults.arm({ kind: 'delay', duration: 60_000, operation: 'createPet' })
    const hung = fetch(server.url + '/pets', { headers }).catch(error => error.cause.code)
    const late = fetch(server.url + '/pets', { headers, method: 'POST', body: '' })
    while (double.requests().length < 5) await new Promise(setImmediate)
    const end = performance.now()
    await server[Symbol.asyncDispose]()
    process.on('exit', () => console.log(Math.round(performance.now() - end)))
    console.log(await hung, (await late).status)`
  const [outcome, took] = (await node(script, '')).split('\n')
  assert.equal(outcome, 'UND_ERR_SOCKET 415')
  // Idle sockets are kept as long as the delay takes: neither was waited for.
  assert.ok(Number(took) < 30_000, `${took} ms`)
})

test("handler - serves a server of one's own as its request listener", async t => {
  const double = createTestDouble({ control: true })
  const { origin } = await serveHttp(t, double.handler)
  const headers = { ...FREE, 'content-type': 'application/json' }
  const body = '{"name":"Ada","categoryId":1}'
  const statusOf = async (path: string, init: RequestInit) =>
    (await fetch(origin + path, init)).status
  assert.equal(await statusOf('/v1/pets', { method: 'POST', headers, body }), 201)
  assert.equal(await statusOf(`/_control/${double.handler.token}/health`, {}), 200)
  assert.equal(await statusOf('/elsewhere', {}), 404)
  double.faults.arm({ kind: 'reset' })
  await assert.rejects(fetch(`${origin}/v1/pets`, { headers }), { message: 'fetch failed' })
})

test('fetch - a pending call keeps the process alive as a socket would, and nothing else does', async () => {
  const faults: Record<string, [fault: object, clock: object]> = {
    hang: [{ kind: 'hang' }, {}],
    delay: [{ kind: 'delay', duration: 600_000 }, {}],
    'delay on a running clock': [{ kind: 'delay', duration: 600_000 }, { time: 'running' }],
    'delay in real time': [{ kind: 'delay', duration: 600_000, real: true }, {}],
    trickle: [{ kind: 'trickle', bytes: 1, interval: 600_000 }, {}],
  }
  // One after the other: where a call does not keep the process alive, it ends there.
  const output = await node(
    `import { createTestDouble } from ${JSON.stringify(DOUBLE)}
     const headers = { authorization: 'Bearer demo-free' }
     for (const [name, [fault, options]] of Object.entries(${JSON.stringify(faults)})) {
       const double = createTestDouble(options)
       const call = async () => (await double.fetch('pets', { headers, signal: AbortSignal.timeout(50) })).text()
       double.faults.arm(fault)
       console.log(name, await call().catch(error => error.name))
     }`,
    '',
  )
  assert.equal(
    output,
    Object.keys(faults)
      .map(name => `${name} TimeoutError\n`)
      .join(''),
  )
})

type Send = (method: string, target: string, key: string, body?: string) => Promise<Response>
type Door = (double: TestDouble) => Promise<{ send: Send; close: () => Promise<void> }>

const inProcess: Door = async double => ({
  async send(method, target, key, body) {
    const [path = '', query = ''] = `/v1/${target}`.split('?')
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await double.handle({ method, path, query, headers, body, client: '127.0.0.1' })
    return new Response(answer.body || null, answer)
  },
  close: double.close,
})

const plainStore: Door = async ({ clock }) => {
  const storage = memoryStorage()
  const options = { pagination: true, cors: true, clock }
  const server = await listen(createStore({ storage, apiKeys: DEMO_KEYS, ...options }), { port: 0 })
  return {
    send: (method, target, key, body) => fetch(`${server.url}/${target}`, init(method, key, body)),
    close: server.close,
  }
}

const throughFetch: Door = async double => ({
  send: (method, target, key, body) => double.fetch(target, init(method, key, body)),
  close: double.close,
})

const overHttp: Door = async double => {
  const { url } = await double.listen()
  const send: Send = (method, target, key, body) =>
    fetch(`${url}/${target}`, init(method, key, body))
  return { send, close: double.close }
}

function init(method: string, key: string, body: string | undefined): RequestInit {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return { method, headers, ...(body === undefined ? {} : { body }) }
}

/** The responses to a script with every kind of answer: status, headers in order, body. */
async function transcript(door: Door, faults = true): Promise<readonly string[]> {
  const double = createTestDouble({ pagination: true, cors: true })
  const { send, close } = await door(double)
  const responses: string[] = []
  const tell = async (answer: Promise<Response>) => {
    const { status, headers } = await answer
    const fields = [...headers].filter(([name]) => name !== 'connection' && name !== 'keep-alive')
    responses.push(JSON.stringify([status, fields, await (await answer).text()]))
  }
  if (faults) {
    const operation = 'getPet'
    double.faults.arm({ kind: 'status', status: 503, retryAfter: { date: 30 }, operation })
    double.faults.arm({ kind: 'malformed', operation })
  }
  await tell(send('POST', 'pets', 'demo-free', toJson(ADA)))
  await tell(send('POST', 'pets', 'demo-free', '{"name":"Bo","categoryId":1.5}'))
  for (let count = 0; count < 3; count++) await tell(send('GET', 'pets/1', 'demo-free'))
  await tell(send('GET', 'pets?limit=1', 'demo-free'))
  await tell(send('HEAD', 'pets', 'demo-free'))
  await tell(send('DELETE', 'pets', 'demo-free'))
  await tell(send('GET', 'nowhere', 'nobody'))
  double.clock.advance('1.5s')
  for (let count = 0; count < 66; count++) await tell(send('GET', 'pets', 'demo-free'))
  double.clock.set('2030-12-05T00:00:00Z')
  await tell(send('GET', 'pets/1', 'demo-free'))
  await close()
  return responses
}

function listing(key: string, query = ''): ApiRequest {
  return { method: 'GET', path: '/v1/pets', query, headers: { authorization: `Bearer ${key}` } }
}

function creation(name: string): ApiRequest {
  return { ...listing('demo-free'), method: 'POST', body: `{"name":"${name}","categoryId":1}` }
}

async function node(script: string, input: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  })
  child.stdin.end(input)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return output
}
