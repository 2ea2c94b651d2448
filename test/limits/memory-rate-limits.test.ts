import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryRateLimitStore } from '../../src/limits/memory-rate-limits.js'
import { PLANS } from '../../src/limits/plans.js'
import { CLOCK_SKEW, type Decision, decide, type Usage } from '../../src/limits/windows-and-bans.js'
import type { RateLimitStore } from '../../src/ports.js'
import { T0 } from './rate-limit-vectors.js'

const MINUTE = 60_000
const DAY = 86_400_000
const FREE = PLANS.free

test('limiter - rejects a non-finite clock and counts nothing', () => {
  const table = memoryRateLimitStore()
  for (const now of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    assert.throws(() => decide(undefined, FREE, now), RangeError)
    assert.throws(() => table.consume('key', FREE, now), RangeError)
  }
  assert.deepEqual(table.dump(), [])
})

test('limiter - each plan admits exactly its requests per minute and per day', () => {
  for (const [plan, perMinute, perDay] of [
    ['free', 60, 1_000],
    ['pro', 300, 10_000],
    ['business', 1_000, 100_000],
    ['anonymous', 60, 1_000],
  ] as const) {
    const table = memoryRateLimitStore()
    const ask = (now: number) => table.consume('key', PLANS[plan], now) as Decision
    for (let n = 1; n <= perMinute; n++) assert.equal(ask(T0).remaining, perMinute - n, plan)
    assert.equal(ask(T0).code, 'rate_limit_exceeded', plan)
    let admitted = perMinute
    for (let now = T0 + MINUTE; admitted < perDay; now += MINUTE) {
      for (let n = 0; n < perMinute && admitted < perDay; n++) {
        if (ask(now).code === undefined) admitted++
      }
    }
    const { code, limit, reset } = ask(T0 + DAY - 1)
    assert.deepEqual([code, limit, reset], ['rate_limit_exceeded', perDay, (T0 + DAY) / 1000], plan)
    assert.equal(ask(T0 + DAY).code, undefined, plan)
  }
})

test('limiter - a plan lowered below current usage rejects until the window ends', () => {
  const table = memoryRateLimitStore()
  const ask = (perMinute: number, perDay: number, now: number) => {
    const { code, limit, remaining, reset } = table.consume(
      'key',
      { perMinute, perDay },
      now,
    ) as Decision
    return [code, limit, remaining, reset - T0 / 1000]
  }
  for (let n = 0; n < 20; n++) ask(100, 1_000, T0)
  assert.deepEqual(ask(10, 1_000, T0), ['rate_limit_exceeded', 10, 0, 60])
  assert.deepEqual(ask(10, 1_000, T0 + MINUTE), [undefined, 10, 9, 120])
  assert.deepEqual(ask(10, 15, T0 + MINUTE), ['rate_limit_exceeded', 15, 0, 86_400])
  assert.deepEqual(ask(10, 15, T0 + DAY), [undefined, 10, 9, 86_460])
})

test('limiter - a fraction of a millisecond never moves a boundary', () => {
  const table = memoryRateLimitStore()
  consume(table, 'key', T0 + MINUTE - 0.4, 60)
  assert.equal(consume(table, 'key', T0 + MINUTE - 0.1).retryAfter, 1)
  assert.equal(consume(table, 'key', T0 + MINUTE).remaining, 59)
  assert.equal(consume(table, 'banned', T0 + 0.9, 91).bannedUntil, T0 + 5 * MINUTE)
  assert.equal(consume(table, 'banned', T0 + 5 * MINUTE - 0.1).code, 'api_key_banned')
  assert.equal(consume(table, 'banned', T0 + 5 * MINUTE + 0.1).code, undefined)
  for (const [, usage] of table.dump() as [string, Usage][]) assert.ok(isWhole(usage))
})

test('limiter - rejections before a ban do not count towards the next one', () => {
  const table = memoryRateLimitStore()
  const policy = { perMinute: 1_000, perDay: 1, banAfterRejections: 2 }
  const codes = (now: number, count: number) =>
    Array.from({ length: count }, () => (table.consume('key', policy, now) as Decision).code)
  const [limited, banned] = ['rate_limit_exceeded', 'api_key_banned']
  assert.deepEqual(codes(T0, 4), [undefined, limited, limited, banned])
  assert.deepEqual(codes(T0 + 5 * MINUTE, 3), [limited, limited, banned])
})

test('table - addresses from the 10,001st on share one budget', () => {
  const table = memoryRateLimitStore()
  for (let n = 0; n < 10_000; n++) table.consume(`addr:${n}`, PLANS.anonymous, T0)
  assert.equal(consume(table, 'addr:a', T0).remaining, 59)
  assert.equal(consume(table, 'addr:b', T0).remaining, 58)
  for (let n = 0; n < 20_000; n++) table.consume(`addr:late ${n}`, PLANS.anonymous, T0)
  assert.equal((table.dump() as unknown[]).length, 10_001)
  assert.equal(consume(table, 'addr:c', T0).code, 'rate_limit_exceeded')
  assert.equal(consume(table, 'addr:7', T0).remaining, 58, 'a counted address keeps its budget')
  assert.equal(consume(table, 'key', T0).remaining, 59, 'a key is never among the addresses')
})

test('table - keys and repeated requests do not count as new addresses', () => {
  const table = memoryRateLimitStore()
  for (let n = 0; n < 10_000; n++) table.consume(`key ${n}`, FREE, T0)
  for (let n = 0; n < 10_000; n++) table.consume('addr:busy', PLANS.anonymous, T0)
  assert.equal(consume(table, 'addr:a', T0).remaining, 59)
  assert.equal(consume(table, 'addr:b', T0).remaining, 59)
})

test('table - a clock that returns from two days ahead drops entries at the next midnight', () => {
  const table = memoryRateLimitStore()
  const noon = T0 + DAY / 2
  consume(table, 'ahead', noon + 2 * DAY)
  consume(table, 'today', noon)
  consume(table, 'tomorrow', noon + DAY)
  assert.deepEqual(partitions(table), ['ahead', 'tomorrow'])
})

test('table - a new UTC day drops stale entries and keeps bans', () => {
  const table = memoryRateLimitStore()
  table.consume('quiet', FREE, T0)
  table.consume('addr:192.0.2.1', PLANS.anonymous, T0)
  consume(table, 'banned', T0, 91)
  assert.deepEqual(partitions(table), ['quiet', 'addr:192.0.2.1', 'banned'])
  table.consume('new', FREE, T0 + DAY + CLOCK_SKEW)
  assert.deepEqual(partitions(table), ['banned', 'new'])
  assert.equal(consume(table, 'banned', T0 + DAY, 91).retryAfter, 600, 'its second ban is longer')
  table.consume('new', FREE, T0 + 3 * DAY + CLOCK_SKEW)
  assert.deepEqual(partitions(table), ['new'])
})

test('table - stepping back over midnight grants no second daily budget', () => {
  const table = memoryRateLimitStore()
  const policy = { perMinute: 5, perDay: 5 }
  const midnight = T0 + DAY
  const ask = (partition: string, now: number) => table.consume(partition, policy, now) as Decision
  for (let n = 0; n < 5; n++) ask('a', midnight - 60 * MINUTE)
  assert.equal(ask('b', midnight).code, undefined)
  assert.equal(ask('a', midnight - 1).code, 'rate_limit_exceeded')
  assert.equal(ask('b', midnight + CLOCK_SKEW - 1).code, undefined)
  assert.equal(ask('a', midnight - 1).code, 'rate_limit_exceeded')
})

test('table - a new day, a reset or a restore makes room for addresses', () => {
  const crowded = () => {
    const table = memoryRateLimitStore()
    for (let n = 0; n < 10_001; n++) table.consume(`addr:${n}`, PLANS.anonymous, T0)
    return table
  }
  const nextDay = crowded()
  const reset = crowded()
  reset.reset()
  const restored = crowded()
  restored.restore([])
  for (const [table, now] of [
    [nextDay, T0 + DAY + CLOCK_SKEW],
    [reset, T0],
    [restored, T0],
  ] as const) {
    consume(table, 'addr:new', now)
    assert.deepEqual(partitions(table), ['addr:new'])
  }
})

test('table - inspect counts nothing, reset forgets one partition and its ban', () => {
  const table = memoryRateLimitStore()
  assert.equal(table.inspect('key'), undefined)
  consume(table, 'key', T0, 91)
  consume(table, 'other', T0, 5)
  const usage = table.inspect('key') as Usage
  assert.deepEqual(usage, {
    lastSeenAt: T0,
    minuteCount: 60,
    rejections: 0,
    dayCount: 60,
    bannedUntil: T0 + 5 * MINUTE,
    banLevel: 1,
  })
  table.reset('key')
  assert.equal(consume(table, 'key', T0).remaining, 59)
  assert.equal(consume(table, 'other', T0).remaining, 54)
  table.reset()
  assert.deepEqual(table.dump(), [])
})

function consume(table: RateLimitStore, partition: string, now: number, count = 1): Decision {
  const policy = partition.startsWith('addr:') ? PLANS.anonymous : FREE
  let decision: Decision | undefined
  for (let n = 0; n < count; n++) decision = table.consume(partition, policy, now) as Decision
  return decision as Decision
}

function partitions(table: RateLimitStore): string[] {
  return (table.dump() as [string, Usage][]).map(([partition]) => partition)
}

function isWhole(usage: Usage): boolean {
  return Object.values(usage).every(Number.isInteger)
}
