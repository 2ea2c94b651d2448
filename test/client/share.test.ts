import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createShare, type Share } from '../../adapters/client/share.js'
import type { RateLimit } from '../../src/errors.js'

const MINUTE = 60_000
const T0 = Date.UTC(2030, 0, 1, 23, 59)
const NOON = Date.UTC(2030, 0, 1, 12)
const MIDNIGHT = Date.UTC(2030, 0, 2)

test('share - a client that met the limit of the day waits for minutes after one of the minute, not for years', () => {
  const share = createShare({ random: () => 0.5, maxConcurrent: 10 })
  // The last minute of the day, with two clients on the key: the day applies, and gives its number.
  for (const [at, remaining] of [6, 4].entries()) {
    share.sent(T0 + at)
    share.admitted({ limit: 16, remaining, reset: MIDNIGHT / 1000 }, MIDNIGHT, T0 + at)
  }
  share.sent(MIDNIGHT)
  const reset = (MIDNIGHT + MINUTE) / 1000
  assert.equal(share.rejected({ limit: 8, remaining: 0, reset }, MIDNIGHT + MINUTE), true)
  const now = MIDNIGHT + MINUTE
  const wait = share.next(now) - now
  assert.ok(wait >= 0 && wait <= 6_000, `waits ${wait} ms`)
})

test('share - waits for the end of the minute where the server has lost the count of the day', () => {
  const share = createShare({ random: () => 0.5, maxConcurrent: 10 })
  receive(share, NOON, { limit: 15, remaining: 2, reset: MIDNIGHT / 1000 })
  const now = NOON + 10_000
  const reset = (NOON + MINUTE) / 1000
  for (const remaining of [2, 1, 0]) receive(share, now, { limit: 3, remaining, reset })
  assert.equal(share.waitsFor(now), 'limit')
  assert.equal(share.next(now), NOON + MINUTE)
})

test('share - a response of an earlier minute that was overtaken changes nothing', () => {
  const [now, late] = [NOON + 20, NOON + 30]
  // Each window may seem to end later: `Date` has whole seconds, and browsers hide it.
  const safe = MINUTE + 1_000
  for (const { endsAt, ...later } of [
    { limit: 15, remaining: 1, reset: MIDNIGHT / 1000, endsAt: MIDNIGHT + 20 },
    { limit: 2, remaining: 1, reset: (NOON + MINUTE) / 1000, endsAt: now + safe },
  ]) {
    const share = createShare({ random: () => 0.5, maxConcurrent: 10 })
    const before = NOON - 30_000
    receive(share, before, { limit: 2, remaining: 1, reset: NOON / 1000 }, before + safe)
    share.sent(NOON - 10)
    receive(share, now, later, endsAt)
    share.admitted({ limit: 2, remaining: 0, reset: NOON / 1000 }, late + safe, late)
    assert.equal(share.next(late), late)
  }
})

/** Sends one request, and gets its response at once. */
function receive(share: Share, at: number, rateLimit: RateLimit, endsAt = rateLimit.reset * 1000) {
  share.sent(at)
  share.admitted(rateLimit, endsAt, at)
}
