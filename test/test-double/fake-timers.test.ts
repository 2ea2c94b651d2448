import assert from 'node:assert/strict'
import { test } from 'node:test'
import FakeTimers from '@sinonjs/fake-timers'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { callPolitely, T0 } from './requests.js'

const DAY = 86_400_000
/** That of an application, which knows no double. */
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

test('fake timers - node:test timers drive a running double and a client that uses setTimeout', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: T0 })
  const double = createTestDouble({ time: 'running' })
  let served: number | undefined
  const done = callPolitely(double, 1_001, sleep).then(count => {
    served = count
  })
  while (served === undefined) {
    await new Promise(resolve => setImmediate(resolve))
    t.mock.timers.runAll()
  }
  await done
  assertDayUsedUp(double, served)
})

test('fake timers - sinon timers that tick by themselves do the same', async t => {
  const clock = FakeTimers.install({ now: T0 })
  t.after(() => clock.uninstall())
  clock.setTickMode({ mode: 'nextAsync' })
  const double = createTestDouble({ time: 'running' })
  assertDayUsedUp(double, await callPolitely(double, 1_001, sleep))
})

function assertDayUsedUp(double: TestDouble, served: number): void {
  assert.equal(served, 1_001)
  assert.ok(Date.now() >= T0 + DAY && Date.now() < T0 + DAY + 60_000, String(Date.now() - T0))
  assert.equal(double.clock(), Date.now())
  assert.deepEqual(double.report().findings, [])
}
