import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide, type Usage } from '../src/rate-limit.js'
import { T0 } from './support/rate-limit-vectors.js'

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

test('limiter - no minute and no UTC day admits more than its limit', () => {
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
