import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createTestDouble, type TestDoubleOptions } from '../../adapters/test-double/index.js'
import { FREE, JSON_TYPE, T0 } from './requests.js'

const TOKEN = 'a-token_of-24-characters'
const CONTROL = `/_control/${TOKEN}`

test('control - is off by default', async t => {
  const { origin } = await served(t, { control: false })
  assert.equal((await fetch(`${origin}/_control/health`)).status, 404)
  assert.equal((await fetch(`${origin}/worlds`, { method: 'POST' })).status, 404)
})

test('control - reads, sets, advances, freezes and resumes the clock', async t => {
  const { get, send } = await served(t)
  const frozen = (now: number) => ({ now, iso: new Date(now).toISOString(), frozen: true })
  assert.deepEqual(await get('clock'), frozen(T0))
  assert.deepEqual(await send('POST', 'clock', { advance: '61s' }), [200, frozen(T0 + 61_000)])
  assert.deepEqual(await send('POST', 'clock', { advance: 1 }), [200, frozen(T0 + 61_001)])
  assert.deepEqual(await send('POST', 'clock', { set: '2030-01-01T00:00:00Z' }), [200, frozen(T0)])
  assert.deepEqual(await send('POST', 'clock', { set: T0, advance: '1d' }), [
    200,
    frozen(T0 + 86_400_000),
  ])
  const [, running] = await send('POST', 'clock', { frozen: false })
  assert.equal(running.frozen, false)
  assert.equal((await send('POST', 'clock', { frozen: true }))[1].frozen, true)
  assert.equal((await send('POST', 'clock', { auto: true }))[1].auto, true)
  const [, fast] = await send('POST', 'clock', { scale: 2 })
  assert.deepEqual([fast.frozen, fast.scale, fast.auto], [false, 2, true])
  assert.equal((await send('POST', 'clock', { auto: false }))[1].auto, undefined)
  for (const wrong of [
    {},
    { scale: 2, frozen: true },
    { advance: -1 },
    { set: 'noon' },
    { set: T0, advance: 'x' },
    { set: 8_640_000_000_000_000 },
    { advance: 8_640_000_000_000_000 },
    { forward: 1 },
    [1],
  ]) {
    const [status, { code }] = await send('POST', 'clock', wrong)
    assert.deepEqual([status, code], [400, 'invalid_request'], JSON.stringify(wrong))
  }
})

test('control - reset, digest and an exact snapshot', async t => {
  const { get, send, origin } = await served(t)
  const { digest } = await get('digest')
  const [created, pets] = await send(
    'POST',
    'pets',
    '[{"name":"Ada","categoryId":9223372036854775807}]',
  )
  assert.equal(created, 201)
  assert.equal(pets[0].id, 1)
  const snapshot = await (await fetch(`${origin}${CONTROL}/snapshot?name=ada`)).text()
  assert.match(snapshot, /^\{"name":"ada",.*"categoryId":9223372036854775807/)
  const { digest: changed } = await get('digest')
  assert.notEqual(changed, digest)
  assert.deepEqual(await send('POST', 'reset'), [200, { digest }])
  assert.deepEqual(await send('PUT', 'snapshot', snapshot), [200, { digest: changed }])
  const [status, { message }] = await send('PUT', 'snapshot', '{"pets":[]}')
  assert.equal(status, 400)
  assert.match(message, /`nextId` is required/)
})

test('control - keys, requests, faults and the report', async t => {
  const { get, send, origin, url } = await served(t)
  const limits = { perMinute: 2, perDay: 10 }
  const key = { apiKey: 'mine', id: 'ci', plan: 'enterprise', limits }
  assert.deepEqual(await send('POST', 'keys', key), [201, { id: 'ci', plan: 'enterprise' }])
  assert.equal((await send('POST', 'keys', key))[0], 400)
  const [armed, fault] = await send('POST', 'faults', { kind: 'status', status: 503, keyId: 'ci' })
  assert.deepEqual([armed, fault], [201, { kind: 'status', status: 503, keyId: 'ci', left: 1 }])
  assert.deepEqual(await get('faults'), { faults: [fault] })
  const headers = { authorization: 'Bearer mine' }
  const statuses: number[] = []
  for (let count = 0; count < 6; count++)
    statuses.push((await fetch(`${url}/pets`, { headers })).status)
  assert.deepEqual(statuses, [503, 200, 429, 429, 429, 429])
  assert.equal((await get('requests?keyId=ci&status=429&operation=listPets')).requests.length, 4)
  assert.deepEqual((await get('requests')).dropped, 0)
  assert.equal((await send('GET', 'requests?state=1'))[0], 400)
  assert.equal((await send('GET', 'requests?status=ok'))[0], 400)
  const report = await get('report')
  assert.deepEqual([report.ok, report.findings[0].rule], [false, 'retry-after.early'])
  const plain = await fetch(`${origin}${CONTROL}/report`, { headers: { accept: 'text/plain' } })
  assert.match(plain.headers.get('content-type') ?? '', /^text\/plain/)
  assert.match(await plain.text(), /^Verdict: 1 finding in 6 requests/)
  assert.deepEqual(await send('DELETE', 'requests'), [204, undefined])
  assert.deepEqual((await get('requests')).requests, [])
  const [, hang] = await send('POST', 'faults', { kind: 'hang' })
  await send('POST', 'faults', { kind: 'reset', times: 3 })
  assert.equal((await send('DELETE', 'faults', ['reset']))[0], 400)
  assert.deepEqual(await send('DELETE', 'faults', hang), [204, undefined])
  assert.deepEqual(await get('faults'), { faults: [{ kind: 'reset', times: 3, left: 3 }] })
  assert.deepEqual(await send('DELETE', 'faults'), [204, undefined])
  assert.deepEqual(await get('faults'), { faults: [] })
  const [, { message }] = await send('POST', 'faults', { kind: 'earthquake' })
  assert.match(message, /one of 'status', /)
})

test('control - opens to its token only, in the address or as a bearer', async t => {
  const { origin } = await served(t, { cors: true })
  for (const [path, headers, status] of [
    [`${CONTROL}/health`, {}, 200],
    ['/_control/health', { authorization: `Bearer ${TOKEN}` }, 200],
    ['/_control/health', { cookie: `adoption-store-${new URL(origin).port}=${TOKEN}` }, 403],
    // Whoever comes through a proxy on this machine looks like this machine.
    ['/_control/health', {}, 403],
    ['/_control/another-token-of-24-char/health', {}, 403],
    ['/_control/health', { authorization: 'Bearer demo-free' }, 403],
  ] as const) {
    const guarded = await fetch(origin + path, { headers })
    assert.equal(guarded.status, status, `${path} ${JSON.stringify(headers)}`)
    assert.doesNotMatch(await guarded.text(), /a-token_of/)
    const names = [...guarded.headers.keys()].join()
    assert.doesNotMatch(names, /access-control|x-ratelimit/)
    assert.equal(guarded.headers.get('cross-origin-resource-policy'), 'same-origin')
  }
  await using random = await createTestDouble({ control: true }).listen()
  assert.match(random.control ?? '', /\/_control\/[0-9a-f-]{36}$/)
  await using without = await createTestDouble().listen()
  assert.equal(without.control, null)
  assert.throws(() => createTestDouble({ control: 'short' }), /^OptionError: .*got a string$/)
})

test('control - changes require application/json, and errors are Error bodies', async t => {
  const { origin, get } = await served(t)
  const before = await get('digest')
  const cases: [method: string, path: string, type: string | undefined, status: number][] = [
    ['POST', 'reset', undefined, 415],
    ['POST', 'reset', 'text/plain', 415],
    ['DELETE', 'faults', undefined, 415],
    ['POST', 'pets', 'application/x-www-form-urlencoded', 415],
    ['POST', 'pets', 'application/json', 400],
    ['POST', 'nothing', 'application/json', 404],
    ['GET', '', undefined, 404],
    ['GET', 'constructor', undefined, 404],
    ['PUT', 'reset', 'application/json', 405],
    ['POST', 'worlds/w1', 'application/json', 405],
    ['DELETE', 'worlds/w1', 'application/json', 404],
    ['GET', 'clock/now', undefined, 404],
  ]
  for (const [method, path, type, status] of cases) {
    const answer = await fetch(`${origin}${CONTROL}/${path}`, {
      method,
      headers: type === undefined ? {} : { 'content-type': type },
    })
    const body = (await answer.json()) as Record<string, unknown>
    assert.deepEqual([answer.status, body['status']], [status, status], `${method} ${path}`)
    assert.deepEqual(Object.keys(body), ['code', 'message', 'status'])
  }
  assert.deepEqual(await get('digest'), before)
})

test('control - costs no quota and leaves the API unchanged', async t => {
  const { get, url } = await served(t)
  for (let count = 0; count < 100; count++) await get('health')
  const answer = await fetch(`${url}/pets`, { headers: FREE })
  assert.equal(answer.headers.get('x-ratelimit-remaining'), '59')
  assert.equal((await get('requests')).requests.length, 1)
})

test('worlds - on one port, each has its own animals, clock, requests and keys', async t => {
  const { send, origin } = await served(t)
  const worlds = await Promise.all([0, 1, 2].map(async () => (await send('POST', 'worlds'))[1]))
  assert.equal(new Set(worlds.map(({ id }) => id)).size, 3)
  await Promise.all(
    worlds.map(async ({ id, baseUrl, controlUrl, apiKeys }, at) => {
      const headers = { ...bearer(apiKeys.free), ...JSON_TYPE }
      const body = JSON.stringify({ name: id, categoryId: at })
      await fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
      await command('POST', `${controlUrl}/clock`, { advance: `${at}s` })
    }),
  )
  for (const [at, { id, baseUrl, controlUrl, apiKeys }] of worlds.entries()) {
    const headers = bearer(apiKeys.free)
    const [pet, ...others] = (await command('GET', `${baseUrl}/pets`, undefined, headers))[1]
    assert.deepEqual([pet.name, others], [id, []])
    assert.equal((await command('GET', `${controlUrl}/clock`))[1].now, T0 + at * 1_000)
    const { requests } = (await command('GET', `${controlUrl}/requests?keyId=free`))[1]
    assert.equal(requests.length, 2)
    const stranger = await fetch(`${worlds[(at + 1) % 3].baseUrl}/pets`, { headers })
    assert.equal(stranger.status, 401)
  }
  assert.equal((await fetch(`${origin}/v1/pets`, { headers: FREE })).status, 200)
  for (const { id } of worlds) assert.equal((await send('DELETE', `worlds/${id}`))[0], 204)
  assert.equal((await fetch(`${worlds[0].baseUrl}/pets`)).status, 404)
})

test('worlds - are limited in number and cannot be nested, and an unknown one is 404', async t => {
  const { send, direct, origin, url } = await served(t)
  const [, { controlUrl, baseUrl, apiKeys }] = await send('POST', 'worlds')
  assert.equal((await command('POST', `${controlUrl}/worlds`))[0], 404)
  for (const path of ['worlds/w1/', 'worlds/w1/and/more']) {
    assert.equal((await send('DELETE', path))[0], 404, path)
  }
  const pet = await fetch(`${baseUrl}/pets/1`, { headers: bearer(apiKeys.pro) })
  assert.equal(pet.headers.get('link'), '<../pets>; rel="successor-version"')
  for (const path of [
    '/worlds/w99/v1/pets',
    '/worlds/w99/_control/health',
    '/worlds/',
    '/worlds/constructor/v1',
  ]) {
    const answer = await fetch(origin + path)
    assert.equal(answer.status, 404, path)
    assert.equal(((await answer.json()) as { code: string }).code, 'not_found')
  }
  for (let count = 1; count < 1_000; count++) assert.equal((await direct('POST', 'worlds'))[0], 201)
  const [status, { message }] = await send('POST', 'worlds')
  assert.equal(status, 409)
  assert.match(message, /There are 1000 worlds/)
  assert.equal((await send('DELETE', 'worlds/w7'))[0], 204)
  assert.equal((await send('POST', 'worlds'))[1].id, 'w1001')
  assert.equal((await fetch(`${url}/pets`, { headers: FREE })).status, 200)
})

test('worlds - start empty, or with the animals, keys and clock of the request', async t => {
  const { send, origin } = await served(t)
  const list = async ({ baseUrl }: { baseUrl: string }, key: string) =>
    (await command('GET', `${baseUrl}/pets`, undefined, bearer(key)))[1]
  const [, plain] = await send('POST', 'worlds')
  assert.deepEqual(await list(plain, plain.apiKeys.free), [])
  const [status, world] = await send('POST', 'worlds', {
    pets: [{ name: 'Ada', categoryId: 7 }],
    apiKeys: { 'my-key': { id: 'mine', plan: 'pro' } },
    time: '2029-06-01T00:00:00Z',
  })
  assert.deepEqual([status, world.apiKeys], [201, { mine: 'my-key' }])
  const ada = { id: 1, name: 'Ada', categoryId: 7, status: 'available' }
  assert.deepEqual(await list(world, 'my-key'), [ada])
  const [, clock] = await command('GET', `${world.controlUrl}/clock`)
  assert.equal(clock.iso, '2029-06-01T00:00:00.000Z')
  await command('POST', `${world.controlUrl}/pets`, [{ name: 'Eve', categoryId: 1 }])
  await command('POST', `${world.controlUrl}/reset`)
  assert.deepEqual(await list(world, 'my-key'), [ada])
  const wrong: [body: unknown, message: RegExp][] = [
    [{ animals: [] }, /Unknown option `animals`/],
    [{ pets: [{ name: 'Ada' }] }, /Animal 1: `categoryId` is required/],
    [{ apiKeys: { 'secret-1': { id: 'a', plan: 'gold' } } }, /plan/],
    [{ apiKeys: ['secret-1'] }, /`apiKeys` to be an object/],
    [{ time: 'noon' }, /Expected `time` to be an instant/],
    [[], /Send a JSON object/],
  ]
  for (const [body, message] of wrong) {
    const [refused, error] = await send('POST', 'worlds', body)
    assert.equal(refused, 400, JSON.stringify(body))
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /secret-1/)
  }
  assert.equal((await fetch(`${origin}/worlds/w3/v1/pets`)).status, 404)
})

test('worlds - a delayed request does not keep the server from closing', async () => {
  const double = createTestDouble({ control: true })
  const { control, close } = await double.listen()
  const [, world] = await command('POST', `${control}/worlds`)
  await command('POST', `${world.controlUrl}/faults`, { kind: 'delay', duration: 60_000 })
  const late = fetch(`${world.baseUrl}/pets`, { headers: bearer(world.apiKeys.free) })
  const arrived = async () => (await command('GET', `${world.controlUrl}/requests`))[1].requests
  while ((await arrived()).length === 0);
  await close()
  assert.equal((await late).status, 200)
})

test('control - reads bodies of up to 16 MiB, or up to the limit of the API if that is larger', () => {
  for (const [maxBodyBytes, expected] of [
    [1_000, 16 * 1_048_576],
    [17 * 1_048_576, 17 * 1_048_576],
  ] as const) {
    assert.equal(createTestDouble({ control: true, maxBodyBytes }).handler.maxBodyBytes, expected)
  }
})

test('control - no JSON body makes a command fail with 500', async () => {
  const { direct } = controlled()
  const commands = ['clock', 'pets', 'keys', 'faults', 'worlds'] as const
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...commands), fc.jsonValue(), async (path, value) => {
      assert.ok((await direct('POST', path, JSON.stringify(value)))[0] < 500)
      assert.ok((await direct('PUT', 'snapshot', JSON.stringify(value)))[0] < 500)
    }),
    { numRuns: 80, seed: 7 },
  )
})

test('control - a snapshot with any one value replaced is restored or refused with 400', async () => {
  const { double, direct } = controlled()
  await double.fetch('/v1/pets', { headers: FREE })
  await direct('POST', 'pets', [{ name: 'Ada', categoryId: 1 }])
  await direct('POST', 'faults', { kind: 'delay', duration: 5 })
  const [, snapshot] = await direct('GET', 'snapshot')
  for (const path of pathsOf(snapshot)) {
    for (const value of [null, -1, 1e300, '', 'x', [], {}, [null], true]) {
      const [status, error] = await direct('PUT', 'snapshot', replaced(snapshot, path, value))
      assert.ok(status === 200 || status === 400, `${path.join('.')}: ${JSON.stringify(error)}`)
      assert.ok((await direct('GET', 'clock'))[0] === 200, path.join('.'))
    }
  }
})

type Path = readonly (string | number)[]

/** Every path in a JSON value, outermost first. */
function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...at, name]))]
}

function replaced(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by
  const copy = structuredClone(value) as Record<string | number, unknown>
  copy[name] = replaced(copy[name], rest, by)
  return copy
}

// biome-ignore lint/suspicious/noExplicitAny: the shapes are what the tests are about
type Answer = [status: number, body: any]

async function command(
  method: string,
  url: string,
  body?: unknown,
  headers = method === 'GET' ? {} : JSON_TYPE,
): Promise<Answer> {
  const answer = await fetch(url, { method, headers, body: textOf(body) ?? null })
  return answered(answer.status, await answer.text())
}

function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}

function textOf(body: unknown): string | undefined {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function answered(status: number, content: string): Answer {
  return [status, content === '' ? undefined : JSON.parse(content)]
}

/** Without a socket, for tests that send thousands of commands. */
function controlled(options: TestDoubleOptions = {}) {
  const double = createTestDouble({ control: TOKEN, ...options })
  const direct = async (method: string, path: string, body?: unknown) => {
    const answer = await double.handler.handle({
      ...{ method, path: `${CONTROL}/${path}`, query: '', client: '127.0.0.1' },
      headers: { host: 'localhost', ...(method !== 'GET' && JSON_TYPE) },
      body: textOf(body),
    })
    return answered(answer.status, answer.body)
  }
  return { double, direct }
}

async function served(t: TestContext, options: TestDoubleOptions = {}) {
  const { double, direct } = controlled(options)
  // On a busy machine, requests are far apart, and one may meet the end of its connection.
  const { origin, url, port } = await double.listen({ keepAliveTimeout: 60_000 })
  t.after(double.close)
  const send = (method: string, path: string, body?: unknown) =>
    command(method, `${origin}${CONTROL}/${path}`, body)
  const get = async (path: string) => (await send('GET', path))[1]
  return { origin, url, port, send, direct, get }
}
