import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { createClient } from '@redis/client'
import { type RedisOptions, redisRateLimits } from '../../adapters/redis/index.js'
import { decide, type Usage } from '../../src/limits/decide.js'
import type { Policy } from '../../src/limits/plans.js'
import { createRandom } from '../crash/random.js'
import { type Engine, withoutRedis as skip, startRedis } from '../engines/engines.js'
import { T0 } from '../limits/rate-limit-vectors.js'

const MINUTE = 60_000
const LARGE: Policy = { perMinute: 1_000, perDay: 100_000, banAfter: 1_000_000 }
const SMALL: Policy = { perMinute: 3, perDay: 100, banAfter: 1 }
const engine = skip ? undefined : await startRedis()
after(() => engine?.stop())
let prefixes = 0

test('redis lease - one process gets exactly the decisions of `decide`, in a tenth of the round trips', {
  skip,
}, async t => {
  const { limits, trips } = await open(t, { lease: 10 })
  let usage: Usage | undefined
  for (let n = 0; n < 1_005; n++) {
    const expected = decide(usage, LARGE, T0 + n)
    usage = expected.usage
    assert.deepEqual(await limits.consume('key', LARGE, T0 + n), expected.decision)
  }
  assert.equal(trips(), 100 + 5)
})

test('redis lease - concurrent callers share leases, and get the numbers one after the other', {
  skip,
}, async t => {
  const { limits, trips } = await open(t, { lease: 10 })
  const decisions = await Promise.all(
    Array.from({ length: 64 }, () => limits.consume('key', LARGE, T0)),
  )
  const left = decisions.map(({ remaining }) => remaining).toSorted((a, b) => b - a)
  assert.deepEqual(
    left,
    Array.from({ length: 64 }, (_, n) => 999 - n),
  )
  assert.equal(trips(), 7)
})

test('redis lease - processes together never exceed the plan, and strand less than a lease each', {
  skip,
}, async t => {
  const random = createRandom(11)
  const prefix = 'many:'
  const processes = await Promise.all(
    Array.from({ length: 4 }, () => open(t, { lease: 10, prefix })),
  )
  for (let minute = 0; minute < 20; minute++) {
    const asked = Array.from({ length: 2_000 }, () => {
      const { limits } = processes[random(4)] as (typeof processes)[number]
      return limits.consume('key', LARGE, T0 + minute * MINUTE)
    })
    const admitted = (await Promise.all(asked)).filter(({ code }) => code === undefined).length
    assert.ok(admitted <= 1_000 && admitted > 1_000 - 4 * 10, `${admitted} admitted`)
  }
})

test('redis lease - what a minute leaves is given back to its day', { skip }, async t => {
  const { limits } = await open(t, { lease: 10 })
  for (let minute = 0; minute < 100; minute++) {
    assert.equal((await limits.consume('key', LARGE, T0 + minute * MINUTE)).code, undefined)
  }
  assert.equal((await limits.inspect('key'))?.dayCount, 99 + 10)
  await limits.consume('key', LARGE, T0 + 24 * 60 * MINUTE)
  assert.equal((await limits.inspect('key'))?.dayCount, 10, 'nothing from the day before')
})

test('redis lease - small plans are counted one by one, and another plan or a reset ends a lease', {
  skip,
}, async t => {
  const { limits, trips } = await open(t, { lease: 10 })
  for (let n = 0; n < 3; n++) await limits.consume('small', { ...SMALL, perMinute: 999 }, T0)
  assert.equal(trips(), 3)
  await limits.consume('key', LARGE, T0)
  const other = { ...LARGE, perMinute: 2_000 }
  assert.equal((await limits.consume('key', other, T0)).remaining, 1_989)
  assert.equal((await limits.consume('key', { ...other }, T0)).remaining, 1_988)
  await limits.reset('key')
  assert.equal((await limits.consume('key', LARGE, T0)).remaining, 999)
})

test('redis lease - with the clock of the server', { skip }, async t => {
  const { limits, trips } = await open(t, { lease: 10, clock: 'server' })
  const minuteOf = ({ reset }: { reset: number }) => reset
  const first = await limits.consume('key', LARGE, 0)
  let last = first
  for (let n = 0; n < 9; n++) last = await limits.consume('key', LARGE, 0)
  // Unless a minute ended in between.
  if (minuteOf(first) === minuteOf(last)) assert.deepEqual([last.remaining, trips()], [990, 1])
})

test('redis bans - a ban is decided in the process until it ends, like `decide`', {
  skip,
}, async t => {
  const { limits, trips } = await open(t)
  let usage: Usage | undefined
  for (let n = 0; n < 5; n++) ({ usage } = decide(usage, SMALL, T0))
  for (let n = 0; n < 5; n++) await limits.consume('key', SMALL, T0)
  assert.equal(trips(), 5)
  for (const now of [T0, T0 + 1, T0 + 61_000, T0 - 30_000, T0 + 299_999]) {
    for (const policy of [SMALL, LARGE]) {
      const expected = decide(usage, policy, now).decision
      assert.equal(expected.code, 'api_key_banned')
      assert.deepEqual(await limits.consume('key', policy, now), expected)
    }
  }
  assert.equal(trips(), 5)
  assert.equal((await limits.consume('key', SMALL, T0 + 300_000)).remaining, 2)
  assert.equal(trips(), 6)
})

test('redis bans - a process that learns of a ban decides it too, and a reset lifts it', {
  skip,
}, async t => {
  const prefix = 'banned:'
  const [one, other] = [await open(t, { prefix }), await open(t, { prefix })]
  for (let n = 0; n < 5; n++) await one.limits.consume('key', SMALL, T0)
  for (let n = 0; n < 5; n++) {
    assert.equal((await other.limits.consume('key', SMALL, T0)).code, 'api_key_banned')
  }
  assert.equal(other.trips(), 1)
  await other.limits.reset('key')
  assert.equal((await other.limits.consume('key', SMALL, T0)).code, undefined)
  // The process that was not asked learns it from a check, at most five seconds later.
  const late = t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER)
  assert.equal((await one.limits.consume('key', SMALL, T0)).code, 'api_key_banned')
  late.mock.restore()
  let code: string | undefined = 'api_key_banned'
  while (code) {
    await new Promise(setImmediate)
    ;({ code } = await one.limits.consume('key', SMALL, T0))
  }
})

test('redis bans - with the clock of the server, Retry-After is that of the server', {
  skip,
}, async t => {
  const { limits, trips } = await open(t, { clock: 'server' })
  let last = await limits.consume('key', SMALL, 0)
  while (last.code !== 'api_key_banned') last = await limits.consume('key', SMALL, 0)
  const asked = trips()
  const { bannedUntil: _, ...begun } = last
  const again = await limits.consume('key', SMALL, 0)
  assert.ok([0, 1].includes(Number(begun.retryAfter) - Number(again.retryAfter)))
  assert.deepEqual({ ...again, retryAfter: begun.retryAfter }, begun)
  assert.equal(trips(), asked)
})

/** Limits that count their round trips. */
async function open(t: TestContext, options: RedisOptions = {}) {
  const client = createClient({ url: (engine as Engine).url })
  await client.connect()
  t.after(() => client.destroy())
  let sent = 0
  const limits = await redisRateLimits({
    prefix: `lease ${prefixes++}:`,
    clock: 'store',
    ...options,
    send(command) {
      if (command[0] === 'EVALSHA') sent++
      return client.sendCommand([...command])
    },
  })
  const before = sent
  return { limits, trips: () => sent - before }
}
