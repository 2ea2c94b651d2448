import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { httpDate, toldWait, waitBefore } from '../adapters/client/retry.js'
import { T0 } from './support/client-server.js'

const DATE = 'Tue, 01 Jan 2030 00:00:00 GMT'

test('toldWait - seconds', () => {
  assert.equal(toldWait(told({ retryAfter: '50' }), 0), 50_000)
  assert.equal(toldWait(told({ retryAfter: '0' }), 0), 0)
})

test('toldWait - an HTTP-date counts from the Date of the answer, whatever the time is here', () => {
  const retryAfter = 'Tue, 01 Jan 2030 00:01:00 GMT'
  assert.equal(toldWait(told({ retryAfter, sentAt: T0 + 10_000 }), 0), 50_000)
  assert.equal(toldWait(told({ retryAfter }), T0 + 20_000), 40_000)
})

test('toldWait - what cannot be is ignored, and the reset counts', () => {
  const rateLimit = { limit: 60, remaining: 0, reset: T0 / 1000 + 60 }
  const past = 'Mon, 31 Dec 2029 23:59:59 GMT'
  for (const retryAfter of [null, '', '-5', '1.5', '0x10', 'NaN', 'soon', '2030-01-01', past]) {
    assert.equal(toldWait(told({ retryAfter, sentAt: T0, rateLimit }), 0), 60_000, `${retryAfter}`)
    assert.equal(toldWait(told({ retryAfter, sentAt: T0 }), 0), undefined, `${retryAfter}`)
  }
  assert.equal(toldWait(told({ rateLimit }), T0 + 1_000), 59_000)
  assert.equal(toldWait(told({ rateLimit }), T0 + 60_000), undefined)
})

test('httpDate - the three forms of RFC 9110', () => {
  const forms = [DATE, 'Tuesday, 01-Jan-30 00:00:00 GMT', 'Tue Jan  1 00:00:00 2030']
  for (const form of forms) assert.equal(httpDate(form), T0, form)
})

test('waitBefore - never less than told, and at most 30 s or 1 s and a tenth more', () => {
  assert.equal(
    waitBefore({ told: 0, retries: 0, again: false }, () => 0),
    0,
  )
  assert.equal(
    waitBefore({ told: 50_000, retries: 0, again: false }, () => 0),
    50_000,
  )
  assert.equal(
    waitBefore({ told: 50_000, retries: 0, again: false }, () => 1),
    56_000,
  )
  assert.equal(
    waitBefore({ told: 600_000, retries: 0, again: false }, () => 1),
    630_000,
  )
  fc.assert(
    fc.property(fc.nat(), fc.nat(20), fc.boolean(), randoms(), (told, retries, again, random) => {
      assert.ok(waitBefore({ told, retries, again }, random) >= told)
    }),
  )
})

test('waitBefore - nothing told: full jitter up to a bound that doubles, at least 1 s', () => {
  const longest = (retries: number) =>
    waitBefore({ told: undefined, retries, again: false }, () => 1)
  assert.deepEqual(
    [0, 1, 2, 3, 5, 6, 60].map(longest),
    [1, 2, 4, 8, 32, 60, 60].map(s => s * 1000),
  )
  assert.equal(
    waitBefore({ told: undefined, retries: 9, again: false }, () => 0.01),
    1_000,
  )
  assert.equal(
    waitBefore({ told: undefined, retries: 9, again: false }, () => 0.5),
    30_000,
  )
})

test('waitBefore - rejected again: at least as long as nothing told', () => {
  const randomly = (told: number, again: boolean) =>
    waitBefore({ told, retries: 4, again }, () => 0.5)
  assert.equal(randomly(1_000, false), 1_000 + 550)
  assert.equal(randomly(1_000, true), 8_000 + 900)
  assert.equal(randomly(20_000, true), 20_000 + 1_500)
})

function told(given: Partial<Parameters<typeof toldWait>[0]>): Parameters<typeof toldWait>[0] {
  return { retryAfter: null, sentAt: undefined, rateLimit: undefined, ...given }
}

/** Values of a random function, from 0 up to 1. */
function randoms() {
  return fc.double({ min: 0, max: 1, noNaN: true }).map(value => () => value)
}
