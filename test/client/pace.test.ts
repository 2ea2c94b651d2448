import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPace, type Pace } from '../../adapters/client/pace.js'
import type { RateLimit } from '../../src/api-error.js'

const MINUTE = 60_000
const NOON = Date.UTC(2030, 0, 1, 12)
const MIDNIGHT = Date.UTC(2030, 0, 2)

test('pace - waits for the end of the minute where the server has lost the count of the day', () => {
  const pace = createPace({ random: () => 0.5, maxConcurrent: 10 })
  receive(pace, NOON, { limit: 15, remaining: 2, reset: MIDNIGHT / 1000 })
  const now = NOON + 10_000
  const reset = (NOON + MINUTE) / 1000
  for (const remaining of [2, 1, 0]) receive(pace, now, { limit: 3, remaining, reset })
  assert.deepEqual(pace.next(now), { at: NOON + MINUTE, reason: 'limit' })
})

test('pace - a response of an earlier minute that was overtaken changes nothing', () => {
  const [now, late] = [NOON + 20, NOON + 30]
  // Each window may seem to end later: `Date` has whole seconds, and browsers hide it.
  const safe = MINUTE + 1_000
  for (const { endsAt, ...later } of [
    { limit: 15, remaining: 1, reset: MIDNIGHT / 1000, endsAt: MIDNIGHT + 20 },
    { limit: 2, remaining: 1, reset: (NOON + MINUTE) / 1000, endsAt: now + safe },
  ]) {
    const pace = createPace({ random: () => 0.5, maxConcurrent: 10 })
    const before = NOON - 30_000
    receive(pace, before, { limit: 2, remaining: 1, reset: NOON / 1000 }, before + safe)
    pace.sent(NOON - 10)
    receive(pace, now, later, endsAt)
    pace.admitted({ limit: 2, remaining: 0, reset: NOON / 1000 }, late + safe, late)
    assert.equal(pace.next(late).at, late)
  }
})

/** Sends one request, and gets its response at once. */
function receive(pace: Pace, at: number, rateLimit: RateLimit, endsAt = rateLimit.reset * 1000) {
  pace.sent(at)
  pace.admitted(rateLimit, endsAt, at)
}
