import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createShare } from '../../adapters/client/share.js'

const MINUTE = 60_000
const T0 = Date.UTC(2030, 0, 1, 23, 59)

test('share - a client that met the limit of the day waits for minutes after one of the minute, not for years', () => {
  const share = createShare({ random: () => 0.5, maxConcurrent: 10 })
  const midnight = T0 + MINUTE
  // The last minute of the day, with two clients on the key: the day applies, and gives its number.
  for (const [at, remaining] of [6, 4].entries()) {
    share.sent(T0 + at)
    share.admitted({ limit: 16, remaining, reset: midnight / 1000 }, midnight, T0 + at)
  }
  share.sent(midnight)
  const reset = (midnight + MINUTE) / 1000
  assert.equal(share.rejected({ limit: 8, remaining: 0, reset }, midnight + MINUTE), true)
  const now = midnight + MINUTE
  const wait = share.next(now) - now
  assert.ok(wait >= 0 && wait <= 6_000, `waits ${wait} ms`)
})
