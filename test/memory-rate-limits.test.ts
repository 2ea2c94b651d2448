import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryRateLimits } from '../src/memory-rate-limits.js'
import { PLANS } from '../src/plans.js'
import type { RateLimitStore } from '../src/ports.js'
import { CLOCK_SKEW, type Decision, decide, type Usage } from '../src/rate-limit.js'
import { T0 } from './support/rate-limit-vectors.js'

const MINUTE = 60_000
const DAY = 86_400_000
const FREE = PLANS.free

test('limiter - rejects a non-finite clock and counts nothing', () => {
  const table = memoryRateLimits()
  for (const now of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    assert.throws(() => decide(undefined, FREE, now), RangeError)
    assert.throws(() => table.consume('key', FREE, now), RangeError)
  }
  assert.deepEqual(table.dump(), [])
})

test('limiter - decides limit-1, limit and limit+1 requests', () => {
  for (const [count, remaining, code] of [
    [59, 1, undefined],
    [60, 0, undefined],
    [61, 0, 'rate_limit_exceeded'],
  ] as const) {
    const table = memoryRateLimits()
    const last = consume(table, 'key', T0, count)
    assert.deepEqual([last.remaining, last.code], [remaining, code])
  }
})

test('limiter - two requests in one tick cannot share the last unit', async () => {
  const table = memoryRateLimits()
  consume(table, 'key', T0, 59)
  const both = await Promise.all([table.consume('key', FREE, T0), table.consume('key', FREE, T0)])
  assert.deepEqual(
    both.map(({ code }) => code),
    [undefined, 'rate_limit_exceeded'],
  )
})

test('table - addresses from the 10,001st on share one budget', () => {
  const table = memoryRateLimits()
  for (let n = 0; n < 10_000; n++) table.consume(`addr:${n}`, PLANS.anonymous, T0)
  assert.equal(consume(table, 'addr:a', T0).remaining, 59)
  assert.equal(consume(table, 'addr:b', T0).remaining, 58)
  for (let n = 0; n < 20_000; n++) table.consume(`addr:late ${n}`, PLANS.anonymous, T0)
  assert.equal((table.dump() as unknown[]).length, 10_001)
  assert.equal(consume(table, 'addr:c', T0).code, 'rate_limit_exceeded')
  assert.equal(consume(table, 'addr:7', T0).remaining, 58, 'a counted address keeps its budget')
  assert.equal(consume(table, 'key', T0).remaining, 59, 'a key is never among the addresses')
})

test('table - a new UTC day drops stale entries and keeps bans', () => {
  const table = memoryRateLimits()
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
  const table = memoryRateLimits()
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
    const table = memoryRateLimits()
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
  const table = memoryRateLimits()
  assert.equal(table.inspect('key'), undefined)
  consume(table, 'key', T0, 91)
  consume(table, 'other', T0, 5)
  const usage = table.inspect('key') as Usage
  assert.deepEqual(usage, {
    lastSeen: T0,
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

test('table - dump and restore carry a ban through JSON', () => {
  const table = memoryRateLimits()
  consume(table, 'key', T0, 91)
  const copy = memoryRateLimits()
  copy.restore(JSON.parse(JSON.stringify(table.dump())))
  assert.equal(consume(copy, 'key', T0 + 1).code, 'api_key_banned')
  assert.deepEqual(copy.dump(), table.dump())
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

test('limiter - drops stale entries after the clock returns from the future', () => {
  const table = memoryRateLimits()
  consume(table, 'addr:192.0.2.1', T0 + 10 * DAY, 1)
  consume(table, 'addr:192.0.2.2', T0, 1)
  consume(table, 'addr:192.0.2.3', T0 + 2 * DAY, 1)
  assert.equal(table.inspect('addr:192.0.2.2'), undefined)
})

test('limiter - a step back over midnight grants no second day', () => {
  const table = memoryRateLimits()
  const midnight = T0 + DAY
  consume(table, 'key', midnight - 50, 60)
  consume(table, 'other', midnight + 10, 1)
  assert.equal(consume(table, 'key', midnight - 50, 1).code, 'rate_limit_exceeded')
})
