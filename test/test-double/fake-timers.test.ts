import assert from 'node:assert/strict'
import { test } from 'node:test'
import FakeTimers from '@sinonjs/fake-timers'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { list, T0 } from './requests.js'

const DAY = 86_400_000

test('fake timers - node:test timers drive a running double and a client that uses setTimeout', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: T0 })
  const double = createTestDouble({ time: 'running' })
  let served: number | undefined
  const done = callPolitely(double, 1_001).then(count => {
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
  assertDayUsedUp(double, await callPolitely(double, 1_001))
})

function assertDayUsedUp(double: TestDouble, served: number): void {
  assert.equal(served, 1_001)
  assert.ok(Date.now() >= T0 + DAY && Date.now() < T0 + DAY + 60_000, String(Date.now() - T0))
  assert.equal(double.clock(), Date.now())
  assert.deepEqual(double.report().findings, [])
}

/** Application code, unaware of the double. */
async function callPolitely(double: TestDouble, count: number): Promise<number> {
  let served = 0
  while (served < count) {
    const answer = await list(double)
    if (answer.status === 200) served++
    else {
      const ms = Number(answer.headers.get('retry-after')) * 1_000
      await new Promise(resolve => setTimeout(resolve, ms))
    }
  }
  return served
}
