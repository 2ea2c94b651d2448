import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange, Finding, Report, RuleId } from '../../adapters/test-double/index.js'
import { reportText } from '../../adapters/verdict/report.js'
import { createVerdict } from '../../adapters/verdict/verdict.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { randomFrom } from '../test-double/clients/api.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const EXHAUSTED = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(T0 / 1000 + 60) }

/** Somebody else had a request in flight at the same time, an hour before. */
const COMPANY = { at: -HOUR, overlap: 'key', sequential: false, requestDigest: 'other' } as const

/** A request and its response; `at` in ms after T0. */
type Row = Partial<Exchange> & { readonly at: number }

for (const [what, rejection, end] of [
  ['seconds', { headers: { 'retry-after': '10' } }, 10_000],
  ['an HTTP-date', { headers: { 'retry-after': new Date(T0 + 10_000).toUTCString() } }, 10_000],
  ['a Reset up to two seconds earlier', { headers: { ...EXHAUSTED, 'retry-after': '62' } }, MINUTE],
  ['no Reset that is earlier still', { headers: { ...EXHAUSTED, 'retry-after': '63' } }, 63_000],
  ['no Reset that is later', { headers: { ...EXHAUSTED, 'retry-after': '59' } }, 59_000],
  [
    'no Reset that is not a Unix time',
    { headers: { ...EXHAUSTED, 'x-ratelimit-reset': '1e300', 'retry-after': '10' } },
    10_000,
  ],
  [
    'a Reset that a slow rejection decided earlier',
    { headers: { ...EXHAUSTED, 'retry-after': '60' }, answeredAt: T0 + 5_000 },
    MINUTE,
  ],
] as const) {
  test(`verdict retry-after.early - a wait ends 100 ms before ${what}`, () => {
    for (const status of [429, 503]) {
      const retry = (at: number) => findings([{ at: 0, status, ...rejection }, { at }])
      assert.deepEqual([retry(end - 100), retry(end - 101)], [[], ['retry-after.early']])
    }
  })
}

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

const USED_UP = [
  { at: 0, status: 404, headers: EXHAUSTED },
  { at: 1, status: 429, headers: { ...EXHAUSTED, 'retry-after': '60' } },
]
const LIMITED = [{ at: 0, status: 429, headers: { ...EXHAUSTED, 'retry-after': '60' } }]

/** The requests of one client, and the findings and notes that it gets. */
const CASES: readonly (readonly [
  behaviour: string,
  rows: readonly Row[],
  findings: readonly RuleId[],
  notes?: readonly RuleId[],
  seen?: RegExp,
])[] = [
  [
    'a Retry-After beyond all dates ends with the year 9999',
    [{ at: 0, status: 503, headers: { 'retry-after': '9'.repeat(400) } }, { at: 1 }],
    ['retry-after.early'],
    [],
    /Retry-After had passed$/,
  ],
  ['a request sent before the rejection arrived is not early', slowRejection(499), []],
  ['a request sent when the rejection arrived is early', slowRejection(500), ['retry-after.early']],
  ['an error that uses up the window starts no wait', USED_UP, []],
  ['a 429 after it does', [...USED_UP, { at: 2 }], ['retry-after.early']],
  [
    'a success ends the wait for the same request',
    retriedTwice(200),
    ['retry-after.early'],
    [],
    /^1 request came before Retry-After had passed$/,
  ],
  [
    'the longest of several waits applies',
    [
      rejectedFor(0, 10, 'a'),
      rejectedFor(1, 60, 'b'),
      rejectedFor(2, 20, 'c'),
      { at: 30_000, requestDigest: 'b' },
    ],
    ['retry-after.early'],
    [],
    /^1 request came before Retry-After had passed$/,
  ],
  [
    'consecutive waits are reported separately',
    [rejectedFor(0, 10), { at: 1_000, status: 503 }, rejectedFor(9_900, 10), { at: 12_000 }],
    ['retry-after.early'],
    [],
    /^1 request came before Retry-After had passed \(2 times\)$/,
  ],
  [
    'two other requests after a rejection',
    [...LIMITED, ...others(2)],
    ['remaining.ignored'],
    [],
    /^2 requests came before X-RateLimit-Reset had passed$/,
  ],
  [
    'a shorter wait of another request leaves the window exhausted',
    [...LIMITED, rejectedFor(1_000, 5, 'b'), ...others(2, 10_000)],
    ['remaining.ignored'],
    [],
    /^3 requests came before X-RateLimit-Reset had passed$/,
  ],
  [
    'other requests continue after a 503 at Remaining 0',
    [{ at: 0, status: 503, headers: { ...EXHAUSTED, 'retry-after': '60' } }, ...others(5)],
    [],
  ],
  [
    'a ban that began before, and another one once a request was only rejected',
    metBan(2),
    ['ban.risked'],
  ],
  ['a rejection sent before that ban was seen', metBan(1), []],
  [
    'a wrong request sent 25 times',
    repeat(25, at => ({ status: 400, at: at * 1_000 })),
    ['refusal.repeated'],
    [],
    /^the same request was sent 25 times and rejected with 400$/,
  ],
  [
    'a wrong request five times in five seconds',
    repeat(5, at => ({ status: 400, at: at * 1_250 })),
    ['refusal.repeated'],
  ],
  ['a wrong request more slowly', repeat(25, at => ({ status: 400, at: at * 1_251 })), []],
  [
    'a wrong request twice, and five times in a second',
    repeat(7, at => ({ status: 400, at: at * (at < 3 ? 3_000 : 200) + (at < 3 ? 0 : 12_000) })),
    ['refusal.repeated'],
    [],
    /^the same request was sent 5 times and rejected with 400$/,
  ],
  ['another failure between wrong requests', refusedAround(500), ['refusal.repeated']],
  ['a wrong request among 999 others', refusedAmong(999), ['refusal.repeated']],
  ['a wrong request among a thousand others, of which one is forgotten', refusedAmong(1_000), []],
  [
    'six unknown names, of which five are shown, and eighty characters of each',
    [{ at: 0, unknown: ['a', 'b', 'c', 'd', 'x'.repeat(81), 'f'] }],
    ['name.unknown'],
    [],
    /^`a`, `b`, `c`, `d`, `x{80}` and others were sent$/,
  ],
  [
    'three observations are listed, and the rest are counted',
    ['a', 'b', 'c', 'd', 'e', 'c'].map((name, at) => ({ at, unknown: [name] })),
    ['name.unknown'],
    [],
    /^`a` was sent; `b` was sent; `c` was sent \(2 times\); and 2 more$/,
  ],
]

for (const [behaviour, rows, found, noted = [], seen] of CASES) {
  test(`verdict - ${behaviour}: ${[...found, ...noted.map(rule => `note ${rule}`)].join() || 'nothing'}`, () => {
    const { findings, notes } = report(rows)
    assert.deepEqual([rulesOf(findings), rulesOf(notes)], [found, noted])
    if (seen) assert.match(findings[0]?.seen ?? '', seen)
  })
}

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
  assert.deepEqual(requests, [1_001, 1_003])
})

test('verdict retry-after.early - lists up to a hundred early requests', () => {
  const rejection = { at: 0, status: 503, headers: { 'retry-after': '60' } }
  for (const [count, text] of [
    [1, '1 request'],
    [130, 'at least 100 requests'],
  ] as const) {
    const { seen, requests } = only([rejection, ...repeat(count, at => ({ at, status: 404 }))])
    assert.equal(seen, `${text} came before Retry-After had passed`)
    assert.equal(requests.length, Math.min(count + 1, 100))
  }
})

test('verdict retry-after.early - three senders that never return are a finding, two are a note', () => {
  const rejection = { at: 0, status: 503, headers: { 'retry-after': '60' }, sequential: false }
  const early = (count: number) =>
    repeat(count, at => ({ ...rejection, at: at * 1_000, connection: at % 2 }))
  assert.deepEqual(findings([COMPANY, rejection, ...early(2)]), [])
  assert.deepEqual(notes([COMPANY, rejection, ...early(2)]), ['retry-after.early'])
  const { seen } = only([COMPANY, rejection, ...early(3)])
  assert.equal(seen, '3 requests came before Retry-After had passed')
  const back = (count: number) =>
    repeat(count, at => ({ at: 62_900, connection: at % 2, sequential: false }))
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(1)]), ['retry-after.early'])
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(2)]), [])
  const later = repeat(4, connection => {
    return { ...rejection, at: 100_000, answeredAt: T0 + 100_500, connection }
  })
  assert.deepEqual(findings([COMPANY, rejection, ...early(3), ...back(4), ...later]), [])
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
  assert.deepEqual([findings(sent(600)), notes(sent(600))], [[], []])
  assert.deepEqual(findings(sent(601)), ['retry-after.early'])
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
})

test('verdict - several senders that come too early count before a ban that others may have caused', () => {
  const rows = [COMPANY, ...[0, 1, 2, 3].map(at => rejected(at, { connection: at % 2 }))]
  assert.deepEqual(findings(rows), ['retry-after.early'])
  const { findings: found, notes } = fromOutside([...rows, banned(4)])
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
      assert.deepEqual(fromOutside([COMPANY, ...sent]).findings, [])
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
  assert.deepEqual(fromOutside(rows).findings, [])
})

test('verdict reset.as-delta - a pause as long as Reset is after 1970 is a finding, with a tolerance', () => {
  const reset = T0 / 1000 + 60
  for (const [unit, pause, tolerance] of [
    ['seconds', reset * 1000, MINUTE],
    ['ms', reset, 1_000],
  ] as const) {
    for (const [slip, expected] of [
      [-tolerance - 1, []],
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
  [[1000, 1000, 1000, 1000], 'constant'],
  [[1000, 1000, 1000, 1252], 'constant'],
  [[1000, 1000, 1000, 1253], 'grows'],
  [[4, 11, 3, 24], 'constant'],
  [[4, 11, 3, 26], 'grows'],
  [[80, 40, 95, 60], 'grows'],
  [[80, 40, 95, 60, 70, 30], 'constant'],
  [[10, 20, 40, 80], 'grows'],
  [[300, 600, 600, 600, 600, 600], 'grows'],
  [[330, 500, 500, 500], 'grows'],
  [[30_000, 60_000, 60_000, 60_000, 60_000, 60_000], 'grows'],
  [[1000, 1000, 5000, 1000, 1000, 1000], 'constant'],
  [[1000, 1000, 1000, 1000, 1000, 5000], 'grows'],
  [[5000, 4000, 3000, 2000], 'grows'],
  [[9000, 5000, 2900, 1700], 'constant'],
  [[5000, 4000, 3000, 3000], 'grows'],
  [[3000, 1000, 3000, 1000, 3000], 'grows'],
  [[3000, 1000, 3000, 1000, 3000, 1000], 'grows'],
  [[3001, 1000, 3001, 1000, 3001, 1000], 'grows'],
  [[1500, 1000, 1300, 1450, 1100, 1400], 'constant'],
  [[1500, 1000, 1300, 1500, 1100, 1400], 'grows'],
  [[3000, 1000, 2000, 3000, 1503, 3000], 'grows'],
  [[1000, 2000, 1000, 3000, 3000, 2000], 'grows'],
] as const) {
  test(`verdict backoff.constant - pauses of ${pauses.join(', ')} ms: ${verdict}`, () => {
    const rows = failures(pauses)
    assert.deepEqual(findings(rows), verdict === 'constant' ? ['backoff.constant'] : [])
  })
}

for (const cap of [2, 2.5, 3, 20]) {
  test(`verdict backoff.constant - decorrelated jitter up to ${cap} times its least pause is growth`, () => {
    const isFound = found(100, random => {
      let pause = 1000
      return () => {
        pause = Math.min(1000 * cap, 1000 + random() * (3 * pause - 1000))
        return pause
      }
    })
    assert.ok(isFound < 0.02, `${isFound}`)
  })
}

for (const jitter of [0, 0.02, 0.1]) {
  test(`verdict backoff.constant - a constant pause with ${100 * jitter} % of jitter is found`, () => {
    const isFound = found(100, random => () => 1000 * (1 - jitter + 2 * jitter * random()))
    assert.ok(isFound > 0.9, `${isFound}`)
  })
}

/** The share of runs in which such pauses are a finding, of those that do not stay at the cap throughout. */
function found(seeds: number, pauseOf: (random: () => number) => () => number): number {
  let [all, accused] = [0, 0]
  for (const length of [4, 5, 6, 8, 12, 20]) {
    for (let seed = 1; seed <= seeds; seed++) {
      const pause = pauseOf(randomFrom(seed * 31 + length))
      const pauses = repeat(length, () => ({ at: pause() })).map(({ at }) => at)
      const [first = 0] = pauses
      if (first > 1000 && pauses.every(one => one === first)) continue
      all++
      accused += findings(failures(pauses)).length
    }
  }
  return accused / all
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
  const six = only(failures([0.4, 1, 1, 1, 1, 1]))
  assert.equal(six.seen, '6 attempts at one request failed, 0, 1, 1, 1, 1, … ms apart')
  const many = only(failures(Array(30).fill(1000)))
  assert.match(many.seen, /^20 attempts at one request failed/)
  assert.equal(many.requests.length, 20)
})

test('verdict backoff.constant - applies to retryable failures without Retry-After', () => {
  for (const [failure, expected] of [
    [{ status: 429 }, ['backoff.constant']],
    [{ status: 599 }, ['backoff.constant']],
    [{ status: null, fault: 'reset' }, ['backoff.constant']],
    [{ status: 200, fault: 'truncate' }, ['backoff.constant']],
    [{ status: 200, fault: 'malformed' }, ['backoff.constant']],
    [{ status: null, fault: 'hang' }, []],
    [{ status: 499 }, []],
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
  assert.deepEqual(findings([POLL, ...failures([9000, 5000, 2900, 1700])]), ['backoff.constant'])
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

test('verdict - a request without a response is counted but not judged', () => {
  const { requestCount: requests, findings } = report([
    { at: 0, answeredAt: null, operation: 'getPet' },
  ])
  assert.deepEqual([requests, findings], [1, []])
  const hung = report([{ at: 0, answeredAt: null, operation: 'getPet', fault: 'hang' }])
  assert.equal(hung.findings.length, 1)
})

test('verdict - the evidence is the pair: the rejection, and what came too early after it', () => {
  const rows = [{ at: 0 }, { ...rejectedFor(0, 1), answeredAt: T0 + 30 }, { at: 50 }]
  const { seen, requests, shown, evidence } = only(rows)
  assert.equal(seen, '1 request came before Retry-After had passed')
  assert.deepEqual(evidence, [
    'request 3 came 0.02 s after request 2, which got 503 with Retry-After: 1',
  ])
  assert.deepEqual(
    [requests, shown.map(({ n, tooEarlyAfter }) => [n, tooEarlyAfter])],
    [
      [2, 3],
      [
        [2, null],
        [3, 2],
      ],
    ],
  )
  const text = reportText(report(rows))
  assert.match(text, /\n {4}evidence: request 3 came 0\.02 s after request 2, which got 503 with /)
})

test('verdict - a finding shows its first requests, of which long ones are cut', () => {
  const url = `/v1/pets?page=${'9'.repeat(200)}`
  const [finding] = report(repeat(9, at => ({ at, unknown: ['page'], url }))).findings
  assert.deepEqual(
    finding?.shown.map(({ n, url }) => [n, url.length, url.slice(0, 15)]),
    [1, 2, 3, 4].map(n => [n, 100, '/v1/pets?page=9']),
  )
  assert.equal(finding?.requests.length, 9)
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

function reportOn(exchanges: readonly Exchange[], now: number, isFromOutside = false): Report {
  const restored = { exchanges, received: exchanges.length }
  return createVerdict()
    .record(null, {
      now: () => now,
      restored,
      isFromOutside,
      take: () => ({ arrived: 0, ended: [] }),
    })
    .report()
}

/** Where others may use the key. */
function fromOutside(rows: readonly Row[]): Report {
  const exchanges = rows.map((row, index) => exchangeOf(row, index + 1))
  return reportOn(exchanges, T0 + DAY, true)
}

/** In a window of a minute; `second` after T0. */
function rejected(second: number, row: Partial<Row> = {}, until = 60): Row {
  return { ...waiting(second, until), code: 'rate_limit_exceeded', ...row }
}

/** By a ban until five minutes later. */
function banned(second: number, row: Partial<Row> = {}, until = 360): Row {
  return { ...waiting(second, until), code: 'api_key_banned', ...row }
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
    keyId: 'free',
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

/** A retry while a slow rejection is on its way, or after it. */
function slowRejection(at: number): Row[] {
  const headers = { 'retry-after': '10' }
  return [
    { at: 0, status: 429, headers, answeredAt: T0 + 500 },
    { at, answeredAt: T0 + 600 },
  ]
}

function rejectedFor(at: number, seconds: number, requestDigest = 'request'): Row {
  return { at, status: 503, headers: { 'retry-after': String(seconds) }, requestDigest }
}

function retriedTwice(status: number): Row[] {
  return [rejectedFor(0, 10), { at: 1_000, status }, { at: 2_000 }]
}

function others(count: number, pause = 10): Row[] {
  return repeat(count, at => ({ at: at * pause, requestDigest: `other ${at}` }))
}

/** The day is exhausted, so Reset is its end, and not that of the ban. */
function metBan(at: number): Row[] {
  const headers = { 'x-ratelimit-reset': String((T0 + DAY) / 1000) }
  const ban = { status: 429, code: 'api_key_banned', headers } as const
  return [
    { at: 0, ...ban, answeredAt: T0 + 2 },
    { at, ...ban, code: 'rate_limit_exceeded', answeredAt: T0 + 3 },
    { at: 3, ...ban },
  ]
}

function refusedAround(status: number): Row[] {
  return [
    ...repeat(3, at => ({ at, status: 400 })),
    { at: 4, status, requestDigest: 'other' },
    ...repeat(3, at => ({ at: at + 4, status: 400 })),
  ]
}

function refusedAmong(count: number): Row[] {
  return [
    ...repeat(4, at => ({ at, status: 400 })),
    ...repeat(count, at => ({ at, status: 400, requestDigest: `other ${at}` })),
    { at: 5_000, status: 400 },
  ]
}

function iso(at: number): string {
  return new Date(T0 + at).toISOString()
}
