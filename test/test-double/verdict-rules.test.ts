import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange, Finding, Report, RuleId } from '../../adapters/test-double/index.js'
import { reportText } from '../../adapters/verdict/report.js'
import type { Doubt } from '../../adapters/verdict/rules/rule.js'
import { createVerdict } from '../../adapters/verdict/verdict.js'
import { T0 } from '../limits/rate-limit-vectors.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const EXHAUSTED = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(T0 / 1000 + 60) }

/** Somebody else had a request in flight at the same time, an hour before. */
const COMPANY = { at: -HOUR, overlap: 'key', sequential: false, requestDigest: 'other' } as const

/** A request and its response; `at` in ms after T0. */
type Row = Partial<Exchange> & { readonly at: number }

test('verdict retry-after.early - a wait ends 100 ms before the time in the response', () => {
  const date = new Date(T0 + 10_000).toUTCString()
  for (const [headers, end] of [
    [{ 'retry-after': '10' }, 10_000],
    [{ 'retry-after': date }, 10_000],
    [{ ...EXHAUSTED, 'retry-after': '61' }, MINUTE],
    [{ ...EXHAUSTED, 'retry-after': '59' }, 59_000],
  ] as const) {
    for (const status of [400, 429, 503]) {
      const retry = (at: number) => findings([{ at: 0, status, headers }, { at }])
      assert.deepEqual(retry(end - 100), [], JSON.stringify(headers))
      assert.deepEqual(retry(end - 101), ['retry-after.early'], JSON.stringify(headers))
    }
  }
})

test('verdict retry-after.early - a wait ends with the year 9999 at the latest', () => {
  for (const seconds of ['100000000000000', '9'.repeat(400)]) {
    const headers = { 'retry-after': seconds }
    const { rule, seen } = only([{ at: 0, status: 503, headers }, { at: 1 }])
    assert.equal(rule, 'retry-after.early')
    assert.match(seen, /before 9999-12-31T23:59:59\.999Z$/)
  }
})

test('verdict retry-after.early - a Reset that is not a Unix time does not shorten the wait', () => {
  for (const reset of ['soon', '', '-1', '1e300']) {
    const headers = { ...EXHAUSTED, 'x-ratelimit-reset': reset, 'retry-after': '10' }
    const retry = (at: number) => findings([{ at: 0, status: 503, headers }, { at }])
    assert.deepEqual(retry(9_900), [], reset)
    assert.deepEqual(retry(9_899), ['retry-after.early'], reset)
  }
})

test('verdict retry-after.early - a Reset up to two seconds earlier ends the wait, any other does not', () => {
  for (const [seconds, end] of [
    [62, MINUTE],
    [63, 63_000],
    [120, 120_000],
  ] as const) {
    for (const status of [429, 503]) {
      const headers = { ...EXHAUSTED, 'retry-after': String(seconds) }
      const retry = (at: number) => findings([{ at: 0, status, headers }, { at }])
      assert.deepEqual(retry(end - 100), [], `${status}, ${seconds} s`)
      assert.deepEqual(retry(end - 101), ['retry-after.early'], `${status}, ${seconds} s`)
    }
  }
})

test('verdict retry-after.early - a slow rejection may name its Reset before it is on its way', () => {
  const headers = { ...EXHAUSTED, 'retry-after': '60' }
  const retry = (at: number) =>
    findings([{ at: 0, answeredAt: T0 + 5_000, status: 429, headers }, { at }])
  assert.deepEqual([retry(59_900), retry(59_899)], [[], ['retry-after.early']])
})

test('verdict retry-after.early - only rejections that reached the client start a wait', () => {
  const wait = { 'retry-after': '10' }
  for (const rejection of [
    { status: 200, headers: wait },
    { status: 399, headers: wait },
    { status: 429, headers: {} },
    { status: 429, headers: { 'retry-after': '0' } },
    { status: 429, headers: { 'retry-after': 'soon' } },
    { status: 429, headers: { 'retry-after': '1.5' } },
    { status: 429, headers: { 'retry-after': new Date(T0 - 1_000).toUTCString() } },
    { status: 429, headers: wait, fault: 'reset' },
    { status: 429, headers: wait, fault: 'truncate' },
    { status: 429, headers: wait, fault: 'malformed' },
    { status: null, headers: wait, fault: 'hang', answeredAt: null },
  ] as const) {
    assert.deepEqual(findings([{ at: 0, ...rejection }, { at: 1 }]), [], JSON.stringify(rejection))
  }
})

test('verdict retry-after.early - a request sent before the rejection arrived is not early', () => {
  const slow = { status: 429, headers: { 'retry-after': '10' }, answeredAt: T0 + 500 }
  const sent = (at: number) =>
    findings([
      { at: 0, ...slow },
      { at, answeredAt: T0 + 600 },
    ])
  assert.deepEqual([sent(499), sent(500)], [[], ['retry-after.early']])
})

test('verdict retry-after.early - an error that uses up the window starts no wait', () => {
  const rows = [
    { at: 0, status: 404, headers: EXHAUSTED },
    { at: 1, status: 429, headers: { ...EXHAUSTED, 'retry-after': '60' } },
  ]
  assert.deepEqual([findings(rows), notes(rows)], [[], []])
  assert.deepEqual(findings([...rows, { at: 2 }]), ['retry-after.early'])
})

test('verdict retry-after.early - a success ends the wait for the same request', () => {
  const rejection = { status: 429, headers: { 'retry-after': '10' } }
  const others = (status: number) => [
    { at: 0, ...rejection },
    { at: 1_000, status },
    { at: 2_000, status: 200 },
  ]
  assert.match(only(others(200)).seen, /sent again once before/)
  assert.match(only(others(500)).seen, /sent again 2 times before/)
})

test('verdict retry-after.early - the longest of several waits applies', () => {
  const rejected = (at: number, seconds: number, requestDigest: string) => {
    return { at, status: 503, headers: { 'retry-after': String(seconds) }, requestDigest }
  }
  const { seen } = only([
    rejected(0, 10, 'a'),
    rejected(1, 60, 'b'),
    rejected(2, 20, 'c'),
    { at: 30_000, requestDigest: 'b' },
  ])
  assert.equal(seen, `a rejected request was sent again once before ${iso(60_001)}`)
})

test('verdict retry-after.early - the thousand most recent rejected requests are remembered', () => {
  const rejected = (at: number, requestDigest: string, seconds: number) => {
    return { at, requestDigest, status: 503, headers: { 'retry-after': String(seconds) } }
  }
  const { requests } = only([
    rejected(0, 'a', 1),
    ...repeat(999, at => rejected(0, `other ${at}`, 1)),
    rejected(2_000, 'a', 60),
    rejected(2_001, 'new', 60),
    { at: 3_000, requestDigest: 'a' },
    rejected(3_001, 'other 1', 60),
  ])
  assert.deepEqual(requests, [1_003])
})

test('verdict retry-after.early - lists up to a hundred early requests', () => {
  const rejection = { at: 0, status: 503, headers: { 'retry-after': '60' } }
  for (const [count, text] of [
    [1, 'once'],
    [2, '2 times'],
    [99, '99 times'],
    [100, 'at least 100 times'],
    [130, 'at least 100 times'],
  ] as const) {
    const { seen, requests } = only([rejection, ...repeat(count, at => ({ at, status: 503 }))])
    assert.equal(seen, `a rejected request was sent again ${text} before ${iso(MINUTE)}`)
    assert.equal(requests.length, Math.min(count, 100))
  }
})

test('verdict retry-after.early - three senders that never return are a finding, two are a note', () => {
  const rejection = { at: 0, status: 503, headers: { 'retry-after': '60' }, sequential: false }
  const early = (count: number) =>
    repeat(count, at => ({ ...rejection, at: at * 1_000, connection: at % 2 }))
  assert.deepEqual(findings([COMPANY, rejection, ...early(2)]), [])
  assert.deepEqual(notes([COMPANY, rejection, ...early(2)]), ['retry-after.early'])
  const { seen } = only([COMPANY, rejection, ...early(3)])
  assert.equal(seen, '3 requests came too early, and were not sent again after the wait')
  const back = (count: number) =>
    repeat(count, at => ({ at: 62_900, connection: at % 2, sequential: false }))
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(1)]), ['retry-after.early'])
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(2)]), [])
  const later = repeat(4, connection => {
    return { ...rejection, at: 100_000, answeredAt: T0 + 100_500, connection }
  })
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(4), ...later]), [])
})

test('verdict retry-after.early - consecutive waits are reported separately', () => {
  const rejection = (at: number) => ({ at, status: 503, headers: { 'retry-after': '10' } })
  const { seen } = only([
    rejection(0),
    { at: 1_000, status: 503 },
    rejection(9_900),
    { at: 12_000 },
  ])
  const once = 'a rejected request was sent again once before'
  assert.equal(seen, `${once} ${iso(10_000)}; ${once} ${iso(19_900)}`)
})

test('verdict retry-after.early - senders that have waited may run into the next wait', () => {
  const inFlight = { status: 503, headers: { 'retry-after': '60' }, sequential: false }
  const rejected = (count: number) =>
    repeat(count, connection => ({ ...inFlight, at: 0, answeredAt: T0 + 500, connection }))
  const next = [
    { ...inFlight, at: 61_000, connection: 1 },
    ...repeat(3, connection => ({ ...inFlight, at: 61_500 + connection * 200, connection })),
  ]
  assert.deepEqual(
    [findings([COMPANY, ...rejected(4), ...next]), notes([COMPANY, ...rejected(4), ...next])],
    [[], []],
  )
  assert.deepEqual(notes([COMPANY, ...rejected(2), ...next]), ['retry-after.early'])
})

test('verdict retry-after.early - requests of a pool within 100 ms of a rejection may have been queued', () => {
  const rejection = { status: 503, headers: { 'retry-after': '60' }, sequential: false }
  const sent = (at: number) => [
    COMPANY,
    ...repeat(3, connection => ({ ...rejection, at: 0, answeredAt: T0 + 500, connection })),
    ...repeat(3, connection => ({ ...rejection, at, answeredAt: T0 + at, connection })),
  ]
  assert.deepEqual([findings(sent(600)), notes(sent(600))], [[], ['retry-after.early']])
  assert.deepEqual(findings(sent(601)), ['retry-after.early'])
})

test('verdict remaining.ignored - one other request after a rejection is a note, two are a finding', () => {
  const rejection = { at: 0, status: 429, headers: { ...EXHAUSTED, 'retry-after': '60' } }
  const others = (count: number) => [
    rejection,
    ...repeat(count, at => ({ at: at * 10, requestDigest: `other ${at}` })),
  ]
  assert.deepEqual(notes(others(1)), ['remaining.ignored'])
  assert.deepEqual(findings(others(1)), [])
  const { rule, seen } = only(others(2))
  assert.equal(rule, 'remaining.ignored')
  assert.equal(seen, `2 other requests followed a rejection before ${iso(MINUTE)}`)
  assert.match(only(others(100)).seen, /^at least 100 other requests followed/)
})

test('verdict remaining.ignored - a shorter wait of another request leaves the window exhausted', () => {
  const { seen } = only([
    { at: 0, status: 429, headers: { ...EXHAUSTED, 'retry-after': '60' } },
    { at: 1_000, status: 503, headers: { 'retry-after': '5' }, requestDigest: 'b' },
    ...repeat(2, at => ({ at: at * 10_000, requestDigest: `other ${at}` })),
  ])
  assert.equal(seen, `3 other requests followed a rejection before ${iso(MINUTE)}`)
})

test('verdict remaining.ignored - other requests may continue while the quota is not exhausted', () => {
  const rejection = { at: 0, status: 503, headers: { 'retry-after': '60' } }
  const headers = { ...rejection.headers, ...EXHAUSTED }
  for (const given of [rejection, { ...rejection, headers }]) {
    const others = repeat(5, at => ({ at: at * 1_000, requestDigest: `other ${at}` }))
    assert.deepEqual(findings([given, ...others]), [])
  }
})

test('verdict ban.risked - counts the rejections in the minute of the ban', () => {
  const rejected = { status: 429, code: 'rate_limit_exceeded' } as const
  const banned = {
    status: 429,
    code: 'api_key_banned',
    headers: { 'x-ratelimit-reset': String(T0 / 1000 + 420) },
  } as const
  const { rule, seen, requests } = only([
    { at: MINUTE - 1, ...rejected },
    { at: MINUTE, ...rejected },
    { at: MINUTE + 1, ...rejected, fault: 'status' },
    { at: MINUTE + 2, ...rejected },
    { at: 2 * MINUTE - 1, ...banned },
    { at: 2 * MINUTE - 1, ...banned },
    { at: 420_000 - 1, ...banned },
  ])
  assert.equal(rule, 'ban.risked')
  assert.equal(seen, `the 3 rejections of one minute banned the key until ${iso(420_000)}`)
  assert.deepEqual(requests, [2, 4, 5])
  const earlier = [{ at: 0, ...banned }]
  assert.deepEqual(findings(earlier), [], 'a ban that began before the journal')
  assert.deepEqual(findings([...earlier, ...earlier]), [], 'met by two requests at once')
})

test('verdict ban.risked - a ban that began before is over once a request is only rejected', () => {
  const banned = {
    status: 429,
    code: 'api_key_banned',
    // The day is exhausted, so Reset is its end, and not that of the ban.
    headers: { 'x-ratelimit-reset': String((T0 + DAY) / 1000) },
  } as const
  const limited = { ...banned, code: 'rate_limit_exceeded' } as const
  const own = (at: number) => [
    { at: 0, ...banned, answeredAt: T0 + 2 },
    { at, ...limited, answeredAt: T0 + 3 },
    { at: 3, ...banned },
  ]
  assert.deepEqual(findings(own(2)), ['ban.risked'])
  assert.deepEqual(findings(own(1)), [], 'sent before that ban was seen')
})

test('verdict ban.risked - each ban is reported', () => {
  const ban = (start: number) => [
    { at: start, status: 429, code: 'rate_limit_exceeded' as const },
    {
      at: start,
      status: 429,
      code: 'api_key_banned' as const,
      headers: { 'x-ratelimit-reset': String((T0 + start) / 1000 + 300) },
    },
  ]
  const { seen } = only([...ban(0), ...ban(300_000)])
  assert.equal(
    seen,
    `the 2 rejections of one minute banned the key until ${iso(300_000)}; the 2 rejections of one minute banned the key until ${iso(600_000)}`,
  )
})

test('verdict - several senders that come too early count before a ban that others may have caused', () => {
  const rows = [COMPANY, ...[0, 1, 2, 3].map(at => rejected(at, { connection: at % 2 }))]
  assert.deepEqual(findings(rows), ['retry-after.early'])
  const { findings: found, notes } = doubted([...rows, banned(4)])
  assert.deepEqual([rulesOf(found), rulesOf(notes)], [['retry-after.early'], ['ban.risked']])
})

test('verdict - senders that wait come back in a ban that others may have caused, or after it', () => {
  const together = { overlap: 'key', answeredAt: T0 + 9_000 } as const
  const five = (start: number, row: typeof rejected, rest: Partial<Row> = {}) =>
    [1, 2, 3, 4, 5].map(connection => row(start + connection, { ...rest, connection }))
  const back = (count: number) =>
    repeat(count, connection => ({ at: 360_000 + connection * 200, connection }))
  const inFlight = [
    ...five(0, rejected, together),
    ...[6, 7, 8].map(connection => banned(connection, { ...together, connection })),
  ]
  const unaware = [...five(10, rejected), banned(20, { connection: 6 })]
  const early = five(60, banned)
  for (const digestOf of [() => 'request', ({ connection }: Row) => `${connection}`]) {
    for (const rows of [
      [...inFlight, ...early],
      [...inFlight, ...early, ...back(8)],
      [...inFlight, ...back(8)],
      [...unaware, ...early],
      [...unaware, ...early, ...back(6)],
      [...unaware, ...back(6)],
    ]) {
      const sent = rows.map(row => ({ ...row, requestDigest: digestOf(row) }))
      assert.deepEqual(doubted([COMPANY, ...sent]).findings, [])
    }
  }
})

test('verdict - scripts that never meet may come back in a ban that others may have caused', () => {
  const script = (connection: number) => {
    return { sequential: true, connection, requestDigest: `${connection}` }
  }
  const back = [1, 2, 3].map(at => ({ ...script(at), at: 360_000 + at * 200 }))
  const rows = [
    ...[rejected(0, script(1)), rejected(1, script(2)), banned(2, script(3))],
    ...[banned(61, script(1)), banned(62, script(2)), ...back],
  ]
  assert.deepEqual(doubted(rows).findings, [])
})

test('verdict reset.as-delta - a pause as long as Reset is after 1970 is a finding, with a tolerance', () => {
  const reset = T0 / 1000 + 60
  for (const [unit, pause, tolerance] of [
    ['seconds', reset * 1000, MINUTE],
    ['ms', reset, 1_000],
  ] as const) {
    for (const [slip, expected] of [
      [-tolerance - 1, []],
      [-tolerance, ['reset.as-delta']],
      [0, ['reset.as-delta']],
      [tolerance, ['reset.as-delta']],
      [tolerance + 1, []],
    ] as const) {
      const rows = [{ at: 0, headers: EXHAUSTED }, { at: pause + slip }]
      assert.deepEqual(findings(rows), expected, `${slip} ms more than Reset in ${unit}`)
    }
  }
  const rows = [{ at: 0, headers: EXHAUSTED }, { at: reset }]
  assert.deepEqual(
    [only(rows).seen, only(rows).requests],
    [`a pause of 22 days after Reset ${reset}`, [1, 2]],
  )
  assert.deepEqual(
    findings([{ at: 0, headers: { ...EXHAUSTED, 'x-ratelimit-remaining': '1' } }, { at: reset }]),
    [],
  )
})

const POLL = { at: -1_000 }

for (const [pauses, verdict] of [
  [[1000, 1000, 1000], 'grows'],
  [[1000, 1000, 1000, 1000], 'constant'],
  [[1000, 1000, 1000, 1252], 'constant'],
  [[1000, 1000, 1000, 1253], 'grows'],
  [[0, 0, 0, 2], 'constant'],
  [[0, 0, 0, 3], 'grows'],
  [[5000, 4000, 3000, 2000], 'constant'],
  [[5000, 4000, 3000, 3000], 'grows'],
  [[5000, 4000, 3000, 3001], 'grows'],
  [[3000, 1000, 3000, 1000, 3000], 'grows'],
  [[3000, 1000, 3000, 1000, 3000, 1000], 'constant'],
  [[3001, 1000, 3001, 1000, 3001, 1000], 'grows'],
  [[3000, 1000, 2000, 3000, 1500, 3000], 'constant'],
  [[3000, 1000, 2000, 3000, 1503, 3000], 'grows'],
  [[3000, 1003, 2000, 3000, 1504, 3000], 'grows'],
  [[3000, 1000, 2000, 1000, 3000, 1500, 3000], 'constant'],
  [[1000, 2000, 1000, 3000, 3000, 2000], 'grows'],
] as const) {
  test(`verdict backoff.constant - pauses of ${pauses.join(', ')} ms: ${verdict}`, () => {
    const rows = failures(pauses)
    assert.deepEqual(findings(rows), verdict === 'constant' ? ['backoff.constant'] : [])
  })
}

test('verdict backoff.constant - retries of calls that wait side by side may seem to shrink', () => {
  for (const [pauses, expected] of [
    [[1020, 602, 586, 498], []],
    [[5000, 4000, 3000, 2000], []],
    [[16_000, 8_000, 4_000, 2_000], ['backoff.constant']],
    [[1020, 902, 786, 698, 598, 498], ['backoff.constant']],
  ] as const) {
    assert.deepEqual(findings([COMPANY, ...failures(pauses)]), expected, String(pauses))
  }
})

test('verdict backoff.constant - reports the attempts and the first pauses', () => {
  const four = only(failures([1000, 1000, 1000, 1000]))
  assert.equal(four.seen, '4 attempts at one request failed, 1000, 1000, 1000, 1000 ms apart')
  assert.deepEqual(four.requests, [1, 2, 3, 4])
  const five = only(failures([1, 1, 1, 1, 1]))
  assert.equal(five.seen, '5 attempts at one request failed, 1, 1, 1, 1, 1 ms apart')
  const six = only(failures([0.4, 1, 1, 1, 1, 1]))
  assert.equal(six.seen, '6 attempts at one request failed, 0, 1, 1, 1, 1, … ms apart')
  const many = only(failures(Array(30).fill(1000)))
  assert.match(many.seen, /^20 attempts at one request failed/)
  assert.equal(many.requests.length, 20)
})

test('verdict backoff.constant - applies to retryable failures without Retry-After', () => {
  for (const [failure, expected] of [
    [{ status: 429 }, ['backoff.constant']],
    [{ status: 500 }, ['backoff.constant']],
    [{ status: 599 }, ['backoff.constant']],
    [{ status: null, fault: 'reset' }, ['backoff.constant']],
    [{ status: 200, fault: 'truncate' }, ['backoff.constant']],
    [{ status: 200, fault: 'malformed' }, ['backoff.constant']],
    [{ status: null, fault: 'hang' }, []],
    [{ status: 430 }, []],
    [{ status: 499 }, []],
    [{ status: null }, []],
    [{ status: 503, headers: { 'retry-after': '1' } }, []],
  ] as const) {
    const rows = failures([1000, 1000, 1000, 1000, 1000], failure)
    assert.deepEqual(findings(rows), expected, JSON.stringify(failure))
  }
})

test('verdict backoff.constant - a poll at the same pace is not a retry', () => {
  const pauses = [1000, 1000, 1000, 1000]
  for (const [pause, expected] of [
    [799, ['backoff.constant']],
    [800, []],
    [1250, []],
    [1251, ['backoff.constant']],
  ] as const) {
    assert.deepEqual(findings([{ at: -pause }, ...failures(pauses)]), expected, `${pause} before`)
    const [next, ...rest] = failures(pauses).toReversed()
    const moved = { ...next, at: 4_000 + pause }
    assert.deepEqual(findings([...rest.toReversed(), moved]), expected, `${pause} after`)
  }
  assert.deepEqual(findings([POLL, ...failures([5000, 4000, 3000, 2000])]), ['backoff.constant'])
})

test('verdict backoff.constant - ongoing failures may be a poll until the next attempt is overdue', () => {
  const rows = repeat(5, at => ({ at: at * 1_000, status: 503 }))
  for (const [wait, found, noted] of [
    [1_350, [], ['backoff.constant']],
    [1_351, ['backoff.constant'], []],
  ] as const) {
    const now = T0 + 5_000 + wait
    assert.deepEqual([findings(rows, now), notes(rows, now)], [found, noted])
  }
})

test('verdict backoff.constant - a pause starts when the response arrives', () => {
  const slow = (at: number) => ({ at, answeredAt: T0 + at + 400, status: 503 })
  const rows = repeat(5, at => slow(at * 1_400))
  assert.deepEqual(notes(rows, T0 + 7_400 + 1_350), ['backoff.constant'])
  assert.deepEqual(findings(rows, T0 + 7_400 + 1_351), ['backoff.constant'])
  assert.match(only(rows).seen, /failed, 1000, 1000, 1000, 1000 ms apart$/)
})

test('verdict backoff.constant - attempts on three or more connections may be concurrent', () => {
  const pooled = (pause: number) =>
    failures(Array(6).fill(pause)).map((row, at) => {
      return { ...row, sequential: false, connection: at % 3 }
    })
  const warm = repeat(3, at => ({ at: -HOUR, connection: at, requestDigest: 'other' }))
  assert.deepEqual(findings([...warm, ...pooled(100)]), [])
  assert.deepEqual(findings([...warm, ...pooled(101)]), ['backoff.constant'])
  const two = pooled(100).map(row => ({ ...row, connection: row.connection % 2 }))
  assert.deepEqual(findings(two), ['backoff.constant'])
})

test('verdict backoff.constant - overlapping attempts are not retries', () => {
  const rows = failures([1000, 1000, 1000, 1000]).map(row => {
    return { ...row, answeredAt: T0 + row.at + 1_500 }
  })
  assert.deepEqual(findings(rows), [])
})

test('verdict refusal.repeated - five identical requests are a finding, four are not', () => {
  const refused = (count: number, row: Partial<Row> = {}) =>
    repeat(count, at => ({ status: 400, ...row, at: at * 1_000 }))
  assert.deepEqual(findings(refused(4)), [])
  for (const count of [5, 25, 130]) {
    const { rule, seen, requests } = only(refused(count))
    assert.equal(rule, 'refusal.repeated')
    assert.equal(seen, `the same request was sent ${count} times and rejected with 400`)
    assert.equal(requests.length, Math.min(count, 100))
  }
  for (const status of [400, 405, 410, 413, 415]) {
    assert.deepEqual(findings(refused(5, { status })), ['refusal.repeated'], String(status))
  }
  for (const status of [401, 404, 406, 409, 411, 414, 416, 422]) {
    assert.deepEqual(findings(refused(5, { status })), [], String(status))
  }
  assert.deepEqual(findings(refused(5, { status: 404, operation: null })), ['refusal.repeated'])
  const lost = repeat(5, at => ({ at: 2 ** at * 1_000, status: 400, fault: 'truncate' }))
  assert.deepEqual(findings(lost), [])
})

test('verdict refusal.repeated - an hour or a success in between starts a new count', () => {
  const every = (pause: number) => repeat(5, at => ({ status: 400, at: at * pause }))
  assert.deepEqual(findings(every(HOUR)), ['refusal.repeated'])
  assert.deepEqual(findings(every(HOUR + 1)), [])
  const between = (status: number) => [
    ...repeat(3, at => ({ at, status: 400 })),
    { at: 4, status, requestDigest: 'other' },
    ...repeat(3, at => ({ at: at + 4, status: 400 })),
  ]
  assert.deepEqual(findings(between(399)), [])
  assert.deepEqual(findings(between(401)), ['refusal.repeated'])
  const twice = [...every(1), { at: 10, requestDigest: 'other' }, ...every(1).map(later)]
  assert.match(only(twice).seen, /sent 5 times and rejected with 400 \(2 times\)$/)
})

test('verdict refusal.repeated - the thousand most recent requests are remembered', () => {
  const among = (others: number) => [
    ...repeat(4, at => ({ at, status: 400 })),
    ...repeat(others, at => ({ at, status: 400, requestDigest: `other ${at}` })),
    { at: 5_000, status: 400 },
  ]
  assert.deepEqual(findings(among(999)), ['refusal.repeated'])
  assert.deepEqual(findings(among(1_000)), [])
})

test('verdict name.unknown - shows five names and eighty characters of each', () => {
  const seenOf = (unknown: string[]) => only([{ at: 0, unknown }]).seen
  assert.equal(seenOf(['page']), '`page` was sent')
  assert.equal(seenOf(['a', 'b', 'c', 'd', 'e']), '`a`, `b`, `c`, `d`, `e` was sent')
  const six = seenOf(['a', 'b', 'c', 'd', 'e', 'f'])
  assert.equal(six, '`a`, `b`, `c`, `d`, `e` and others were sent')
  assert.equal(seenOf(['x'.repeat(81)]), `\`${'x'.repeat(80)}\` was sent`)
})

test('verdict key.refused - distinguishes a missing key from an invalid one', () => {
  const realm = 'Bearer realm="animal-adoption-store"'
  const stranger = { at: 0, key: null, operation: null, status: 401 }
  for (const [challenge, seen] of [
    [realm, 'there was no API key'],
    [`${realm}, error="invalid_token"`, 'the API key was invalid'],
  ] as const) {
    const {
      rule,
      key,
      seen: text,
    } = only([{ ...stranger, headers: { 'WWW-Authenticate': challenge } }])
    assert.deepEqual([rule, key, text], ['key.refused', null, seen])
  }
  assert.deepEqual(findings([{ ...stranger, status: 429 }]), [])
  assert.deepEqual(findings([{ ...stranger, key: 'free', operation: 'listPets' }]), [])
})

test('verdict - a finding lists three observations and counts the rest', () => {
  const called = (names: string[]) => only(names.map((name, at) => ({ at, unknown: [name] }))).seen
  const sent = (name: string) => `\`${name}\` was sent`
  assert.equal(called(['a', 'b', 'a']), `${sent('a')} (2 times); ${sent('b')}`)
  const three = `${sent('a')}; ${sent('b')}; ${sent('c')}`
  assert.equal(called(['a', 'b', 'c']), three)
  assert.equal(called(['a', 'b', 'c', 'd']), `${three}; and 1 more`)
  assert.equal(called(['a', 'b', 'c', 'd', 'e', 'c']), `${three} (2 times); and 2 more`)
})

test('verdict - findings are sorted by when they started', () => {
  const rows = [
    { at: 0, answeredAt: T0 + 500, unknown: ['late'] },
    { at: 1, operation: 'getPet' as const },
    { at: 2, answeredAt: T0 + 500, unknown: ['later'] },
  ]
  const { findings } = report(rows)
  assert.deepEqual(
    findings.map(({ rule, seen, requests, at }) => [rule, seen, requests, at - T0]),
    [
      ['name.unknown', '`late` was sent; `later` was sent', [1, 3], 0],
      ['deprecated.called', 'getPet, which is deprecated, was called', [2], 1],
    ],
  )
})

test('verdict - exchanges are judged in the order of their responses', () => {
  const rows = [
    { at: 0, answeredAt: T0 + 500, unknown: ['c'] },
    { at: 1, answeredAt: T0 + 500, unknown: ['d'] },
    { at: 2, answeredAt: T0 + 400, unknown: ['b'] },
    { at: 3, answeredAt: null, fault: 'hang' as const, unknown: ['a'] },
  ]
  const texts = ['a', 'b', 'c'].map(name => `\`${name}\` was sent`)
  const { seen, requests } = only(rows)
  assert.equal(seen, `${texts.join('; ')}; and 1 more`)
  assert.deepEqual(requests, [4, 3, 1, 2])
  const exchanges = rows.map((row, index) => exchangeOf(row, index + 1)).toReversed()
  assert.deepEqual(reportOn(exchanges, T0).findings[0]?.requests, [4, 3, 1, 2])
})

test('verdict - an empty journal is ok', () => {
  const nothing = { ok: true, requests: 0, dropped: 0, findings: [], notes: [] }
  assert.deepEqual(createVerdict().report(), nothing)
  assert.deepEqual(reportOn([], T0), nothing)
})

test('verdict - a request without a response is counted but not judged', () => {
  const { requests, findings } = report([{ at: 0, answeredAt: null, operation: 'getPet' }])
  assert.deepEqual([requests, findings], [1, []])
  const hung = report([{ at: 0, answeredAt: null, operation: 'getPet', fault: 'hang' }])
  assert.equal(hung.findings.length, 1)
})

test('verdict - a finding shows its first requests, of which long ones are cut', () => {
  const url = `/v1/pets?page=${'9'.repeat(200)}`
  const [finding] = report(repeat(9, at => ({ at, unknown: ['page'], url }))).findings
  assert.deepEqual(
    finding?.shown.map(({ n, url }) => [n, url.length, url.slice(0, 15)]),
    [1, 2, 3].map(n => [n, 100, '/v1/pets?page=9']),
  )
  assert.equal(finding?.requests.length, 9)
})

test('verdict - the text report counts requests, findings and notes', () => {
  const base: Report = { ok: true, requests: 2, dropped: 0, findings: [], notes: [] }
  const finding: Finding = {
    rule: 'key.refused',
    key: null,
    seen: 'there was no API key',
    fix: 'Send one.',
    at: T0,
    iso: iso(0),
    where: 'world w1',
    requests: [1],
    shown: [
      { n: 1, iso: iso(0), method: 'GET', url: '/v1/pets', status: 401, retryAfter: null },
      { n: 2, iso: iso(1), method: 'GET', url: '/v1/pets', status: null, retryAfter: '5' },
    ],
    allowed: false,
  }
  const firstLine = (given: Partial<Report>) => reportText({ ...base, ...given }).split('\n')[0]
  assert.equal(firstLine({}), 'Verdict: no violations in 2 requests.')
  assert.equal(
    firstLine({ requests: 1, dropped: 1 }),
    'Verdict: no violations in 1 request (the journal has dropped 1).',
  )
  assert.equal(
    firstLine({ findings: [finding], notes: [finding] }),
    'Verdict: 1 finding and 1 note in 2 requests.',
  )
  assert.equal(
    firstLine({ findings: [finding, finding], notes: [finding, finding] }),
    'Verdict: 2 findings and 2 notes in 2 requests.',
  )
  assert.equal(
    reportText({ ...base, findings: [{ ...finding, requests: [1, 2, 3] }] }, { withRequests: true })
      .split('\n')
      .slice(4)
      .join('\n'),
    `    request 1: GET /v1/pets at 2030-01-01T00:00:00.000Z -> 401
    request 2: GET /v1/pets at 2030-01-01T00:00:00.001Z -> no response, Retry-After: 5
    … and 1 more request
`,
  )
  assert.equal(
    reportText({ ...base, findings: [finding], notes: [{ ...finding, where: null, key: 'a' }] }),
    `Verdict: 1 finding and 1 note in 2 requests.
  key.refused (no valid key, first at 2030-01-01T00:00:00.000Z, world w1)
    seen: there was no API key
    fix: Send one.
  key.refused (likely) (key a, first at 2030-01-01T00:00:00.000Z)
    seen: there was no API key
    fix: Send one.
`,
  )
})

function findings(rows: readonly Row[], now?: number): readonly RuleId[] {
  return rulesOf(report(rows, now).findings)
}

function notes(rows: readonly Row[], now?: number): readonly RuleId[] {
  return rulesOf(report(rows, now).notes)
}

/** The one finding. */
function only(rows: readonly Row[]): Finding {
  const { findings } = report(rows)
  assert.equal(findings.length, 1, JSON.stringify(findings))
  return findings[0] as Finding
}

function report(rows: readonly Row[], now = T0 + DAY): Report {
  const exchanges = rows.map((row, index) => exchangeOf(row, index + 1))
  return reportOn(exchanges, now)
}

function reportOn(exchanges: readonly Exchange[], now: number, doubt?: Doubt): Report {
  const restored = { exchanges, received: exchanges.length }
  return createVerdict()
    .record(null, { now: () => now, restored, doubt })
    .report()
}

/** Where others may use the key. */
function doubted(rows: readonly Row[]): Report {
  const exchanges = rows.map((row, index) => exchangeOf(row, index + 1))
  return reportOn(exchanges, T0 + DAY, violation => {
    return violation.rule === 'ban.risked' ? { ...violation, isLikely: true } : violation
  })
}

/** In a window of a minute; `second` after T0. */
function rejected(second: number, row: Partial<Row> = {}): Row {
  return { ...waiting(second, 60), code: 'rate_limit_exceeded', ...row }
}

/** By a ban until five minutes later. */
function banned(second: number, row: Partial<Row> = {}): Row {
  return { ...waiting(second, 360), code: 'api_key_banned', ...row }
}

function waiting(second: number, until: number): Row {
  const headers = {
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(T0 / 1000 + until),
    'retry-after': String(until - second),
  }
  return { at: second * 1_000, status: 429, headers, sequential: false }
}

function rulesOf(findings: readonly Finding[]): readonly RuleId[] {
  return findings.map(({ rule }) => rule)
}

/** By default one client on one connection lists pets with a valid key, and is answered at once. */
function exchangeOf({ at, ...row }: Row, n: number): Exchange {
  return {
    n,
    answeredAt: T0 + at,
    key: 'free',
    operation: 'listPets',
    method: 'GET',
    path: '/v1/pets',
    query: '',
    url: '/v1/pets',
    status: 200,
    code: null,
    requestHeaders: {},
    headers: {},
    requestBody: null,
    body: null,
    requestDigest: 'request',
    unknown: [],
    fault: null,
    connection: 1,
    sequential: true,
    overlap: 'none',
    ...row,
    at: T0 + at,
  }
}

/** Attempts that fail, with these pauses until the one that succeeds, and another call much later. */
function failures(pauses: readonly number[], failure: Partial<Row> = { status: 503 }): Row[] {
  let at = 0
  const rows: Row[] = []
  for (const pause of pauses) {
    rows.push({ ...failure, at })
    at += pause
  }
  return [...rows, { at }, { at: at + HOUR }]
}

/** Rows 1, 2, 3 … */
function repeat(count: number, row: (at: number) => Row): Row[] {
  return Array.from({ length: count }, (_, index) => row(index + 1))
}

function later(row: Row): Row {
  return { ...row, at: row.at + 20 }
}

function iso(at: number): string {
  return new Date(T0 + at).toISOString()
}
