import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { waitBefore } from '../../adapters/client/backoff.js'
import {
  type Limits,
  readLimits,
  requestedWait,
  untilReset,
} from '../../adapters/client/headers.js'
import { readHttpDate } from '../../src/lib/retry-after.js'
import { T0 } from './client-server.js'

const DATE = 'Tue, 01 Jan 2030 00:00:00 GMT'

test('requestedWait - seconds', () => {
  assert.equal(wait({ retryAfter: '50' }), 50_000)
  assert.equal(wait({ retryAfter: '0' }), 0)
  assert.equal(wait({ retryAfter: '60.5' }), 60_500)
  assert.equal(wait({ retryAfter: '60, 61' }), 61_000)
})

test('requestedWait - an HTTP-date counts from the Date of the response, whatever the local time', () => {
  const retryAfter = 'Tue, 01 Jan 2030 00:01:00 GMT'
  assert.equal(wait({ retryAfter, sentAt: T0 + 10_000 }), 50_000)
  assert.equal(wait({ retryAfter }, T0 + 20_000), 40_000)
})

test('requestedWait - without a usable Retry-After, until the reset', () => {
  const rateLimit = { limit: 60, remaining: 0, reset: T0 / 1000 + 40 }
  const past = 'Mon, 31 Dec 2029 23:59:59 GMT'
  for (const retryAfter of [null, '', '-5', '0x10', 'NaN', 'soon', '60s', '2030-01-01', past]) {
    assert.equal(wait({ retryAfter, sentAt: T0, rateLimit }), 40_000, `${retryAfter}`)
  }
  assert.equal(wait({ rateLimit }, T0 + 1_000), 39_000)
  assert.equal(wait({ rateLimit, sentAt: T0 + 40_000 }), undefined)
})

test('requestedWait - an unreadable Retry-After alone demands a safe wait, an absent one none', () => {
  for (const retryAfter of ['-5', '60s', 'soon', '1e3', '9'.repeat(30)]) {
    assert.equal(wait({ retryAfter, sentAt: T0 }), 61_000, retryAfter)
  }
  assert.equal(wait({ retryAfter: null, sentAt: T0 }), undefined)
  assert.equal(wait({ retryAfter: 'Mon, 31 Dec 2029 23:59:59 GMT', sentAt: T0 }), undefined)
})

test('untilReset - by the Date of the response; an absurd distance is a window and a bit', () => {
  const until = (reset: number, sentAt: number | undefined, now = 0) =>
    untilReset({ limit: 60, remaining: 0, reset }, sentAt, now)
  assert.equal(until(T0 / 1000 + 30, T0), 30_000)
  assert.equal(until(T0 / 1000 + 86_400, T0), 86_400_000)
  assert.equal(until(T0 / 1000 - 30, T0), 0)
  assert.equal(until(T0 / 1000 + 90_000, T0), 61_000)
})

test('untilReset - without Date the local clock is believed within a window only', () => {
  const until = (seconds: number, now: number) =>
    untilReset({ limit: 60, remaining: 0, reset: T0 / 1000 + seconds }, undefined, now)
  assert.equal(until(30, T0), 30_000)
  for (const skew of [-86_400_000, -100_000, 100_000, 86_400_000]) {
    assert.equal(until(30, T0 + skew), 61_000, `${skew}`)
  }
})

test('readLimits - a reset in milliseconds is understood, what is no count is not', () => {
  const reset = (text: string) => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '5' }
    return readLimits(new Headers({ ...headers, 'x-ratelimit-reset': text })).rateLimit?.reset
  }
  assert.equal(reset('1893456060'), 1_893_456_060)
  assert.equal(reset('1893456060123'), 1_893_456_060)
  for (const text of ['', '-1', '1.5', '1e9', 'soon', '9'.repeat(30)]) {
    assert.equal(reset(text), undefined, text)
  }
})

test('readHttpDate - the three forms of RFC 9110', () => {
  const forms = [DATE, 'Tuesday, 01-Jan-30 00:00:00 GMT', 'Tue Jan  1 00:00:00 2030']
  for (const form of forms) assert.equal(readHttpDate(form), T0, form)
})

test('waitBefore - never less than requested, and at most 30 s or 1 s and a tenth more', () => {
  assert.equal(
    waitBefore({ requested: 0, retries: 0, again: false }, () => 0),
    0,
  )
  assert.equal(
    waitBefore({ requested: 50_000, retries: 0, again: false }, () => 0),
    50_000,
  )
  assert.equal(
    waitBefore({ requested: 50_000, retries: 0, again: false }, () => 1),
    56_000,
  )
  assert.equal(
    waitBefore({ requested: 600_000, retries: 0, again: false }, () => 1),
    630_000,
  )
  fc.assert(
    fc.property(
      fc.nat(),
      fc.nat(20),
      fc.boolean(),
      randoms(),
      (requested, retries, again, random) => {
        assert.ok(waitBefore({ requested, retries, again }, random) >= requested)
      },
    ),
  )
})

test('waitBefore - nothing requested: full jitter up to a bound that doubles, at least 1 s', () => {
  const longest = (retries: number) =>
    waitBefore({ requested: undefined, retries, again: false }, () => 1)
  assert.deepEqual(
    [0, 1, 2, 3, 5, 6, 60].map(longest),
    [1, 2, 4, 8, 32, 60, 60].map(s => s * 1000),
  )
  assert.equal(
    waitBefore({ requested: undefined, retries: 9, again: false }, () => 0.01),
    1_000,
  )
  assert.equal(
    waitBefore({ requested: undefined, retries: 9, again: false }, () => 0.5),
    30_000,
  )
})

test('waitBefore - rejected again: at least the backoff', () => {
  const randomly = (requested: number, again: boolean) =>
    waitBefore({ requested, retries: 4, again }, () => 0.5)
  assert.equal(randomly(1_000, false), 1_000 + 550)
  assert.equal(randomly(1_000, true), 8_000 + 900)
  assert.equal(randomly(20_000, true), 20_000 + 1_500)
})

function wait(limits: Partial<Limits>, now = 0): number | undefined {
  return requestedWait(
    { retryAfter: null, sentAt: undefined, rateLimit: undefined, ...limits },
    now,
  )
}

/** Values of a random function, from 0 up to 1. */
function randoms() {
  return fc.double({ min: 0, max: 1, noNaN: true }).map(value => () => value)
}
