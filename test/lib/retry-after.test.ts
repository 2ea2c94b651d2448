import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRetryAfter, readRetryAfterLeniently, retryInstant } from '../../src/lib/retry-after.js'

const T0 = Date.UTC(2030, 0, 1)
const IN_TEN = { date: T0 + 10_000 }

test('Retry-After - seconds and the three forms of an HTTP-date, and nothing else', () => {
  for (const [text, expected] of [
    ['0', { seconds: 0 }],
    ['120', { seconds: 120 }],
    ['Tue, 01 Jan 2030 00:00:10 GMT', IN_TEN],
    ['Tuesday, 01-Jan-30 00:00:10 GMT', IN_TEN],
    ['Tue Jan  1 00:00:10 2030', IN_TEN],
  ] as const) {
    assert.deepEqual(readRetryAfter(text), expected, text)
    assert.deepEqual(readRetryAfterLeniently(text), expected, text)
  }
  for (const text of ['', ' ', '-1', '+1', '1.5', '1e3', '0x10', '10, 20', 'soon', '2030-01-01']) {
    assert.equal(readRetryAfter(text), undefined, text)
  }
  assert.deepEqual([readRetryAfter(null), readRetryAfter(undefined)], [undefined, undefined])
})

test('Retry-After - a client also reads fractions and joined copies, the longest of them', () => {
  assert.deepEqual(readRetryAfterLeniently('1.5'), { seconds: 1.5 })
  assert.deepEqual(readRetryAfterLeniently('5, 30,7'), { seconds: 30 })
  for (const text of ['', '5,', '5,soon', '1.', '.5', '9'.repeat(11), 'soon']) {
    assert.equal(readRetryAfterLeniently(text), undefined, text)
  }
  assert.equal(readRetryAfterLeniently(null), undefined)
})

test('Retry-After - as the instant of the next attempt', () => {
  assert.equal(retryInstant('10', T0), T0 + 10_000)
  assert.equal(retryInstant('Tue, 01 Jan 2030 00:00:10 GMT', T0 + 5), T0 + 10_000)
  assert.equal(retryInstant('soon', T0), undefined)
})
