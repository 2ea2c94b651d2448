import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble, type Fault, type Snapshot } from '../../adapters/test-double/index.js'
import { parseJson, toJson } from '../../src/lib/json.js'
import { JSON_TYPE, list, statuses, T0 } from './requests.js'

const DOWN = { kind: 'status', status: 503 } as const

test('faults - from and until are an outage on the clock', async () => {
  const double = createTestDouble()
  const outage = { ...DOWN, from: '10s', until: '2030-01-01T00:00:30Z' }
  const armed = double.faults.arm(outage)
  assert.deepEqual([armed.from, armed.until, armed.left], [T0 + 10_000, T0 + 30_000, 'always'])
  const seen: Record<number, number> = {}
  for (const ms of [0, 9_999, 10_000, 29_999, 30_000, 60_000]) {
    double.clock.set(T0 + ms)
    seen[ms] = (await list(double)).status
  }
  assert.deepEqual(seen, { 0: 200, 9999: 200, 10000: 503, 29999: 503, 30000: 200, 60000: 200 })
})

test('faults - a window counts from the reset for the faults of the options, and survives a restore', async () => {
  const double = createTestDouble({ faults: [{ ...DOWN, from: '10s', until: '20s' }] })
  double.clock.advance('15s')
  assert.equal((await list(double)).status, 503)
  const snapshot = parseJson(toJson(await double.snapshot())) as Snapshot
  double.clock.set('2031-01-01')
  await double.restore(snapshot)
  assert.equal((await list(double)).status, 503)
  double.clock.advance('5s')
  assert.equal((await list(double)).status, 200)
  double.reset()
  assert.equal((await list(double)).status, 200)
  double.clock.advance('10s')
  assert.equal((await list(double)).status, 503)
})

test('faults - those of the options and those that are armed are copied, in depth', async () => {
  const headers: Record<string, string> = { Via: '1.1 a' }
  const fault = { ...DOWN, headers } satisfies Fault
  const double = createTestDouble({ faults: [fault] })
  fault.status = 500 as never
  headers['Via'] = '1.1 b'
  double.reset()
  double.faults.arm(fault)
  headers['Via'] = '1.1 c'
  const seen = []
  for (const _ of [1, 2]) {
    const response = await list(double)
    seen.push([response.status, response.headers.get('via')])
  }
  assert.deepEqual(seen, [
    [503, '1.1 a'],
    [500, '1.1 b'],
  ])
})

test('faults - one of the options that is for a key leaves worlds with other keys possible', async () => {
  const faults = [{ ...DOWN, keyId: 'demo-pro' }]
  assert.throws(
    () => createTestDouble({ faults: [{ ...DOWN, keyId: 'demo-pr' }] }),
    /`keyId` to be one of/,
  )
  await using double = createTestDouble({ control: true, faults })
  const { control } = await double.listen()
  const init = { method: 'POST', headers: JSON_TYPE }
  assert.equal((await fetch(`${control}/worlds`, init)).status, 201)
})

test('faults - nth and times count within the window only', async () => {
  const double = createTestDouble()
  double.faults.arm({ ...DOWN, from: '10s', until: '20s', nth: 2, times: 1 })
  assert.deepEqual(await statuses(double, 2), [200, 200])
  double.clock.advance('10s')
  assert.deepEqual(await statuses(double, 3), [200, 503, 200])
})

test('faults - request headers match by value, presence or absence, whatever the case of the name', async () => {
  const double = createTestDouble()
  const cases: [wanted: Record<string, string | boolean>, headers: object, status: number][] = [
    [{ 'X-Trace': 'a' }, { 'x-trace': 'a' }, 503],
    [{ 'X-Trace': 'a' }, { 'x-trace': 'A' }, 200],
    [{ 'X-Trace': 'a' }, {}, 200],
    [{ 'X-TRACE': true }, { 'x-trace': '' }, 503],
    [{ 'X-TRACE': true }, {}, 200],
    [{ 'x-trace': false }, {}, 503],
    [{ 'x-trace': false }, { 'X-Trace': '' }, 200],
    [{ 'x-trace': 'a', 'x-more': true }, { 'x-trace': 'a' }, 200],
    [{ 'x-trace': 'a', 'x-more': true }, { 'x-trace': 'a', 'x-more': 'b' }, 503],
    [{ Authorization: true }, {}, 503],
  ]
  for (const [requestHeaders, headers, expected] of cases) {
    double.reset()
    double.faults.arm({ ...DOWN, requestHeaders })
    assert.equal(
      (await list(double, headers)).status,
      expected,
      JSON.stringify([requestHeaders, headers]),
    )
  }
})

test('faults - hold no credential: such a header matches by presence only, and no message shows it', () => {
  const double = createTestDouble()
  for (const name of ['authorization', 'Cookie', 'X-API-Key', 'proxy-authorization']) {
    const arm = () => double.faults.arm({ ...DOWN, requestHeaders: { [name]: 'Bearer s3cret' } })
    assert.throws(arm, (error: Error) => {
      assert.match(
        error.message,
        new RegExp(`^Expected \`requestHeaders.${name}\` to be true or f`),
      )
      assert.doesNotMatch(error.message, /s3cret/)
      return true
    })
    double.faults.arm({ ...DOWN, requestHeaders: { [name]: true } })
  }
})

test('faults - chance repeats exactly: after a reset, after a restore, and with the same seed', async () => {
  const fault = { ...DOWN, chance: 0.3, seed: 7 } as const
  const double = createTestDouble({ faults: [fault], rateLimiting: false })
  const first = await statuses(double, 40)
  assert.deepEqual(new Set(first), new Set([200, 503]))
  const [armed] = double.faults.list()
  assert.deepEqual([armed?.drawn, armed?.left], [40, 'always'])
  assert.equal(armed?.fired, first.filter(one => one === 503).length)
  const snapshot = parseJson(toJson(await double.snapshot())) as Snapshot
  const digest = await double.digest()
  const next = await statuses(double, 40)
  assert.notDeepEqual(next, first)
  assert.notEqual(await double.digest(), digest)
  await double.restore(snapshot)
  assert.equal(await double.digest(), digest)
  assert.deepEqual(await statuses(double, 40), next)
  double.reset()
  assert.deepEqual(await statuses(double, 40), first)
  const other = createTestDouble({ rateLimiting: false })
  other.faults.arm({ ...DOWN, chance: 0.3, seed: 8 })
  assert.notDeepEqual(await statuses(other, 40), first)
})

test('faults - chance is as likely as it says, and faults without a seed draw differently', async () => {
  const double = createTestDouble({ rateLimiting: false, journal: 1 })
  double.faults.arm({ kind: 'status', status: 503, chance: 0.25 })
  double.faults.arm({ kind: 'delay', duration: 0, chance: 0.5 })
  const seeds = double.faults.list().map(({ seed }) => seed)
  assert.deepEqual(seeds, [1, 2])
  const [once, both] = [{ failed: 0 }, { failed: 0 }]
  for (let count = 0; count < 4_000; count++) {
    const before = double.faults.list()[1]?.fired
    const failed = (await list(double)).status === 503
    once.failed += Number(failed)
    both.failed += Number(failed && double.faults.list()[1]?.fired !== before)
  }
  assert.ok(once.failed > 900 && once.failed < 1_100, `${once.failed} of 4,000`)
  assert.ok(both.failed > 430 && both.failed < 570, `${both.failed} of 4,000`)
})

test('faults - jitter is drawn from the seed, between its bounds', async () => {
  const waits = async (seed: number) => {
    const double = createTestDouble()
    double.faults.arm({ kind: 'delay', duration: 100, jitter: 50, seed, times: 'always' })
    return double.run(async () => {
      const taken: number[] = []
      while (taken.length < 30) {
        const start = double.clock()
        await list(double)
        taken.push(double.clock() - start)
      }
      return taken
    })
  }
  const first = await waits(1)
  assert.ok(first.every(ms => ms >= 100 && ms <= 150))
  assert.ok(new Set(first).size > 10)
  assert.deepEqual(await waits(1), first)
  assert.notDeepEqual(await waits(2), first)
})
