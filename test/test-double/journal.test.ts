import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createTestDouble,
  type JournalEntry,
  type TestDouble,
} from '../../adapters/test-double/index.js'
import type { Awaitable } from '../../src/lib/async.js'
import { toJson } from '../../src/lib/json.js'
import { FREE, list, numbers, T0 } from './requests.js'

const SECRET = 's3cret-key'
const KEYS = { [SECRET]: { id: 'ci', plan: 'pro' } } as const
type Changeable = Record<'requestHeaders' | 'headers', Record<string, string>> & {
  readonly unknown: string[]
}
const HEADERS = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }

test('journal - changing an entry or a snapshot changes neither the journal nor the digest', async () => {
  const double = createTestDouble({ apiKeys: KEYS })
  await double.fetch('pets', { headers: HEADERS })
  const digest = await double.digest()
  const read = () => toJson(double.requests())
  const before = read()
  const [[entry], { journal }] = [double.requests(), await double.snapshot()]
  const changes: ((exchange: Changeable) => void)[] = [
    exchange => {
      exchange.requestHeaders['content-type'] = 'text/plain'
    },
    exchange => {
      exchange.headers['X-RateLimit-Remaining'] = '0'
    },
    exchange => exchange.unknown.push('page'),
  ]
  for (const change of changes) {
    change(entry as unknown as Changeable)
    for (const exchange of journal.exchanges as unknown as Changeable[]) {
      assert.throws(() => change(exchange), TypeError)
    }
  }
  assert.equal(read(), before)
  assert.equal(await double.digest(), digest)
  await double.fetch('pets', { headers: HEADERS })
  assert.deepEqual(double.requests()[1]?.unknown, [])
})

test('journal - redacts credentials wherever the client sends them', async () => {
  const double = createTestDouble({ apiKeys: KEYS })
  await double.fetch(`pets?limit=2&key=${SECRET}&q=private#${SECRET}`, {
    method: 'POST',
    headers: { ...HEADERS, 'x-api-key': 'other', 'x-note': `my ${SECRET}`, cookie: 'sid=1' },
    body: `{"name":"${SECRET}"}`,
  })
  const [exchange] = double.requests()
  const { 'content-length': _, ...headers } = exchange?.requestHeaders ?? {}
  assert.deepEqual(headers, {
    authorization: 'Bearer REDACTED',
    'content-type': 'application/json',
    cookie: 'REDACTED',
    'x-api-key': 'REDACTED',
    'x-note': 'my REDACTED',
  })
  assert.equal(exchange?.url, '/v1/pets?limit=2&key=REDACTED&q=REDACTED')
  assert.equal(exchange?.requestBody, '{"name":"REDACTED"}')
  assert.doesNotMatch(toJson(await double.snapshot()), /s3cret|private|other|sid/)
})

test('journal - redacts every valid key, wherever it is and however it is spelled', async () => {
  const key = 'super/secret+12345'
  const double = createTestDouble({ apiKeys: { [key]: { id: 'ci', plan: 'pro' } } })
  const encoded = encodeURIComponent(key)
  const authorization = `Bearer ${key}`
  const json = { 'content-type': 'application/json' }
  const post = (body: string, headers = {}) => ({
    method: 'POST',
    headers: { ...json, ...headers },
    body,
  })
  const sent: [path: string, init?: RequestInit][] = [
    [`pets?limit=${encoded}`, { headers: { authorization } }],
    [`pets?status=${encoded.toLowerCase()}`],
    [`pets?${encoded}`, { headers: { authorization } }],
    [`pets/${encoded}`],
    ['pets', post(`{"name":"${key}","categoryId":1}`, { authorization })],
    ['pets', post(`{"${key}":1}`)],
    ['pets', post(`{"super\\/s\\u0065cret+12345":1}`)],
    ['pets', { headers: { authorization: `${key} x` } }],
    ['pets', { headers: { authorization: `${key}, Bearer ${key}` } }],
    ['pets', { headers: { 'api-key': key } }],
  ]
  for (const [path, init] of sent) await double.fetch(path, init)
  const { pets: _, ...snapshot } = await double.snapshot()
  const shown = toJson([double.requests(), snapshot, double.report()])
  assert.doesNotMatch(shown, /super(?!secret)/i)
  assert.equal(double.requests()[4]?.body, REDACTED_PET)
  assert.deepEqual(double.requests()[2]?.unknown, ['REDACTED'])
  assert.equal(double.requests()[7]?.requestHeaders['authorization'], 'REDACTED')
})

const REDACTED_PET = '{"id":1,"name":"REDACTED","categoryId":1,"status":"available"}'

test('journal - lists unknown query parameters and body fields', async () => {
  const double = createTestDouble({ apiKeys: KEYS })
  const unknownIn = async (path: string, body?: string) => {
    const init = body === undefined ? {} : { method: 'POST', body }
    await double.fetch(path, { headers: HEADERS, ...init })
    return double.requests().at(-1)?.unknown
  }
  assert.deepEqual(await unknownIn('pets?limit=1&status=sold'), [])
  assert.deepEqual(await unknownIn('pets?li%6Dit=1&after=1&a+b=1&%E0%A4=1&&x'), [
    'after',
    'a b',
    '%E0%A4',
    'x',
  ])
  assert.deepEqual(await unknownIn('pets/1?limit=1'), ['limit'])
  assert.deepEqual(await unknownIn('nowhere?x=1'), [])
  assert.deepEqual(await unknownIn('pets', '{"name":1,"categoryId":1,"status":1,"id":1}'), ['id'])
  for (const body of ['', '[{"id":1}]', 'null', '"id"', '{"id"']) {
    assert.deepEqual(await unknownIn('pets', body), [], body)
  }
  const paged = createTestDouble({ pagination: true })
  await paged.fetch('pets?after=1&x=1', { headers: FREE })
  const [exchange] = paged.requests()
  assert.deepEqual([exchange?.unknown, exchange?.query], [['x'], 'after=1'])
  assert.equal(exchange?.url, '/v1/pets?after=1&x=REDACTED')
})

test('digest - is the same in process and on a socket, and counts content-type and origin', async t => {
  const digestAfter = async (
    open: (double: TestDouble) => Awaitable<(path: string, init: RequestInit) => Promise<Response>>,
    added: Record<string, string> = {},
  ) => {
    const double = createTestDouble({ apiKeys: KEYS })
    t.after(() => double.close())
    const send = await open(double)
    const headers = { ...HEADERS, ...added }
    const body = '{"name":"Ada","categoryId":1}'
    await (await send('pets', { headers })).text()
    await (await send('pets', { method: 'POST', headers, body })).text()
    return double.digest()
  }
  const inProcess = (double: TestDouble) => double.fetch
  const onSocket = async (double: TestDouble) => {
    const { url } = await double.listen()
    return (path: string, init: RequestInit) => fetch(`${url}/${path}`, init)
  }
  const digest = await digestAfter(inProcess)
  assert.equal(await digestAfter(onSocket), digest)
  assert.equal(await digestAfter(inProcess, { 'user-agent': 'x', 'x-note': 'y' }), digest)
  for (const [name, value] of [
    ['content-type', 'application/json; charset=utf-8'],
    ['origin', 'https://example.com'],
  ] as const) {
    assert.notEqual(await digestAfter(inProcess, { [name]: value }), digest, name)
  }
})

test('journal - the request digest covers method, path, query and body', async () => {
  const double = createTestDouble({ apiKeys: KEYS })
  const digestOf = async (path: string, init: RequestInit = {}) => {
    await double.fetch(path, { ...init, headers: { ...HEADERS, ...init.headers } })
    return double.requests().at(-1)?.requestDigest
  }
  const digest = await digestOf('pets')
  assert.equal(digest, 'pmyw18qsp92f', 'the same on every machine')
  assert.equal(await digestOf('pets', { headers: { 'user-agent': 'x' } }), digest)
  const digests = new Set<string | undefined>([digest])
  for (const path of ['pets/1', 'pets?limit=1', 'pets?limit=2']) digests.add(await digestOf(path))
  for (const body of ['', 'ab', 'ba']) digests.add(await digestOf('pets', { method: 'POST', body }))
  digests.add(await digestOf('pets', { method: 'HEAD' }))
  assert.equal(digests.size, 8)
})

test('journal - records the code of an Error body, and null for any other body', async () => {
  const double = createTestDouble()
  const codeOf = async (body: string | object | undefined, status = 503) => {
    double.faults.arm({ kind: 'status', status, ...(body !== undefined && { body }) })
    await list(double)
    return double.requests().at(-1)?.code
  }
  assert.equal(await codeOf(undefined), 'storage_unavailable')
  assert.equal(await codeOf({ code: 'gone' }, 400), 'gone')
  for (const body of ['', '<h1>', {}]) assert.equal(await codeOf(body), null)
  await list(double)
  assert.equal(double.requests().at(-1)?.code, null)
})

test('journal - filters by path, method and time, and rejects unknown filters', async () => {
  const double = createTestDouble({ apiKeys: KEYS })
  await double.fetch('pets', { headers: HEADERS })
  double.clock.advance('1m')
  await double.fetch('pets', { method: 'POST', headers: HEADERS, body: '{}' })
  double.clock.advance('1m')
  await double.fetch('pets/7', { headers: HEADERS })
  await double.fetch('pets')
  assert.deepEqual(numbers(double, { path: '/v1/pets' }), [1, 2, 4])
  assert.deepEqual(numbers(double, { path: '/v1/pets', method: 'GET' }), [1, 4])
  assert.deepEqual(numbers(double, { since: T0 + 60_000 }), [2, 3, 4])
  assert.deepEqual(numbers(double, { until: '2030-01-01T00:02:00Z' }), [1, 2])
  assert.deepEqual(numbers(double, { since: T0 + 1, until: T0 + 120_000 }), [2])
  assert.deepEqual(numbers(double, { keyId: null }), [4])
  assert.deepEqual(numbers(double, { keyId: 'ci', status: 400 }), [2])
  const wrong: [filter: object, message: RegExp][] = [
    [{ pth: '/v1/pets' }, /Unknown option `pth`; expected one of path/],
    [{ operation: 'list' }, /`operation` to be one of 'listPets'/],
    [{ status: '404' }, /`status` to be an integer/],
    [{ since: 'noon' }, /Expected `since` to be an instant/],
  ]
  for (const [filter, message] of wrong) {
    assert.throws(() => double.requests(filter), { name: 'OptionError', message })
  }
})

test('journal - counts every character of an exchange, and 500 for the rest, exactly', async () => {
  const measure = createTestDouble({ apiKeys: KEYS })
  const ask = (double: TestDouble) => double.fetch('pets', { method: 'HEAD', headers: HEADERS })
  await ask(measure)
  const [{ url, requestHeaders, headers, requestBody, body }] = measure.requests() as [JournalEntry]
  assert.deepEqual([requestBody, body], [null, null])
  // As sent, with the key.
  const sent = { ...requestHeaders, authorization: HEADERS.authorization }
  const texts = [url, ...Object.entries({ ...sent, ...headers }).flat()]
  const size = 500 + texts.join('').length
  for (const [room, kept] of [
    [3 * size, 3],
    [3 * size - 1, 2],
  ] as const) {
    const double = createTestDouble({ apiKeys: KEYS, journalCharacters: room })
    await Promise.all([1, 2, 3].map(() => ask(double)))
    assert.equal(double.requests().length, kept)
    double.clearRequests()
    for (let count = 0; count < 5; count++) await ask(double)
    assert.equal(double.requests().length, kept)
    await double.restore(await double.snapshot())
    assert.equal(double.requests().length, kept)
  }
})

test('journal - a caller is a key: a request in flight says nothing of another key', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 1, keyId: 'demo-free' })
  const get = (key: string) => list(double, { authorization: `Bearer ${key}` })
  const waiting = get('demo-free')
  await get('demo-pro')
  double.clock.advance(1)
  await waiting
  const sequential = double.requests().map(({ sequential }) => sequential)
  assert.deepEqual(sequential, [true, true])
})

test('journal - toCurl shows no secret, and has the address of the double', async () => {
  await using double = createTestDouble({ apiKeys: KEYS })
  const { origin } = await double.listen()
  await fetch(`${origin}/v1/pets?limit=${SECRET}`, { method: 'POST', headers: HEADERS })
  await double.fetch('pets?status=sold', { headers: HEADERS })
  const [overSocket = '', inProcess = ''] = double.requests().map(({ toCurl }) => toCurl())
  assert.ok(overSocket.startsWith(`curl -sS -X POST '${origin}/v1/pets?limit=REDACTED' `))
  assert.ok(overSocket.includes('$ADOPTION_STORE_API_KEY'))
  assert.match(inProcess, /^curl -sS 'http:\/\/adoption-store\.test\/v1\/pets\?/)
})
