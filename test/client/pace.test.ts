import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPace, type Pace } from '../../adapters/client/pace.js'
import type { RateLimit } from '../../src/errors.js'

const MINUTE = 60_000
const T0 = Date.UTC(2030, 0, 1, 23, 59)
const NOON = Date.UTC(2030, 0, 1, 12)
const MIDNIGHT = Date.UTC(2030, 0, 2)

test('pace - a client that met the limit of the day waits for minutes after one of the minute, not for years', () => {
  const pace = createPace({ random: () => 0.5, maxConcurrent: 10 })
  // The last minute of the day, with two clients on the key: the day applies, and gives its number.
  for (const [at, remaining] of [6, 4].entries()) {
    pace.sent(T0 + at)
    pace.admitted({ limit: 16, remaining, reset: MIDNIGHT / 1000 }, MIDNIGHT, T0 + at)
  }
  pace.sent(MIDNIGHT)
  const reset = (MIDNIGHT + MINUTE) / 1000
  pace.rejected({ limit: 8, remaining: 0, reset }, MIDNIGHT + MINUTE, MIDNIGHT)
  const now = MIDNIGHT + MINUTE
  const wait = pace.next(now).at - now
  assert.ok(wait >= 0 && wait <= 6_000, `waits ${wait} ms`)
})

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
