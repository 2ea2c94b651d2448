import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { doorsOf, FREE, list, T0 } from './requests.js'

const { setTimeout: realTimeout } = globalThis
const BODY = '[{"id":1,"name":"Zoë","categoryId":1,"status":"available"}]'
const SIZE = Buffer.byteLength(BODY)

// Tests with mocked timers come first: a connection of `fetch` that closes meanwhile cannot stop its timer, and
// throws when it fires (nodejs/undici#4755, in Node 22).
test('trickle - takes real time with `real`, and none on an auto clock', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'] })
  const double = await withZoe()
  double.faults.arm({ kind: 'trickle', bytes: SIZE, interval: 300, real: true })
  const text = (await list(double)).text()
  assert.equal(await Promise.race([text, settled()]), 'waits')
  t.mock.timers.tick(300)
  assert.equal(await text, BODY)
  assert.equal(double.clock(), T0)

  double.clock.auto = true
  double.faults.arm({ kind: 'trickle', bytes: 1, interval: 1_000 })
  assert.equal(await (await list(double)).text(), BODY)
  assert.equal(double.clock(), T0 + SIZE * 1_000)
})

test('trickle - run lets no time pass while another request waits in real time', async t => {
  const double = await withZoe()
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'] })
  double.faults.arm({ kind: 'trickle', bytes: 20, interval: 1_000, keyId: 'demo-free' })
  double.faults.arm({ kind: 'delay', duration: 300, real: true, keyId: 'demo-pro' })
  const text = await double.run(async () => {
    const slow = (await list(double)).text()
    const other = list(double, { authorization: 'Bearer demo-pro' })
    // More turns of the event loop than `run` needs to see that nothing happens.
    for (let turn = 0; turn < 30; turn++) await new Promise(resolve => realTimeout(resolve))
    assert.equal(double.clock(), T0)
    t.mock.timers.tick(300)
    assert.equal((await other).status, 200)
    return slow
  })
  assert.equal(text, BODY)
  assert.equal(double.clock(), T0 + 3_000)
})

test('trickle - sends the headers at once and the body in pieces on the clock, through every door', async () => {
  await using double = await withZoe()
  const handler = toFetchHandler(double.handler)
  const doors = [
    ...(await doorsOf(double)),
    (path: string, init?: RequestInit) => handler(new Request(double.baseUrl + path, init)),
  ]
  for (const send of doors) {
    const start = double.clock()
    double.faults.arm({ kind: 'trickle', bytes: 20, interval: 1_000 })
    const response = await send('/pets', { headers: FREE })
    assert.deepEqual([response.status, response.headers.get('content-length')], [200, String(SIZE)])
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const pieces: number[] = []
    let text = ''
    const decoder = new TextDecoder()
    for (;;) {
      const next = reader.read()
      assert.equal(await Promise.race([next.then(() => 'read'), settled()]), 'waits')
      double.clock.advance('1s')
      const { value } = await next
      pieces.push(value?.length ?? 0)
      text += decoder.decode(value, { stream: true })
      if (text.length === BODY.length) break
    }
    assert.deepEqual([pieces, text], [[20, 20, SIZE - 40], BODY])
    assert.equal((await reader.read()).done, true)
    assert.equal(double.clock() - start, 3_000)
  }
  assert.deepEqual(
    double.requests().map(({ fault, body, status }) => [fault, body, status]),
    doors.map(() => ['trickle', BODY, 200]),
  )
})

test('trickle - run lets the body arrive in virtual time, in process and on a socket', async () => {
  await using double = await withZoe()
  for (const send of await doorsOf(double)) {
    const start = double.clock()
    double.faults.arm({ kind: 'trickle', bytes: 1, interval: 60_000 })
    assert.equal(
      await double.run(async () => (await send('/pets', { headers: FREE })).text()),
      BODY,
    )
    assert.equal(double.clock() - start, SIZE * 60_000)
  }
})

test('trickle - pieces are due by the clock, however late the client reads', async () => {
  const double = await withZoe()
  double.faults.arm({ kind: 'trickle', bytes: 10, interval: 1_000 })
  await double.run(async () => {
    const response = await list(double)
    await double.clock.sleep(60_000)
    await response.text()
  })
  assert.equal(double.clock(), T0 + 60_000)
})

test('trickle - an abort ends the body with its reason', async () => {
  const double = await withZoe()
  double.faults.arm({ kind: 'trickle', bytes: 1, interval: 1_000 })
  const abort = new AbortController()
  const response = await double.fetch('pets', { headers: FREE, signal: abort.signal })
  const text = response.text()
  abort.abort(new Error('enough'))
  await assert.rejects(text, { message: 'enough' })
})

test('trickle - a client that leaves frees the connection, and the next request is served', async () => {
  await using double = await withZoe()
  const server = await double.listen()
  double.faults.arm({ kind: 'trickle', bytes: 1, interval: 1_000 })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write('GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo-free\r\n\r\n')
  const head = await new Promise<Buffer>(resolve => socket.once('data', resolve))
  assert.match(head.toString(), /^HTTP\/1\.1 200 OK\r\n/)
  socket.destroy()
  const response = await fetch(`${server.url}/pets`, { headers: FREE })
  assert.equal(await response.text(), BODY)
})

test('trickle - a reset, a close and a closed server send the rest at once', async () => {
  const double = await withZoe()
  const arm = () => double.faults.arm({ kind: 'trickle', bytes: 1, interval: 1_000 })
  arm()
  const before = await list(double)
  const text = before.text()
  double.reset()
  assert.equal(await text, BODY)

  await double.seed([{ name: 'Zoë', categoryId: 1 }])
  const server = await double.listen()
  arm()
  const open = await fetch(`${server.url}/pets`, { headers: FREE })
  await server.close()
  assert.equal(await open.text(), BODY)

  arm()
  const last = await list(double)
  const rest = last.text()
  await double.close()
  assert.equal(await rest, BODY)
  arm()
  assert.equal(await (await list(double)).text(), BODY)
})

const ZOE = { name: 'Zoë', categoryId: 1 }

async function withZoe(): Promise<TestDouble> {
  const double = createTestDouble()
  await double.seed([ZOE])
  return double
}

/** After everything that needs only promises and a few turns. */
async function settled(): Promise<string> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  return 'waits'
}
