import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createTestDouble, type Fault, type TestDouble } from '../adapters/test-double/index.js'

const FREE = { authorization: 'Bearer demo-free' }
const JSON_TYPE = { 'content-type': 'application/json' }
const ADA = {
  method: 'POST',
  headers: { ...FREE, ...JSON_TYPE },
  body: '{"name":"Ada","categoryId":1}',
}
const T0 = Date.UTC(2030, 0, 1)

test('faults - none happens unless it is armed, and each its number of times', async () => {
  const double = createTestDouble()
  const statuses = async (count: number) => {
    const answers: number[] = []
    while (answers.length < count)
      answers.push((await double.fetch('pets', { headers: FREE })).status)
    return answers
  }
  assert.deepEqual(await statuses(2), [200, 200])
  double.faults.arm({ kind: 'status', status: 503, times: 2 })
  double.faults.arm({ kind: 'status', status: 500 })
  assert.deepEqual(await statuses(5), [503, 503, 500, 200, 200])
  double.faults.arm({ kind: 'status', status: 429, times: 'always' })
  assert.deepEqual(await statuses(3), [429, 429, 429])
  assert.deepEqual(double.faults.list(), [
    { kind: 'status', status: 429, times: 'always', left: 'always' },
  ])
  double.faults.clear()
  assert.deepEqual(await statuses(1), [200])
})

test('faults - an operation and a key narrow it down', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'status', status: 503, operation: 'createPet', key: 'demo-pro' })
  const pro = { authorization: 'Bearer demo-pro', ...JSON_TYPE }
  assert.equal((await double.fetch('pets', { headers: pro })).status, 200)
  assert.equal((await double.fetch('pets', ADA)).status, 201)
  assert.equal((await double.fetch('nowhere', { headers: pro })).status, 404)
  assert.equal((await double.fetch('pets', { ...ADA, headers: pro })).status, 503)
  assert.equal((await double.fetch('pets', { ...ADA, headers: pro })).status, 201)
})

test('faults - what is not known is refused when it is armed, naming what is', () => {
  const double = createTestDouble()
  const wrong: [fault: unknown, message: RegExp][] = [
    [
      { kind: 'slow' },
      /`kind` to be one of 'status', 'delay', 'hang', 'reset', 'truncate', 'malformed', got 'slow'/,
    ],
    [null, /`kind`/],
    [
      { kind: 'hang', operation: 'deletePet' },
      /`operation` to be one of 'listPets', 'createPet', 'getPet', got 'deletePet'/,
    ],
    [{ kind: 'hang', key: 'demo-gold' }, /`key` to be one of 'demo-free', 'demo-pro'/],
    [{ kind: 'hang', times: 0 }, /`times` to be an integer of at least 1, or 'always', got 0/],
    [{ kind: 'hang', probability: 0.5 }, /^Unknown option `probability`/],
    [{ kind: 'status', status: 404 }, /`status` to be one of 429, 500, 503, got 404/],
    [{ kind: 'status', status: 429, retryAfter: -1 }, /`retryAfter` to be seconds/],
    [{ kind: 'delay' }, /`ms`/],
  ]
  for (const [fault, message] of wrong) {
    assert.throws(() => double.faults.arm(fault as Fault), { name: 'OptionError', message })
  }
  assert.deepEqual(double.faults.list(), [])
})

test('faults - a status has every kind of Retry-After, the Error body and true limits', async () => {
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
    const answer = await double.fetch('pets', ADA)
    assert.equal(answer.headers.get('retry-after'), header)
    const { code, message, status, ...rest } = (await answer.json()) as Record<string, unknown>
    assert.deepEqual(
      [code, typeof message, status, rest],
      ['rate_limit_exceeded', 'string', 429, {}],
    )
  }
  assert.deepEqual(await double.pets.listPets(), [])
  const next = await double.fetch('pets', { headers: FREE })
  assert.equal(next.headers.get('x-ratelimit-remaining'), String(59 - kinds.length))
})

for (const kind of ['reset', 'hang', 'truncate', 'malformed', 'delay'] as const) {
  test(`faults - ${kind} is the same for a client in this process as on a socket`, async () => {
    const fault: Fault = kind === 'delay' ? { kind, ms: 1_000 } : { kind }
    const [inProcess, overHttp] = [await outcome(fault, false), await outcome(fault, true)]
    assert.deepEqual(inProcess, overHttp)
    assert.deepEqual(inProcess, OUTCOMES[kind])
  })
}

test('faults - reset is a TCP reset, truncate half of the bytes and then the end', async () => {
  await using double = createTestDouble()
  const { port } = await double.listen()
  await double.seed([{ name: 'Ada'.repeat(100), categoryId: 1 }])
  const send = () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo-free\r\n\r\n')
    return text(socket)
  }
  double.faults.arm({ kind: 'reset' })
  await assert.rejects(send(), { code: 'ECONNRESET' })
  double.faults.arm({ kind: 'truncate' })
  const [head = '', body = ''] = (await send()).split('\r\n\r\n')
  const announced = Number(/content-length: (\d+)/i.exec(head)?.[1])
  assert.equal(Buffer.byteLength(body), announced >> 1)
})

test('faults - a delay and another one strike together', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', ms: 1_000, times: 'always' })
  double.faults.arm({ kind: 'status', status: 503, retryAfter: { date: 1 } })
  const late = double.fetch('pets', { headers: FREE })
  double.clock.advance('1s')
  const answer = await late
  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), new Date(T0 + 2_000).toUTCString())
})

/** What a `createPet` comes to, and how many pets there are then. */
async function outcome(fault: Fault, socket: boolean): Promise<readonly unknown[]> {
  await using double = createTestDouble()
  double.faults.arm(fault)
  const abort = new AbortController()
  const init = { ...ADA, signal: abort.signal }
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
  const told = await call.then(
    async answer => [answer.status, await answer.text().catch(describe)],
    error => [describe(error)],
  )
  return [...told, (await double.pets.listPets()).length]
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

async function arrived(double: TestDouble): Promise<void> {
  while (double.requests().length === 0) await new Promise(resolve => setImmediate(resolve))
}
