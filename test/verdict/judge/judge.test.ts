import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import {
  type JudgeOptions,
  judge,
  type RuleId,
  VerdictError,
} from '../../../adapters/verdict/judge/index.js'
import { rules } from './styles.js'

const T0 = Date.UTC(2030, 0, 1)
const BASE = 'https://store.test/v1'
const KEY = { authorization: 'Bearer some-key-of-mine' }

test('judge - a client of any server gets the verdict of the double', async () => {
  const double = createTestDouble({ baseUrl: BASE })
  const { fetch, report, assertPolite } = judge({
    fetch: double.fetch,
    baseUrl: BASE,
    clock: () => T0,
  })
  const headers = { authorization: 'Bearer demo-free' }
  await fetch(`${BASE}/pets`, { headers })
  assertPolite()
  await fetch(`${BASE}/pets/1`, { headers })
  assert.deepEqual(rules(report().findings), ['deprecated.called'])
  assert.throws(assertPolite, (error: VerdictError) => {
    assert.ok(error instanceof VerdictError)
    assert.match(error.message, /deprecated\.called \(key 1, first at 2030/)
    return error.report.requestCount === 2
  })
})

test('judge - options are checked, and never show a password', () => {
  for (const [options, message] of [
    [{ baseUrl: 'https://me:secret@store.test/v1' }, /Expected `baseUrl` .*, got a string$/],
    [{ baseUrl: BASE, allow: ['depricated.called'] }, /`allow\[0\]`/],
    [{ baseUrl: BASE, retries: 3 }, /Unknown option `retries`/],
  ] as const) {
    assert.throws(() => judge({ fetch, ...options } as unknown as JudgeOptions), { message })
  }
  assert.throws(() => judge({ fetch: 'fetch' as never, baseUrl: BASE }), { message: /`fetch`/ })
})

test('judge - other addresses pass unjudged, and requests that are never sent are not counted', async () => {
  const { fetch, report } = judge({ fetch: answering(200), baseUrl: BASE })
  for (const url of [
    'https://store.test/v2/pets/1',
    'https://store.test/v10/pets/1',
    'https://other.test/v1/pets/1',
    'http://store.test/v1/pets/1',
  ]) {
    await fetch(url, { headers: KEY })
  }
  assert.deepEqual([report().requestCount, report().findings], [0, []])
  const real = judge({ fetch: globalThis.fetch, baseUrl: BASE })
  const signal = AbortSignal.abort()
  await assert.rejects(real.fetch(`${BASE}/pets`, { signal }), { name: 'AbortError' })
  await assert.rejects(real.fetch('nowhere'), TypeError)
  await assert.rejects(real.fetch(`${BASE}/pets`, { headers: { 'not a name': '' } }), TypeError)
  assert.equal(real.report().requestCount, 0)
})

test('judge - a service that decides on nothing leaves nothing proven', async () => {
  const html = { 'content-type': 'text/html' }
  const noJson = async () =>
    new Response('<html>', { headers: { 'content-type': 'application/json' } })
  const services: readonly (readonly [behaviour: string, service: typeof fetch])[] = [
    ['is down', () => Promise.reject(new TypeError('fetch failed'))],
    ['has only a gateway', answering(503)],
    ['redirects', answering(301, { location: 'https://store.test/' })],
    ['is another web site', answering(404, html)],
    ['is another API', answering(404)],
    ['has an index page', answering(200, html)],
    ['sends no JSON', noJson],
  ]
  for (const [behaviour, service] of services) {
    const { fetch, report, assertPolite } = judge({ fetch: service, baseUrl: BASE })
    const response = fetch(`${BASE}/pets`, { headers: KEY, redirect: 'manual' })
    await response.then(got => got.text()).catch(() => {})
    assert.deepEqual(
      [report().ok, report().requestCount, report().decided],
      [true, 1, 0],
      behaviour,
    )
    assert.throws(assertPolite, /the service decided on no request/, behaviour)
  }
  const { assertPolite } = judge({ fetch: answering(200), baseUrl: BASE })
  assert.throws(assertPolite, /no request was for the base URL/)
})

test('judge key.refused - a finding for a key that was never accepted, a note for one that was', async () => {
  let status = 200
  const { fetch, report } = judge({ fetch: (...call) => answering(status)(...call), baseUrl: BASE })
  const send = async (key: string, answer: number) => {
    status = answer
    await fetch(`${BASE}/pets`, { headers: { authorization: `Bearer ${key}` } })
  }
  await send('one', 200)
  await send('one', 401)
  assert.deepEqual([rules(report().findings), rules(report().notes)], [[], ['key.refused']])
  assert.equal(report().notes[0]?.keyId, '1')
  // A 429 comes before a 401.
  await send('two', 429)
  await send('two', 401)
  assert.deepEqual(
    report().findings.map(({ rule, keyId }) => [rule, keyId]),
    [['key.refused', null]],
  )
})

for (const [rejections, clients, finds, notes] of [
  [30, undefined, ['ban.risked'], []],
  [29, undefined, ['retry-after.early'], ['ban.risked']],
  [2, 1, ['ban.risked'], []],
  [2, 2, ['retry-after.early'], ['ban.risked']],
] as const) {
  const service = (n: number) => rejected({ limit: 60, retryAfter: 30, isBan: n > rejections })
  const behaviour = `was banned after ${rejections} rejections, as one of ${clients ?? 'some'} clients`
  judged(behaviour, times(rejections + 1, 0), service, finds, { notes, clients })
}

for (const [banAfterRejections, clients, finds, notes] of [
  [Number.POSITIVE_INFINITY, undefined, ['retry-after.early'], []],
  [8, undefined, ['retry-after.early'], ['ban.risked']],
  [8, 2, ['retry-after.early'], ['ban.risked']],
  [8, 1, ['ban.risked'], []],
] as const) {
  const service = (n: number) => {
    const [isBan, retryAfter] = n > banAfterRejections ? [true, 360] : [false, 60]
    return rejected({ limit: 60, retryAfter, reset: T0 / 1_000 + retryAfter, isBan })
  }
  const behaviour = `is early, and banned after ${banAfterRejections}, as one of ${clients ?? 'some'} clients`
  judged(behaviour, times(12, 150), service, finds, { notes, clients })
}

for (const [pause, finds] of [
  [300_000, []],
  [5_000, ['retry-after.early']],
] as const) {
  const service = (n: number, now: number) => {
    const retryAfter = n > 1 ? 300 : 5
    return rejected({ limit: 60, retryAfter, reset: now / 1_000 + retryAfter, isBan: n > 1 })
  }
  const behaviour = `is banned because of another client, and waits ${pause} ms`
  judged(behaviour, [5_000, pause, 0], service, finds, { notes: ['ban.risked'] })
}

for (const [pause, finds] of [
  [50, ['remaining.ignored']],
  [60_000, []],
] as const) {
  const service = (_: number, now: number) =>
    rejected({ reset: Math.floor(now / 60_000) * 60 + 60 })
  judged(
    `gets a Reset without Retry-After, and waits ${pause} ms`,
    times(10, pause),
    service,
    finds,
  )
}

judged(
  'waits for a Reset that is over, and not for Retry-After',
  times(10, 1_000),
  () => rejected({ retryAfter: 60, reset: T0 / 1_000 - 1 }),
  ['retry-after.early'],
)

for (const status of [429, 503]) {
  judged(
    `waits for a Reset long before the end of the Retry-After of a ${status}`,
    [2_500, 0],
    () => rejected({ status, retryAfter: 120, reset: T0 / 1_000 + 2 }),
    ['retry-after.early'],
    { clients: 1 },
  )
  for (const [pause, finds] of [
    [300, ['retry-after.early']],
    [60_000, []],
  ] as const) {
    const service = () =>
      rejected({ status, retryAfter: 60, reset: T0 / 1_000 + 60, body: '{"code":"rate_limit_' })
    const behaviour = `gets a ${status} whose body is no JSON, and waits ${pause} ms`
    judged(behaviour, times(3, pause), service, finds, { decided: 0 })
  }
}

for (const [status, rule] of [
  [400, 'refusal.repeated'],
  [500, 'backoff.constant'],
  [429, 'backoff.constant'],
] as const) {
  const behaviour = `repeats a ${status} whose body is no JSON every second`
  judged(behaviour, [...times(5, 1_000), 61_000], () => json('Oops', status), [rule])
}

for (const [missing, finds] of [
  [0, []],
  [2_000, ['retry-after.early']],
] as const) {
  for (const skew of [0, 3_600_000, -3_600_000]) {
    const behaviour = `comes ${missing} ms before a date of a service whose clock is ${skew} ms ahead`
    const service = () =>
      rejected({ retryAfter: dateOf(T0 + skew + 20_000), date: dateOf(T0 + skew) })
    judged(behaviour, [20_000 - missing, 0], service, finds, { clients: 1 })
  }
}

interface Expected extends Omit<Partial<JudgeOptions>, 'baseUrl' | 'clock'> {
  readonly notes?: readonly RuleId[]
  readonly decided?: number
}

/**
 * A test with a client that sends one request after the other.
 *
 * @param pauses in ms, after each request
 * @param service what the n-th request gets at this time
 */
function judged(
  behaviour: string,
  pauses: readonly number[],
  service: (n: number, now: number) => Response,
  finds: readonly RuleId[],
  { notes = [], decided, ...options }: Expected = {},
): void {
  test(`judge - ${finds.join() || 'nothing'} for a client that ${behaviour}`, async () => {
    let [now, n] = [T0, 0]
    const given = { baseUrl: BASE, clock: () => now, ...options }
    const { fetch, report } = judge({ fetch: async () => service(++n, now), ...given })
    for (const pause of pauses) {
      await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
      now += pause
    }
    assert.deepEqual([rules(report().findings), rules(report().notes)], [finds, notes])
    if (decided !== undefined) assert.equal(report().decided, decided)
  })
}

test('judge - the text shows the evidence: the pair of requests, and what the API said', async () => {
  let [now, n] = [T0, 0]
  const service = async () =>
    ++n < 3 ? rejected({ status: 503, retryAfter: 1 }) : json('{"message":"Try /v2"}', 400)
  const options = { baseUrl: BASE, clients: 1, clock: () => now }
  const { fetch, assertPolite } = judge({ fetch: service, ...options })
  for (let count = 0; count < 9; count++) {
    await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
    now += 20
  }
  const early = /request 2 came 0\.02 s after request 1, which got 503 with Retry-After: 1/
  assert.throws(assertPolite, { message: early })
  assert.throws(assertPolite, { message: /rejected with 400: "Try \/v2"/ })
})

test('judge create.repeated - also where no response came', async () => {
  for (const key of [undefined, 'once']) {
    let sent = 0
    const service: typeof fetch = async (...call) => {
      if (++sent === 1) throw new TypeError('fetch failed')
      return answering(201, { location: '/v1/pets/7' })(...call)
    }
    const { fetch, report } = judge({ fetch: service, baseUrl: BASE })
    const headers = { ...KEY, ...(key && { 'idempotency-key': key }) }
    const body = '{"name":"Ada","categoryId":1}'
    const create = () => fetch(`${BASE}/pets`, { method: 'POST', headers, body })
    await create().catch(() => {})
    await create()
    assert.deepEqual(rules(report().notes), key ? [] : ['create.repeated'])
    if (key) continue
    assert.match(report().notes[0]?.seen ?? '', /it is stored as 7, and may have been before$/)
  }
})

test('judge - a client may come at Reset, by the clock of the service or one that agrees with it', async () => {
  const end = T0 + 60_000
  for (const skew of [-3_600_000, -2_500, -1_500, -500, 0, 500, 1_500, 2_500, 3_600_000]) {
    for (const decided of [500, 1, 0, 999].map(ms => T0 + 40_000 + ms)) {
      for (const latency of [0, 300]) {
        let now = decided - skew + latency
        const retryAfter = Math.ceil((end - decided) / 1_000)
        const answer = { retryAfter, reset: end / 1_000, date: dateOf(decided) }
        const options = { baseUrl: BASE, clients: 1, clock: () => now }
        const { fetch, report } = judge({ fetch: async () => rejected(answer), ...options })
        await fetch(`${BASE}/pets`, { headers: KEY })
        const agrees = Math.abs(now - Math.floor(decided / 1_000) * 1_000) <= 2_000
        now = agrees ? end : end - skew
        await fetch(`${BASE}/pets`, { headers: KEY })
        assert.deepEqual(report().findings, [], `${skew} ms, decided at ${decided}, ${latency} ms`)
      }
    }
  }
})

test('judge - allow and assertPolite({ notes }) are those of the double', async () => {
  let status = 200
  const allow = ['deprecated.called'] as const
  const service: typeof fetch = (...call) => answering(status)(...call)
  const { fetch, report, assertPolite } = judge({ fetch: service, baseUrl: BASE, allow })
  await fetch(`${BASE}/pets/1`, { headers: KEY })
  assert.equal(report().findings[0]?.allowed, true)
  assertPolite({ notes: true })
  status = 401
  await fetch(`${BASE}/pets`, { headers: KEY })
  assertPolite()
  assert.throws(() => assertPolite({ notes: true }), VerdictError)
  assert.throws(() => assertPolite({ notes: 1 as never }), { name: 'OptionError' })
})

test('judge - `after` is unknown, unless the service has pagination', async () => {
  for (const pagination of [false, true]) {
    const { fetch, report } = judge({ fetch: answering(200), baseUrl: BASE, pagination })
    await fetch(`${BASE}/pets?after=2`, { headers: KEY })
    assert.deepEqual(rules(report().findings), pagination ? [] : ['name.unknown'])
  }
})

test('judge retry-after.early - after the wait, the later of two equal requests may be answered first', async () => {
  let now = T0
  const answers: ((response: Response) => void)[] = []
  const service: typeof fetch = () => new Promise(resolve => void answers.push(resolve))
  const { fetch, report } = judge({ fetch: service, baseUrl: BASE, clients: 1, clock: () => now })
  const send = async (query: string) => {
    void fetch(`${BASE}/pets${query}`, { headers: KEY })
    await new Promise(setImmediate)
  }
  const answer = async (number: number, response: Response) => {
    answers[number]?.(response)
    await new Promise(setImmediate)
    now += 1_000
  }
  await send('')
  await answer(0, rejected({ retryAfter: 30 }))
  now += 60_000
  for (const query of ['?limit=1', '', '']) {
    await send(query)
    now += 5_000
  }
  await answer(3, json('[]', 200))
  await answer(1, rejected({ retryAfter: 30 }))
  await answer(2, json('[]', 200))
  assert.deepEqual(report().findings, [])
})

test('judge - equal requests are known by their bodies, in whatever form fetch gets them', async () => {
  const bodies: readonly ((text: string) => unknown)[] = [
    text => text,
    text => new TextEncoder().encode(text),
    text => new TextEncoder().encode(text).buffer,
    text => new Blob([text]),
    text => new Blob([text]).stream(),
    text => inPieces(text),
  ]
  for (const isEqual of [true, false]) {
    const suffix = (at: number) => (isEqual ? '' : `${at}`)
    const { fetch, report } = judge({
      fetch: reading(answering(400)),
      baseUrl: BASE,
      clock: () => T0,
    })
    const calls = bodies.map((bodyOf, at) => {
      const body = bodyOf(`{"name":"Ada${suffix(at)}"}`)
      return { method: 'POST', headers: KEY, body, duplex: 'half' } as RequestInit
    })
    for (const init of calls) await fetch(`${BASE}/pets`, init)
    await fetch(new Request(`${BASE}/pets`, { ...calls[0], body: `{"name":"Ada${suffix(9)}"}` }))
    assert.deepEqual(rules(report().findings), isEqual ? ['refusal.repeated'] : [])
    if (isEqual) assert.equal(report().findings[0]?.requests.length, 7)
  }
})

async function* inPieces(text: string) {
  for (const character of text) yield new TextEncoder().encode(character)
}

/** Reads the body of each request to its end, as the network does. */
function reading(service: typeof fetch): typeof fetch {
  return async (input, init) => {
    await new Request(input, init).arrayBuffer()
    return service(input, init)
  }
}

test('judge - a rejection whose body the client gives up on still counts, one that is cut off does not', async () => {
  for (const isGivenUp of [true, false]) {
    const patience = new AbortController()
    const service: typeof fetch = async () => {
      const cut = new ReadableStream({
        pull: controller =>
          controller.error(isGivenUp ? patience.signal.reason : new TypeError('terminated')),
      })
      return json(cut, 429, { 'retry-after': '30' })
    }
    const { fetch, report } = judge({ fetch: service, baseUrl: BASE, clock: () => T0, clients: 1 })
    const { signal } = isGivenUp ? patience : new AbortController()
    const response = await fetch(`${BASE}/pets`, { headers: KEY, signal })
    if (isGivenUp) patience.abort()
    await assert.rejects(response.text())
    // Its body is not read.
    await fetch(`${BASE}/pets`, { headers: KEY })
    assert.deepEqual(rules(report().findings), isGivenUp ? ['retry-after.early'] : [])
  }
})

interface Rejection {
  readonly status?: number
  readonly retryAfter?: number | string
  readonly reset?: number | string
  readonly limit?: number
  readonly date?: string
  readonly isBan?: boolean
  readonly body?: string
}

function rejected({ status = 429, retryAfter, reset, limit, date, isBan, body }: Rejection) {
  const code = isBan ? 'api_key_banned' : 'rate_limit_exceeded'
  const headers = {
    'retry-after': retryAfter,
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': 0,
    'x-ratelimit-reset': reset,
    date,
  }
  const sent = Object.entries(headers).filter(([, value]) => value !== undefined)
  const fields = Object.fromEntries(sent) as Record<string, string>
  return json(body ?? JSON.stringify({ code, message: 'Wait.', status }), status, fields)
}

/** A service that gives every request the same response: JSON, unless its headers say otherwise. */
function answering(status: number, headers: Record<string, string> = {}): typeof fetch {
  return async () => json('{}', status, headers)
}

function json(
  body: string | ReadableStream,
  status: number,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } })
}

function times(count: number, ms: number): readonly number[] {
  return Array.from({ length: count }, () => ms)
}

function dateOf(ms: number): string {
  return new Date(ms).toUTCString()
}
