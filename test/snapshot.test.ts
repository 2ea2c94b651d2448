import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { digestOf } from '../adapters/test-double/digest.js'
import { createTestDouble } from '../adapters/test-double/index.js'
import type { ApiKey } from '../src/index.js'

const T0 = Date.UTC(2030, 0, 1)

test('digest - is the SHA-256 of the JSON text with its fields in alphabetical order', async () => {
  const text = '{"a":{"c":[2,1,{"d":null,"e":9223372036854775807}],"f":"é"},"b":true}'
  const expected = createHash('sha256').update(text).digest('hex')
  const list = [2, 1, { e: 9223372036854775807n, d: null }]
  assert.equal(await digestOf({ b: true, a: { f: 'é', c: list } }), expected)
  assert.equal(await digestOf({ a: { c: list, f: 'é' }, b: true }), expected)
  assert.notEqual(await digestOf({ a: { c: list.toReversed(), f: 'é' }, b: true }), expected)
})

test('digest - is equal for equal states, regardless of field order', async () => {
  const one: ApiKey = { id: 'one', plan: 'free' }
  const digest = (apiKeys: Record<string, ApiKey>) => createTestDouble({ apiKeys }).digest()
  const { id, plan } = one
  assert.equal(await digest({ a: one }), await digest({ a: { plan, id } }))
  assert.notEqual(await digest({ a: one }), await digest({ a: { ...one, id: 'two' } }))
})

test('snapshot - rejects numbers outside their range and accepts its bounds', async () => {
  const double = createTestDouble()
  await double.seed([{ name: 'Ada', categoryId: 1 }])
  await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
  const good = await double.snapshot()
  const [counted] = good.usage
  assert.ok(counted)
  const [partition, usage] = counted
  const { journal } = good
  const [exchange] = journal.exchanges
  const withUsage = (field: string, value: number) => ({
    ...good,
    usage: [[partition, { ...usage, [field]: value }]],
  })
  const withExchange = (field: string, value: number) => ({
    ...good,
    journal: { ...journal, exchanges: [{ ...exchange, [field]: value }] },
  })
  const cases: [snapshot: unknown, isValid: boolean][] = [
    [withUsage('minuteCount', 0), true],
    [withUsage('minuteCount', -1), false],
    [withUsage('banLevel', 0.5), false],
    [withUsage('bannedUntil', -8.64e15), true],
    [withUsage('bannedUntil', 8.64e15 + 1), false],
    [withExchange('n', 1), true],
    [withExchange('n', 0), false],
    [{ ...good, journal: { ...journal, received: -1 } }, false],
    [{ ...good, time: { now: T0, frozen: true, scale: 1_000_000 } }, true],
    [{ ...good, time: { now: T0, frozen: true, scale: 0 } }, false],
    [{ ...good, nextId: 2 }, true],
    [{ ...good, nextId: 1 }, false],
    [{ ...good, pets: [], nextId: 0 }, false],
  ]
  for (const [snapshot, isValid] of cases) {
    const restored = await double.restore(snapshot as never).then(
      () => true,
      () => false,
    )
    assert.equal(restored, isValid, JSON.stringify(snapshot))
  }
})

test('snapshot - an unknown or missing one is reported as such', async () => {
  const double = createTestDouble()
  for (const [given, got] of [
    ['x', "'x'"],
    [undefined, 'nothing'],
  ] as const) {
    const error = { name: 'OptionError', option: 'snapshot', got }
    await assert.rejects(double.restore(given as never), error)
  }
})
