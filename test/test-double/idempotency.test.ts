import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { parseJson, toJson } from '../../src/index.js'
import { CREATE, notesOf, T0 } from './requests.js'

const options = { idempotency: { ttl: 60_000 } }

test('double idempotency - keys are part of snapshot and digest, and a reset forgets them', async () => {
  const double = createTestDouble(options)
  const digest = await double.digest()
  await create(double, 'k')
  const snapshot = await double.snapshot()
  const [used = assert.fail(), ...others] = snapshot.idempotencyKeys ?? []
  const { scope, idempotencyKey, expiresAt, petId } = used
  assert.deepEqual([scope, idempotencyKey, expiresAt, petId], ['demo-free', 'k', T0 + 60_000, 1])
  assert.deepEqual(others, [])
  double.reset()
  assert.equal(await double.digest(), digest)
  assert.equal((await double.snapshot()).idempotencyKeys, undefined)
  const twin = createTestDouble(options)
  await twin.restore(parseJson(toJson(snapshot)) as never)
  assert.deepEqual(await twin.snapshot(), snapshot)
  assert.equal((await create(twin, 'k')).replayed, 'true')
  await double.restore({ ...snapshot, idempotencyKeys: [] })
  assert.notEqual(await double.digest(), await digestOf(snapshot))
  assert.equal((await create(double, 'k')).json.id, 2)
})

test('double idempotency - a lost create that is sent again without its key is a note with both ids', async () => {
  const note = async (keys: readonly (string | undefined)[], given: object = options) => {
    const double = createTestDouble(given)
    double.faults.arm({ kind: 'reset', operation: 'createPet' })
    for (const key of keys) await create(double, key).catch(() => {})
    const { ok, notes } = double.report()
    assert.ok(ok)
    return notes.map(({ rule, seen }) => `${rule}: ${seen}`)
  }
  const twice = [
    'create.repeated: a create whose response was lost was sent again: it is stored as 1 and 2',
  ]
  assert.deepEqual(await note([undefined, undefined]), twice)
  assert.deepEqual(await note(['a', 'b']), twice)
  assert.deepEqual(await note([undefined, 'a']), twice)
  assert.deepEqual(await note([undefined, undefined], {}), twice)
  assert.deepEqual(await note(['a', 'a']), [])
  assert.deepEqual(await note(['a', 'a'], {}), [
    'idempotency.ignored: Idempotency-Key was sent, and this store ignores it (2 times)',
  ])
  const double = createTestDouble(options)
  await create(double, undefined)
  await create(double, undefined)
  assert.deepEqual(double.report().notes, [])
})

test('double idempotency - so is one that got an error once it was stored, also after a restore', async () => {
  const note = async (given: object, ...keys: readonly (string | undefined)[]) => {
    const double = createTestDouble(given)
    double.faults.arm({ kind: 'status', status: 503, when: 'after', operation: 'createPet' })
    await create(double, keys[0])
    const other = createTestDouble(given)
    await other.restore(JSON.parse(JSON.stringify(await double.snapshot())))
    for (const one of [double, other]) await create(one, keys[1])
    assert.deepEqual(notesOf(other), notesOf(double))
    return notesOf(double)
  }
  const twice = 'a create answered with an error was sent again: it is stored as 1 and 2'
  assert.deepEqual(await note({}, undefined, undefined), [twice])
  assert.deepEqual(await note(options, 'a', 'b'), [twice])
  assert.deepEqual(await note(options, 'a', 'a'), [])
})

test('double idempotency - a lost answer of another create, or a fault that stores nothing, is none', async () => {
  const double = createTestDouble(options)
  double.faults.arm({ kind: 'reset', operation: 'createPet' })
  await create(double, undefined, 'Rex').catch(() => {})
  await create(double, undefined, 'Tom')
  double.faults.arm({ kind: 'status', status: 503, operation: 'createPet' })
  await create(double, undefined, 'Max').catch(() => {})
  await create(double, undefined, 'Max')
  assert.deepEqual(double.report().notes, [])
})

async function create(double: TestDouble, key: string | undefined, name = 'Rex') {
  const response = await double.fetch('pets', {
    method: 'POST',
    headers: { ...CREATE.headers, ...(key !== undefined && { 'idempotency-key': `"${key}"` }) },
    body: JSON.stringify({ name, categoryId: 1 }),
  })
  const replayed = response.headers.get('idempotent-replayed')
  return { json: (await response.json()) as { id: number }, replayed }
}

async function digestOf(snapshot: Awaited<ReturnType<TestDouble['snapshot']>>): Promise<string> {
  const double = createTestDouble(options)
  await double.restore(snapshot)
  return double.digest()
}
