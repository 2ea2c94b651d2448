import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ControlledClock } from '../../adapters/test-double/clock/clock.js'
import {
  createTestDouble,
  type TestDouble,
  type VirtualClock,
} from '../../adapters/test-double/index.js'
import { OptionError } from '../../src/lib/check-options.js'
import { CREATE, callPolitely, FREE, list, settled, T0 } from './requests.js'

const DAY = 86_400_000

test('sleep - ends when due, in chronological order', async () => {
  const { clock } = createTestDouble()
  const ended: string[] = []
  const sleep = (name: string, ms: number) => clock.sleep(ms).then(() => ended.push(name))
  const all = [sleep('b', 2_000), sleep('a', 1_000), sleep('c', 2_000), sleep('now', 0)]
  await settled()
  assert.deepEqual(ended, ['now'])
  clock.advance(999)
  await settled()
  assert.deepEqual(ended, ['now'])
  clock.set(T0 + 2_000)
  await Promise.all(all)
  assert.deepEqual(ended, ['now', 'a', 'b', 'c'])
})

test('sleep - rejects with the reason of its signal, before and during the sleep', async () => {
  const { clock } = createTestDouble()
  const reason = new Error('enough')
  await assert.rejects(clock.sleep(1, { signal: AbortSignal.abort(reason) }), reason)
  const abort = new AbortController()
  const sleep = clock.sleep(1, { signal: abort.signal })
  abort.abort(reason)
  await assert.rejects(sleep, reason)
  clock.advance(1)
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, '1s']) {
    await assert.rejects(clock.sleep(wrong as number), OptionError)
  }
})

test('timers - fire at their own time, repeat, refresh and are cleared', () => {
  const { clock } = createTestDouble()
  const fired: string[] = []
  const note = (name: string) => fired.push(`${name} +${clock() - T0}`)
  const { setTimeout, setInterval, clearTimeout, clearInterval } = clock.timers
  setTimeout(note, 1_500, 'once')
  setTimeout(note, 0, 'soon')
  const ticks = setInterval(note, 1_000, 'tick')
  const cleared = setTimeout(note, 10, 'cleared')
  clearTimeout(cleared)
  clearTimeout(undefined)
  const late = setTimeout(note, 2_000, 'late')
  clock.advance(1_000)
  late.refresh()
  clock.advance(2_000)
  clearInterval(ticks)
  clock.advance('1d')
  assert.deepEqual(fired, [
    'soon +1',
    'tick +1000',
    'once +1500',
    'tick +2000',
    'late +3000',
    'tick +3000',
  ])
})

test('timers - a missing, invalid or negative time means 1 ms, as in Node and browsers', () => {
  const { clock } = createTestDouble()
  const fired: string[] = []
  const { setTimeout } = clock.timers
  setTimeout(() => fired.push('none'))
  setTimeout(() => fired.push('NaN'), Number.NaN)
  setTimeout(() => fired.push('negative'), -5)
  setTimeout(() => fired.push('1'), 1)
  setTimeout(() => fired.push('2'), 2)
  clock.advance(0.5)
  assert.deepEqual(fired, [])
  clock.advance(0.5)
  assert.deepEqual(fired, ['none', 'NaN', 'negative', '1'])
})

test('timers - a timer cleared by another one at the same instant does not fire', () => {
  const { clock } = createTestDouble()
  const fired: string[] = []
  const { setTimeout, clearTimeout } = clock.timers
  setTimeout(() => {
    fired.push('first')
    clearTimeout(second)
  }, 10)
  const second = setTimeout(() => fired.push('second'), 10)
  const third = setTimeout(() => fired.push('third'), 10)
  clock.advance(10)
  clearTimeout(third)
  assert.deepEqual(fired, ['first', 'third'])
})

test('timers - what a timer does to the clock stands when an advance has ended', t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: T0 })
  const after = (change: (clock: VirtualClock) => void) => {
    const { clock } = createTestDouble()
    const seen: number[] = []
    const see = () => seen.push(clock() - T0)
    clock.timers.setTimeout(() => change(clock), 1_000)
    clock.timers.setTimeout(see, 1_800)
    clock.advance('2s')
    see()
    return { seen, isFrozen: clock.frozen }
  }
  const changes: [change: (clock: VirtualClock) => void, seen: number[], isFrozen: boolean][] = [
    [clock => clock.advance('1m'), [1_800, 61_000], true],
    [clock => clock.advance(500), [1_800, 2_000], true],
    [clock => clock.set(T0 + DAY), [1_800, DAY], true],
    [clock => clock.set(T0 - DAY), [-DAY], true],
    [clock => clock.resume(), [2_000, 2_000], false],
  ]
  for (const [change, seen, isFrozen] of changes) {
    assert.deepEqual(after(change), { seen, isFrozen }, String(change))
  }
})

test('clock - its timer keeps the process alive while one of the waits asks for it', async t => {
  let now = Date.UTC(2026, 4, 1)
  let end = () => {}
  let hasRef = false
  t.mock.method(Date, 'now', () => now)
  t.mock.method(globalThis, 'setTimeout', (task: () => void) => {
    end = task
    hasRef = true
    return { ref: () => (hasRef = true), unref: () => (hasRef = false) }
  })
  const { clock } = createTestDouble({ time: 'running' })
  const late = clock.timers.setTimeout(() => {}, 2_000).unref()
  assert.equal(hasRef, false)
  void clock.sleep(1_000)
  assert.equal(hasRef, true)
  now += 1_000
  end()
  assert.equal(hasRef, false)
  late.ref()
  assert.equal(hasRef, true)
  late.unref()
  const abort = new AbortController()
  const sleeping = clock.sleep(500, { signal: abort.signal })
  assert.equal(hasRef, true)
  abort.abort()
  await assert.rejects(sleeping)
  assert.equal(hasRef, false)
})

test('clock - endDelays ends only delays, and a restore drops everything that waits', async () => {
  const clock = new ControlledClock({ frozen: true, now: T0 })
  void clock.sleep(1_000)
  const delay = clock.delay(2_000)
  clock.endDelays()
  await delay
  assert.equal(clock.next(), T0 + 1_000)
  clock.restore({ frozen: true, now: T0 })
  assert.equal(clock.next(), undefined)
})

test('clock - runs faster with a scale', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.UTC(2026, 4, 1) })
  const double = createTestDouble()
  const { clock } = double
  clock.resume({ scale: 1_000 })
  const digest = await double.digest()
  const sleep = clock.sleep(60_000)
  t.mock.timers.tick(59)
  assert.equal(clock(), T0 + 59_000)
  assert.equal(await double.digest(), digest)
  clock.resume({ scale: 1_000 })
  assert.equal(await double.digest(), digest)
  t.mock.timers.tick(1)
  await sleep
  assert.equal((await double.snapshot()).time.scale, 1_000)
  clock.freeze()
  t.mock.timers.tick(1_000)
  assert.equal(clock(), T0 + 60_000)
  clock.resume()
  t.mock.timers.tick(5)
  assert.deepEqual([clock(), clock.scale], [T0 + 60_005, 1])
  for (const scale of [0, -1, Number.NaN, 2e6, '2']) {
    assert.throws(() => clock.resume({ scale: scale as number }), OptionError)
  }
})

test('clock - auto jumps to the end of a delay and to the time that Retry-After names, without real time', async t => {
  const double = createTestDouble()
  const forbidden = () => assert.fail('real time was asked for')
  t.mock.method(Date, 'now', forbidden)
  for (const name of ['setTimeout', 'setInterval'] as const) {
    t.mock.method(globalThis, name, forbidden)
  }
  double.clock.auto = true
  double.faults.arm({ kind: 'delay', duration: 500 })
  double.faults.arm({ kind: 'status', status: 503, retryAfter: { date: 30 } })
  const statuses: number[] = []
  for (let at = 0; at < 1_001; at++) statuses.push((await list(double)).status)
  assert.equal(statuses.filter(status => status === 503).length, 1)
  // Sixteen minutes were used up; the day is what is left of them.
  assert.equal(statuses.filter(status => status === 429).length, 16)
  assert.equal(double.requests()[0]?.answeredAt, T0 + 500)
  assert.ok(double.clock() >= T0 + 16 * 60_000)
  const { time } = await double.snapshot()
  assert.equal(time.auto, true)
  double.reset()
  assert.equal(double.clock.auto, false)
})

test('run - a client that sleeps exhausts a day of Free and continues the next day', async () => {
  const double = createTestDouble()
  const served = await double.run(() => callPolitely(double, 1_100, ms => double.clock.sleep(ms)))
  assert.equal(served, 1_100)
  assert.ok(double.clock() >= T0 + 86_400_000)
  assert.deepEqual(double.report().findings, [])
})

test('run - a request is answered before time advances, even while it waits for a body', async () => {
  const double = createTestDouble()
  const seen = await double.run(async () => {
    const { signal, stop } = timeout(double, 10_000)
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise(resolve => setTimeout(resolve))
        controller.enqueue(new TextEncoder().encode(CREATE.body))
        controller.close()
      },
    })
    const init = { ...CREATE, body, signal, duplex: 'half' } as RequestInit
    const { status } = await double.fetch('pets', init)
    stop()
    return [status, double.clock() - T0]
  })
  assert.deepEqual(seen, [201, 0])
})

test('run - a hanging call ends with the timeout of the client', async () => {
  const double = createTestDouble()
  double.faults.arm({ kind: 'hang' })
  const reason = await double.run(() =>
    double.fetch('pets', { headers: FREE, signal: timeout(double, 30_000).signal }).catch(String),
  )
  assert.equal(reason, 'Error: no answer within 30000 ms')
  assert.equal(double.clock(), T0 + 30_000)
})

test('run - returns and throws like its work, and advances time only when needed', async () => {
  const double = createTestDouble()
  assert.equal(await double.run(() => 7), 7)
  const wrong = new Error('wrong')
  await assert.rejects(
    double.run(() => {
      throw wrong
    }),
    wrong,
  )
  void double.clock.sleep(1_000)
  assert.equal(await double.run(async () => 8), 8)
  assert.equal(double.clock(), T0)
})

test('run - concurrent runs share the clock', async () => {
  const double = createTestDouble()
  const sleepAndCall = async (ms: number) => {
    await double.clock.sleep(ms)
    await list(double)
    return double.clock() - T0
  }
  assert.deepEqual(
    await Promise.all([
      double.run(() => sleepAndCall(1_000)),
      double.run(() => sleepAndCall(2_000)),
      double.run(() => sleepAndCall(1_500)),
    ]),
    [1_000, 2_000, 1_500],
  )
})

test('run - works when fake timers have replaced the global ones', async t => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval', 'setImmediate'] })
  const double = createTestDouble()
  await double.run(() => double.clock.sleep(60_000))
  assert.equal(double.clock(), T0 + 60_000)
})

function timeout({ clock: { timers } }: TestDouble, ms: number) {
  const abort = new AbortController()
  const end = () => abort.abort(new Error(`no answer within ${ms} ms`))
  const timer = timers.setTimeout(end, ms)
  return { signal: abort.signal, stop: () => timers.clearTimeout(timer) }
}
