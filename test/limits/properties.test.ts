import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide, type Usage } from '../../src/limits/decide.js'
import { T0 } from './rate-limit-vectors.js'

const MINUTE = 60_000
const DAY = 86_400_000
const SEED = 20_301_205

const policies = fc.record({
  perMinute: fc.integer({ min: 1, max: 8 }),
  perDay: fc.integer({ min: 1, max: 40 }),
  banAfter: fc.integer({ min: 1, max: 4 }),
})
const steps = fc.array(fc.integer({ min: 0, max: 20 * MINUTE }), { maxLength: 80 })

test('limiter - a request after Retry-After is admitted', () => {
  fc.assert(
    fc.property(policies, steps, (policy, waits) => {
      let usage: Usage | undefined
      let now = T0 + 23 * 60 * MINUTE
      for (const wait of waits) {
        // Mostly in bursts, to reach limits and bans.
        now += wait % 3 === 0 ? wait : wait % 1_000
        const first = decide(usage, policy, now)
        usage = first.usage
        const { retryAfter, reset } = first.decision
        if (retryAfter === undefined) continue
        assert.ok(retryAfter >= 1 && Number.isInteger(retryAfter))
        assert.equal(Math.ceil(reset - now / 1000), retryAfter)
        assert.equal(decide(usage, policy, now + retryAfter * 1000).decision.code, undefined)
      }
    }),
    { seed: SEED, numRuns: 300 },
  )
})

test('limiter - no minute or UTC day admits more than its limit', () => {
  fc.assert(
    fc.property(policies, steps, (policy, waits) => {
      const admitted = new Map<string, number>()
      let usage: Usage | undefined
      let now = T0
      for (const wait of waits) {
        now += wait % 2 === 0 ? wait * 20 : wait % 500
        const step = decide(usage, policy, now)
        usage = step.usage
        if (step.decision.code) continue
        for (const window of [`day ${Math.floor(now / DAY)}`, `min ${Math.floor(now / MINUTE)}`]) {
          admitted.set(window, (admitted.get(window) ?? 0) + 1)
        }
      }
      for (const [window, count] of admitted) {
        assert.ok(count <= (window.startsWith('day') ? policy.perDay : policy.perMinute))
      }
    }),
    { seed: SEED, numRuns: 300 },
  )
})

test('limiter - a plan without banAfter bans after ten rejections, larger ones after half a minute’s limit', () => {
  for (const [perMinute, rejections] of [
    [5, 10],
    [21, 10],
    [22, 11],
    [1_000, 500],
  ] as const) {
    const policy = { perMinute, perDay: 100_000 }
    let usage: Usage | undefined
    const codes: unknown[] = []
    for (let n = 0; n < perMinute + rejections + 1; n++) {
      const result = decide(usage, policy, T0)
      usage = result.usage
      codes.push(result.decision.code)
    }
    const limited = Array(rejections).fill('rate_limit_exceeded')
    assert.deepEqual(codes.slice(perMinute), [...limited, 'api_key_banned'])
  }
})

test('limiter - an impossibly long ban is ignored, because the clock was set back', () => {
  const ban = { lastSeen: T0, minuteCount: 0, rejections: 0, dayCount: 0, banLevel: 9 }
  const codeOf = (bannedUntil: number) =>
    decide({ ...ban, bannedUntil }, { perMinute: 60, perDay: 1_000 }, T0).decision.code
  assert.equal(codeOf(T0 + 3_601_000), 'api_key_banned')
  assert.equal(codeOf(T0 + 3_601_001), undefined)
})
