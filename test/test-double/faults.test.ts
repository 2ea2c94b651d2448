import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createTestDouble, type Fault } from '../../adapters/test-double/index.js'
import { ERROR_STATUS } from '../../src/index.js'
import {
  arrived,
  CREATE,
  doorsOf,
  FREE,
  JSON_TYPE,
  list,
  settled,
  statuses,
  T0,
} from './requests.js'

/** In seconds. */
const CENTURY = 36_525 * 86_400

// Tests with mocked timers come first: a connection of `fetch` that closes meanwhile cannot stop its timer, and
// throws when it fires (nodejs/undici#4755, in Node 22).
test('faults - a real delay takes real time on a frozen clock, and a reset ends it', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'] })
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 300, real: true, times: 2 })
  let status = 0
  const call = async () => {
    status = (await list(double)).status
  }
  const first = call()
  await settled()
  double.clock.advance('1d')
  t.mock.timers.tick(299)
  await settled()
  assert.equal(status, 0)
  t.mock.timers.tick(1)
  await first
  assert.equal(status, 200)
  assert.equal(double.clock(), T0 + 86_400_000)
  status = 0
  const second = call()
  await settled()
  double.reset()
  await second
  assert.equal(status, 200)
})

test('faults - apply only when armed, and as often as specified', async () => {
  const double = createTestDouble()
  assert.deepEqual(await statuses(double, 2), [200, 200])
  double.faults.arm({ kind: 'status', status: 503, times: 2 })
  double.faults.arm({ kind: 'status', status: 500 })
  assert.deepEqual(await statuses(double, 5), [503, 503, 500, 200, 200])
  double.faults.arm({ kind: 'status', status: 429, times: 'always' })
  assert.deepEqual(await statuses(double, 3), [429, 429, 429])
  assert.deepEqual(double.faults.list(), [
    { kind: 'status', status: 429, times: 'always', left: 'always', fired: 3 },
  ])
  double.faults.clear()
  assert.deepEqual(await statuses(double, 1), [200])
  const once = double.faults.arm({ kind: 'status', status: 503, until: '30s' })
  double.faults.arm({ kind: 'status', status: 500, times: 2 })
  await statuses(double, 1)
  double.faults.clear(once)
  assert.deepEqual(await statuses(double, 3), [500, 500, 200])
})

test('faults - can be restricted to an operation and a key', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'status', status: 503, operation: 'createPet', keyId: 'demo-pro' })
  const pro = { authorization: 'Bearer demo-pro', ...JSON_TYPE }
  assert.equal((await double.fetch('pets', { headers: pro })).status, 200)
  assert.equal((await double.fetch('pets', CREATE)).status, 201)
  assert.equal((await double.fetch('nowhere', { headers: pro })).status, 404)
  assert.equal((await double.fetch('pets', { ...CREATE, headers: pro })).status, 503)
  assert.equal((await double.fetch('pets', { ...CREATE, headers: pro })).status, 201)
})

test('faults - an invalid fault is rejected when armed, and names the field and its rule', () => {
  const double = createTestDouble()
  const circular: Record<string, unknown> = {}
  circular['self'] = [circular]
  const hang = { kind: 'hang' }
  const delay = { kind: 'delay', duration: 1 }
  const status = { kind: 'status', status: 503 }
  const wrong: [fault: unknown, message: RegExp][] = [
    [null, /`kind`/],
    [{ kind: 'slow' }, /`kind` to be one of 'status', .*, got 'slow'/],
    [
      { ...hang, operation: 'deletePet' },
      /`operation` to be one of 'listPets', 'createPet', 'getPet', got 'deletePet'/,
    ],
    [{ ...hang, keyId: 'demo-gold' }, /`keyId` to be one of 'demo-free', 'demo-pro'/],
    [{ ...hang, times: 0 }, /`times` to be an integer of at least 1, or 'always', got 0/],
    [{ ...hang, nth: 0 }, /`nth` to be an integer of at least 1/],
    [{ ...hang, probability: 0.5 }, /^Unknown option `probability`/],
    [{ ...hang, real: true }, /Unknown option `real`/],
    [{ ...hang, from: 'soon' }, /^Expected `from` to be an instant in the years .*got 'soon'/],
    [{ ...hang, until: '9999999d' }, /`until` to be an instant/],
    [
      { ...hang, from: '20s', until: '10s' },
      /`until` to be later than `from`, got 2030-01-01T00:00:10.000Z/,
    ],
    [{ ...hang, from: '20s', until: '20s' }, /`until` to be later than `from`/],
    [{ ...hang, chance: 0 }, /`chance` to be a number above 0, up to 1, got 0/],
    [{ ...hang, chance: 1.1 }, /`chance`/],
    [{ ...hang, requestHeaders: [] }, /`requestHeaders` to be an object, got an array/],
    [{ ...hang, requestHeaders: { 'a b': '1' } }, /`requestHeaders`.*names of headers/],
    [{ ...hang, requestHeaders: { a: 1 } }, /`requestHeaders\.a` to be a string, true or false/],
    [{ ...hang, left: 1, waiting: -1 }, /`waiting`/],
    [{ ...hang, left: 1, fired: -1 }, /`fired`/],
    [{ ...hang, left: 1, drawn: 0.5 }, /`drawn`/],
    [{ ...delay, duration: -1 }, /`duration`/],
    [{ ...delay, jitter: -1 }, /`jitter`/],
    [{ ...delay, real: 'yes' }, /`real` to be true or false/],
    [{ kind: 'trickle', interval: 1 }, /`bytes` to be an integer of at least 1/],
    [{ ...status, status: 399 }, /`status` to be an integer from 400 to 599, got 399/],
    [{ ...status, status: 600 }, /`status`/],
    [{ ...status, when: 'later' }, /`when` to be one of 'before', 'after', got 'later'/],
    [{ ...status, code: 'oops' }, /`code` to be one of 'invalid_request'/],
    [{ ...status, retryAfter: 1.5 }, /`retryAfter`/],
    [{ ...status, retryAfter: -1 }, /`retryAfter`/],
    [{ ...status, retryAfter: { date: CENTURY + 1 } }, /`retryAfter`/],
    [{ ...status, retryAfter: { date: 1, unit: 's' } }, /`retryAfter`/],
    [{ ...status, body: 7 }, /`body` to be a string, an object or an array/],
    [{ ...status, body: null }, /`body`/],
    [{ ...status, body: circular }, /`body`/],
    [{ ...status, headers: { 'x\n': '1' } }, /`headers` to be/],
    [{ ...status, headers: { '': '1' } }, /`headers`/],
    [{ ...status, headers: { Connection: 'close' } }, /`headers`/],
    [{ ...status, headers: { 'X-A': '\u0100' } }, /`headers`/],
  ]
  for (const [fault, message] of wrong) {
    const arm = () => double.faults.arm(fault as Fault)
    assert.throws(arm, { name: 'OptionError', message }, inspect(fault))
  }
  assert.deepEqual(double.faults.list(), [])
  for (const fault of [1, 'hang', null]) {
    const create = () => createTestDouble({ faults: [fault as never] })
    assert.throws(create, { name: 'OptionError' }, JSON.stringify(fault))
  }
})

test('faults - values at their bounds are accepted', () => {
  const double = createTestDouble()
  const shared = { id: 2n ** 60n }
  const status = { kind: 'status', status: 503 }
  for (const fault of [
    { kind: 'delay', duration: 0 },
    { kind: 'hang', nth: 1, times: 1 },
    { ...status, retryAfter: { date: CENTURY } },
    { ...status, retryAfter: { date: -CENTURY } },
    { ...status, headers: { "!#$%&'*+.^_`|~-a": '\t ~\u0080\u00ff' } },
    { ...status, headers: { 'X-Connection': '' } },
    { ...status, body: { twice: [shared, shared], none: null, at: undefined } },
  ]) {
    double.faults.arm(fault as Fault)
  }
})

test('faults - a status can have any Retry-After, with an Error body and true rate limit headers', async () => {
  const double = createTestDouble()
  const kinds: [retryAfter: number | { date: number } | null | undefined, header: string | null][] =
    [
      [undefined, null],
      [null, null],
      [0, '0'],
      [30, '30'],
      [{ date: 30 }, 'Tue, 01 Jan 2030 00:00:30 GMT'],
      [{ date: -30 }, 'Mon, 31 Dec 2029 23:59:30 GMT'],
    ]
  for (const [retryAfter, header] of kinds) {
    double.faults.arm({
      kind: 'status',
      status: 429,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    })
    const answer = await double.fetch('pets', CREATE)
    assert.equal(answer.headers.get('retry-after'), header)
    const { code, message, status, ...rest } = (await answer.json()) as Record<string, unknown>
    assert.deepEqual(
      [code, typeof message, status, rest],
      ['rate_limit_exceeded', 'string', 429, {}],
    )
  }
  assert.deepEqual(await double.pets.listPets(), [])
  const next = await list(double)
  assert.equal(next.headers.get('x-ratelimit-remaining'), String(59 - kinds.length))
})

test('faults - any status from 400 to 599 has an Error body with a code that fits', async () => {
  const double = createTestDouble({ rateLimiting: false })
  const codeOf = new Map<number, string>(
    Object.entries(ERROR_STATUS).map(([code, status]) => [status, code]),
  )
  codeOf.set(429, 'rate_limit_exceeded')
  for (const gateway of [502, 504]) codeOf.set(gateway, 'storage_unavailable')
  for (let status = 400; status <= 599; status++) {
    double.faults.arm({ kind: 'status', status })
    const answer = await list(double)
    const error = (await answer.json()) as { code: string; status: number }
    const code = codeOf.get(status) ?? (status < 500 ? 'invalid_request' : 'internal_error')
    assert.deepEqual([answer.status, error.status, error.code], [status, status, code])
  }
  double.faults.arm({ kind: 'status', status: 429, code: 'api_key_banned' })
  const banned = await list(double)
  assert.equal(((await banned.json()) as { code: string }).code, 'api_key_banned')
})

test('faults - a status can have any body and headers, in process and on a socket', async () => {
  await using double = createTestDouble()
  const [inProcess, overSocket] = await doorsOf(double)
  const page = '<h1>Bad Gateway – nginx</h1>'
  const cases: [fault: object, type: string, body: string][] = [
    [{ body: page, headers: { 'content-type': 'text/html' } }, 'text/html', page],
    [{ body: '' }, 'text/plain; charset=utf-8', ''],
    [{ body: { error: { id: 1 } } }, 'application/json', '{"error":{"id":1}}'],
    [{ body: [], headers: { Via: '1.1 x' }, retryAfter: 3 }, 'application/json', '[]'],
  ]
  for (const [fault, type, body] of cases) {
    for (const send of [inProcess, overSocket]) {
      double.faults.arm({ kind: 'status', status: 502, ...fault } as Fault)
      const answer = await send('/pets', { headers: FREE })
      const { headers } = answer
      assert.deepEqual([answer.status, headers.get('content-type')], [502, type])
      assert.equal(await answer.text(), body)
      assert.equal(headers.get('content-length'), String(Buffer.byteLength(body)))
      assert.equal(headers.has('x-ratelimit-remaining'), true)
      assert.equal(headers.get('via'), 'headers' in fault && body === '[]' ? '1.1 x' : null)
    }
  }
  double.faults.arm({ kind: 'status', status: 502, body: page })
  const head = await overSocket('/pets', { method: 'HEAD', headers: FREE })
  assert.deepEqual([head.status, await head.text()], [502, ''])
})

test('faults - truncate sends the first half of the bytes, malformed that of the characters', async () => {
  const double = createTestDouble()
  for (const name of ['Ada', 'Adas', 'é', '\u{1f415}', '']) {
    await double.pets.createPet({ name, categoryId: 1 })
    const whole = await (await list(double)).text()
    const bytes = Buffer.from(whole)

    double.faults.arm({ kind: 'truncate' })
    const truncated = await list(double)
    const reader = (truncated.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    assert.deepEqual(Buffer.from(value as Uint8Array), bytes.subarray(0, bytes.length >> 1))
    await assert.rejects(reader.read(), TypeError)
    assert.equal(truncated.headers.get('content-length'), String(bytes.length))

    double.faults.arm({ kind: 'malformed' })
    const malformed = await list(double)
    const half = whole.slice(0, whole.length >> 1)
    assert.equal(malformed.headers.get('content-length'), String(Buffer.byteLength(half)))
    assert.equal(await malformed.text(), half)
  }
})

test('faults - a hanging call in process ends when its double is reset or closed', async () => {
  const double = createTestDouble()
  for (const end of ['reset', 'close'] as const) {
    double.faults.arm({ kind: 'hang' })
    const call = list(double)
    await arrived(double)
    await settled()
    await double[end]()
    await assert.rejects(call, { name: 'TypeError', message: 'fetch failed' })
  }
  double.faults.arm({ kind: 'hang' })
  await assert.rejects(list(double), { message: 'fetch failed' })
})

test('faults - nth picks the matching request, even after a restore', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'status', status: 503, nth: 3, times: 2, operation: 'listPets' })
  double.faults.arm({ kind: 'status', status: 500, nth: 5 })
  assert.equal((await double.fetch('pets', CREATE)).status, 201)
  assert.deepEqual(await statuses(double, 1), [200])
  assert.deepEqual(
    double.faults.list().map(({ left, waiting }) => [left, waiting]),
    [
      [2, 1],
      [1, 2],
    ],
  )
  await double.restore(await double.snapshot())
  assert.deepEqual(await statuses(double, 5), [200, 503, 503, 500, 200])
  assert.deepEqual(double.faults.list(), [])
})

for (const kind of ['reset', 'hang', 'truncate', 'malformed', 'delay'] as const) {
  test(`faults - ${kind} is the same in process and on a socket`, async () => {
    const fault: Fault = kind === 'delay' ? { kind, duration: 1_000 } : { kind }
    const [inProcess, overHttp] = [await outcome(fault, false), await outcome(fault, true)]
    assert.deepEqual(inProcess, overHttp)
    assert.deepEqual(inProcess, OUTCOMES[kind])
  })
}

test('faults - a delay combines with another fault', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 1_000, times: 'always' })
  double.faults.arm({ kind: 'status', status: 503, retryAfter: { date: 1 } })
  const late = list(double)
  double.clock.advance('1s')
  const answer = await late
  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), new Date(T0 + 2_000).toUTCString())
})

/** The outcome of a `createPet`, and the number of pets after it. */
async function outcome(fault: Fault, socket: boolean): Promise<readonly unknown[]> {
  await using double = createTestDouble()
  double.faults.arm(fault)
  const abort = new AbortController()
  const init = { ...CREATE, signal: abort.signal }
  const url = socket ? (await double.listen()).url : double.baseUrl
  const call = (socket ? fetch : double.fetch)(`${url}/pets`, init)
  if (fault.kind === 'delay') {
    await arrived(double)
    assert.deepEqual(await double.pets.listPets(), [])
    double.clock.advance('1s')
  }
  if (fault.kind === 'hang') {
    await arrived(double)
    abort.abort(new Error('enough'))
    const [{ status, answeredAt } = {}] = double.requests()
    assert.deepEqual([status, answeredAt], [null, null])
  }
  const outcome = await call.then(
    async answer => [answer.status, await answer.text().catch(describe)],
    error => [describe(error)],
  )
  return [...outcome, (await double.pets.listPets()).length]
}

const OUTCOMES = {
  reset: ['TypeError: fetch failed (Error ECONNRESET read ECONNRESET)', 1],
  hang: ['Error: enough', 0],
  truncate: [201, 'TypeError: terminated (SocketError UND_ERR_SOCKET other side closed)', 1],
  malformed: [201, '{"id":1,"name":"Ada","catego', 1],
  delay: [201, '{"id":1,"name":"Ada","categoryId":1,"status":"available"}', 1],
}

function describe(error: Error & { cause?: { name: string; code: string; message: string } }) {
  const { name, message, cause } = error
  return `${name}: ${message}${cause ? ` (${cause.name} ${cause.code} ${cause.message})` : ''}`
}

test('faults - a status comes after 401 and 429 of the store, and before everything else', async () => {
  await using double = createTestDouble()
  for (const send of await doorsOf(double)) {
    double.reset()
    const fault = { kind: 'status', body: 'injected', retryAfter: 7 } as const
    const sent = async (status: number, headers: Record<string, string>, path = '/pets') => {
      double.faults.arm({ ...fault, status })
      const response = await send(path, { headers })
      assert.deepEqual(double.faults.list(), [], 'used up')
      const text = await response.text()
      return [response.status, text === 'injected', response.headers.get('fault-injected')]
    }
    for (const status of [401, 429, 503]) {
      assert.deepEqual(await sent(status, {}), [401, false, null])
      assert.deepEqual(await sent(status, { authorization: 'Bearer nobody' }), [401, false, null])
      assert.deepEqual(await sent(status, FREE), [status, true, null])
    }
    assert.deepEqual(await sent(503, FREE, '/pets/abc'), [503, true, null])
    while ((await send('/pets', { headers: FREE })).status !== 429);
    for (const status of [401, 429, 503]) {
      assert.deepEqual(await sent(status, FREE), [429, false, null])
    }
  }
})

test('faults - with `when: after` the operation has run, through fetch and over a socket', async () => {
  await using double = createTestDouble({ cors: true })
  for (const send of await doorsOf(double)) {
    double.reset()
    const after = { kind: 'status', status: 503, when: 'after', retryAfter: 3 } as const
    assert.equal(double.faults.arm(after).left, 1)
    const headers = { ...CREATE.headers, origin: 'http://a.example' }
    const response = await send('/pets', { ...CREATE, headers })
    const { code, status } = (await response.json()) as { code: string; status: number }
    assert.deepEqual([response.status, code, status], [503, 'storage_unavailable', 503])
    const names = [
      'retry-after',
      'x-ratelimit-remaining',
      'location',
      'access-control-allow-origin',
    ]
    const sent = names.map(name => response.headers.get(name))
    assert.deepEqual(sent, ['3', '59', null, '*'])
    assert.equal((await double.pets.listPets()).length, 1)
    assert.equal(double.requests()[0]?.fault, 'status')

    double.faults.arm({ ...after, body: 'down', headers: { 'Retry-After': '9' } })
    const down = await send('/pets', { headers: FREE })
    assert.deepEqual([await down.text(), down.headers.get('retry-after')], ['down', '9'])
    double.faults.arm(after)
    const head = await send('/pets', { method: 'HEAD', headers: FREE })
    assert.deepEqual([head.status, await head.text()], [503, ''])
    double.faults.arm(after)
    assert.equal((await send('/pets')).status, 401)
  }
})
