import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { OptionError } from '../../src/lib/check-options.js'
import { list, settled, T0 } from './requests.js'

test('clock - is frozen until set or advanced, and accepts every time format', () => {
  const { clock } = createTestDouble()
  assert.deepEqual([clock(), clock.frozen], [T0, true])
  for (const [duration, ms] of [
    ['500ms', 500],
    ['61s', 61_000],
    ['1.5m', 90_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
    [7, 7],
  ] as const) {
    const before = clock()
    clock.advance(duration)
    assert.equal(clock() - before, ms)
  }
  for (const instant of [T0, '2030-01-01', '2030-01-01T01:00:00+01:00', new Date(T0)]) {
    clock.set(instant)
    assert.equal(clock(), T0)
  }
})

test('clock - rejects ambiguous times and stays unchanged', () => {
  const { clock } = createTestDouble()
  for (const wrong of ['2030-01-01T00:00:00', 'tomorrow', '', Number.NaN, 9e15, null, true]) {
    assert.throws(() => clock.set(wrong as string), OptionError)
  }
  for (const wrong of [-1, '61', '1 s', '1w', '-1s', Number.POSITIVE_INFINITY, null]) {
    assert.throws(() => clock.advance(wrong as string), OptionError)
  }
  assert.throws(() => clock.advance(8.64e15), OptionError)
  assert.equal(clock(), T0)
})

test('clock - accepts the years 0000 to 9999', () => {
  const { clock } = createTestDouble()
  const [first, last] = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map(
    Date.parse,
  ) as [number, number]
  for (const edge of [first, last]) {
    clock.set(edge)
    assert.equal(clock(), edge)
  }
  assert.throws(() => clock.set(first - 1), OptionError)
  assert.throws(() => clock.set(last + 1), OptionError)
  assert.throws(() => clock.advance(1), OptionError)
  clock.advance(0)
  assert.equal(clock(), last)
  clock.set(0)
  assert.throws(
    () => clock.advance(Number.MAX_SAFE_INTEGER + 1),
    /Expected `advance` to be a duration/,
  )
  assert.throws(() => clock.advance(Number.MAX_SAFE_INTEGER), /Expected `now` to be an instant/)
})

test('clock - resumes and freezes at its current time', t => {
  const time = wallClock(t)
  const { clock } = createTestDouble()
  time.tick(5_000)
  assert.equal(clock(), T0)
  clock.resume()
  time.tick(1_500)
  assert.deepEqual([clock(), clock.frozen], [T0 + 1_500, false])
  clock.advance('1m')
  clock.resume()
  time.tick(1)
  assert.equal(clock(), T0 + 61_501)
  clock.set(T0)
  clock.freeze()
  time.tick(1_000)
  assert.deepEqual([clock(), clock.frozen], [T0, true])
})

test("clock - 'running' follows real time, even after a reset", async t => {
  const time = wallClock(t)
  const double = createTestDouble({ time: 'running' })
  const digest = await double.digest()
  double.clock.advance('1h')
  assert.equal(double.clock(), Date.now() + 3_600_000)
  assert.notEqual(await double.digest(), digest)
  time.tick(10)
  double.reset()
  assert.equal(double.clock(), Date.now())
  assert.equal(await double.digest(), digest)
})

test('clock - a delay ends in real time while the clock runs, even across a freeze and a jump', async t => {
  const time = wallClock(t)
  const double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 1_000, times: 2 })
  const first = list(double)
  await settled()
  double.clock.resume()
  time.tick(999)
  double.clock.freeze()
  time.tick(10_000)
  assert.equal(double.clock(), T0 + 999)
  double.clock.resume()
  time.tick(1)
  assert.equal((await first).status, 200)
  const second = list(double)
  await settled()
  double.clock.advance('1s')
  assert.equal((await second).status, 200)
})

/** Real time and its timers, advanced by the test. */
function wallClock(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.UTC(2026, 4, 1) })
  return t.mock.timers
}
