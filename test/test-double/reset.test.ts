import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { parseJson, toJson } from '../../src/lib/json.js'
import { openSocket } from '../http/raw-socket.js'
import { CREATE, FREE, list, numbers, settled } from './requests.js'

const MINE = { authorization: 'Bearer mine' }

test('reset - an upload that began earlier ends in the state it began in', async () => {
  const double = createTestDouble()
  const { upload, finish } = await beginUpload(double)
  double.reset()
  finish()
  assert.equal((await upload).status, 201)
  assert.deepEqual(await double.pets.listPets(), [])
  assert.deepEqual(double.requests(), [])
})

test('reset - brings back the animals as they were given, whatever became of the given objects', async () => {
  for (const option of ['pets', 'snapshot'] as const) {
    const ada = { name: 'Ada', categoryId: 1, status: 'sold' as string }
    const pets: object[] = [option === 'pets' ? ada : Object.assign(ada, { id: 1 })]
    const double = createTestDouble({ [option]: option === 'pets' ? pets : { pets, nextId: 2 } })
    ada.name = 'Eve'
    pets.push({ id: 2, name: 'Rex', categoryId: 1 })
    double.reset()
    const [only, ...others] = await double.pets.listPets()
    assert.deepEqual([only, others], [{ ...ada, id: 1, name: 'Ada' }, []])
  }
})

test('reset - a delayed upload that began before it is not delayed any more', async () => {
  for (const end of ['reset', 'close'] as const) {
    const double = createTestDouble()
    double.faults.arm({ kind: 'delay', duration: 60_000 })
    const { upload, finish } = await beginUpload(double)
    await double[end]()
    finish()
    assert.equal((await upload).status, 201, end)
  }
})

test('reset - an upload over a socket that began earlier ends in the state it began in', async () => {
  await using double = createTestDouble()
  const { port } = await double.listen()
  const socket = await announceCreate(port)
  socket.write(CREATE.body.slice(0, 5))
  await settled()
  await settled()
  // The server has seen the headers once it answers another connection.
  await fetch(`http://127.0.0.1:${port}/v1/pets`)
  double.reset()
  socket.write(CREATE.body.slice(5))
  await socket.until('"name":"Ada"')
  socket.socket.destroy()
  assert.deepEqual(await double.pets.listPets(), [])
  assert.deepEqual(double.requests(), [])
})

test('listen - closes while a delayed upload is still arriving', async () => {
  const double = createTestDouble()
  const server = await double.listen()
  double.faults.arm({ kind: 'delay', duration: 60_000, operation: 'createPet' })
  const socket = await announceCreate(server.port)
  await fetch(`${server.url}/pets`)
  const closed = server.close()
  socket.write(CREATE.body)
  await socket.until('"name":"Ada"')
  await closed
})

// A clock that goes back makes a store keep counts that a restored one drops.
test('digest - stays equal after a restore, whatever of the counts is past', async () => {
  const [one, other] = [createTestDouble(), createTestDouble()]
  await perform(one, 'nobody 21600000 -172800000 nobody')
  await other.restore(await one.snapshot())
  assert.equal(await one.digest(), await other.digest())
  for (const double of [one, other]) await perform(double, 'nobody 82800000 demo-pro -3600000')
  assert.equal(await one.digest(), await other.digest())
})

/** Sends with a key, or moves the clock by so many ms, also back. */
async function perform(double: TestDouble, steps: string): Promise<void> {
  for (const step of steps.split(' ')) {
    if (/\d/.test(step)) double.clock.set(double.clock() + Number(step))
    else await double.fetch('pets', { headers: { authorization: `Bearer ${step}` } })
  }
}

test('restore - continues connection numbers and blames no new client for earlier responses', async () => {
  const double = createTestDouble()
  for (let at = 0; at < 61; at++) await (await list(double)).text()
  const snapshot = await double.snapshot()
  const other = createTestDouble()
  await other.restore(snapshot)
  await list(other)
  const [last] = other.requests().slice(-1)
  assert.deepEqual([last?.connection, last?.sequential], [62, false])
})

test('restore - added keys stay valid, and faults for them apply, elsewhere once the key is added', async () => {
  const double = createTestDouble()
  double.addKey('mine', { id: 'mine', plan: 'pro' })
  double.faults.arm({ kind: 'status', status: 503, keyId: 'mine' })
  const snapshot = await double.snapshot()
  await double.restore(snapshot)
  assert.equal((await list(double, MINE)).status, 503)
  assert.equal((await list(double, MINE)).status, 200)
  double.reset()
  assert.equal((await list(double, MINE)).status, 401)
  const other = createTestDouble()
  await other.restore(snapshot)
  other.addKey('mine', { id: 'mine', plan: 'pro' })
  assert.equal((await list(other, MINE)).status, 503)
})

test('restore - the journal continues its numbering', async () => {
  const double = createTestDouble({ journal: 3 })
  for (let at = 0; at < 5; at++) await list(double)
  double.clearRequests()
  const snapshot = await double.snapshot()
  const next = async () => {
    await list(double)
    return numbers(double)
  }
  assert.deepEqual(await next(), [6])
  await double.restore(snapshot)
  assert.deepEqual([await next(), double.dropped], [[6], 0])
})

test('restore - yields the same snapshot, field by field', async () => {
  const double = createTestDouble()
  await double.seed([{ categoryId: 1, name: 'Ada', status: 'sold' } as const])
  double.faults.arm({ times: 2, kind: 'status', retryAfter: 1, status: 503 })
  double.faults.arm({ duration: 5, kind: 'delay', operation: 'createPet' })
  for (let at = 0; at < 92; at++) await double.fetch('pets?x=1', { headers: FREE })
  await double.fetch('pets')
  double.clock.advance('90s')
  const written = toJson(await double.snapshot())
  const other = createTestDouble()
  await other.restore(parseJson(written) as never)
  assert.deepEqual(parseJson(toJson(await other.snapshot())), parseJson(written))
})

/** Sends the first half of a create; `finish` sends the other. */
async function beginUpload(double: TestDouble) {
  const bytes = new TextEncoder().encode(CREATE.body)
  const halves = new TransformStream<Uint8Array, Uint8Array>()
  const writer = halves.writable.getWriter()
  const init = { ...CREATE, body: halves.readable, duplex: 'half' } as RequestInit
  const upload = double.fetch('pets', init)
  void writer.write(bytes.subarray(0, 13))
  await settled()
  const finish = () => {
    void writer.write(bytes.subarray(13))
    void writer.close()
  }
  return { upload, finish }
}

/** Sends the headers of a create. */
async function announceCreate(port: number) {
  const socket = await openSocket(port)
  socket.write('POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer demo-free\r\n')
  socket.write(`Content-Type: application/json\r\nContent-Length: ${CREATE.body.length}\r\n\r\n`)
  return socket
}
