import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRetryAfterLeniently, retryInstant } from '../../src/lib/retry-after.js'

const T0 = Date.UTC(2030, 0, 1)
const IN_TEN = T0 + 10_000

test('Retry-After - seconds and the three forms of an HTTP-date, and nothing else', () => {
  for (const [text, expected] of [
    ['0', { seconds: 0 }],
    ['120', { seconds: 120 }],
    ['Tue, 01 Jan 2030 00:00:10 GMT', { date: IN_TEN }],
    ['Tuesday, 01-Jan-30 00:00:10 GMT', { date: IN_TEN }],
    ['Tue Jan  1 00:00:10 2030', { date: IN_TEN }],
  ] as const) {
    assert.deepEqual(readRetryAfterLeniently(text), expected, text)
    const instant = 'date' in expected ? expected.date : T0 + expected.seconds * 1_000
    assert.equal(retryInstant(text, T0), instant, text)
  }
  for (const text of ['', ' ', '-1', '+1', '1.5', '1e3', '0x10', '10, 20', 'soon', '2030-01-01']) {
    assert.equal(retryInstant(text, T0), undefined, text)
  }
  for (const zone of ['-0500', '-0500 GMT', 'GMT-0500', '+0100', 'EST', 'UTC', '']) {
    const text = `Tue, 01 Jan 2030 00:00:10 ${zone}`.trim()
    assert.equal(retryInstant(text, T0), undefined, text)
    assert.deepEqual(readRetryAfterLeniently(text), {}, text)
  }
  assert.deepEqual([retryInstant(null, T0), retryInstant(undefined, T0)], [undefined, undefined])
})

test('Retry-After - a client also reads fractions and joined copies, the longest of them', () => {
  assert.deepEqual(readRetryAfterLeniently('1.5'), { seconds: 1.5 })
  assert.deepEqual(readRetryAfterLeniently('5, 30,7'), { seconds: 30 })
  for (const text of ['', '5,', '5,soon', '1.', '.5', '9'.repeat(11), 'soon']) {
    assert.deepEqual(readRetryAfterLeniently(text), {}, text)
  }
  assert.deepEqual(readRetryAfterLeniently(null), {})
})
