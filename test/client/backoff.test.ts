import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitBefore } from '../../adapters/client/backoff.js'
import {
  type AnnouncedLimits,
  readLimits,
  requestedWait,
  untilReset,
} from '../../adapters/client/rate-limit-headers.js'
import { T0 } from './client-server.js'

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
  const elsewhere = 'Tue, 01 Jan 2030 00:01:40 +0500'
  for (const retryAfter of ['-5', '60s', 'soon', '1e3', '9'.repeat(30), elsewhere]) {
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

test('waitBefore - never less than requested plus jitter; else full jitter, at least 1 s', () => {
  for (const [requested, retries, again, random, expected] of [
    [0, 0, false, 0, 0],
    [50_000, 0, false, 0, 50_000],
    [50_000, 0, false, 1, 56_000],
    [600_000, 0, false, 1, 630_000],
    [1_000, 4, false, 0.5, 1_550],
    [1_000, 4, true, 0.5, 8_900],
    [20_000, 4, true, 0.5, 21_500],
    [undefined, 0, false, 1, 1_000],
    [undefined, 3, false, 1, 8_000],
    [undefined, 60, false, 1, 60_000],
    [undefined, 9, false, 0.01, 1_000],
    [undefined, 9, false, 0.5, 30_000],
  ] as const) {
    const wait = waitBefore({ requested, retries, again }, () => random)
    assert.equal(wait, expected, `${[requested, retries, again, random]}`)
  }
})

function wait(limits: Partial<AnnouncedLimits>, now = 0): number | undefined {
  return requestedWait(
    { retryAfter: null, sentAt: undefined, rateLimit: undefined, ...limits },
    now,
  )
}
