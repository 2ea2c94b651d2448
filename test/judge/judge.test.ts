import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JudgeOptions, judge, VerdictError } from '../../adapters/judge/index.js'
import { judgeText } from '../../adapters/judge/report.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { rules } from './styles.js'

const T0 = Date.UTC(2030, 0, 1)
const BASE = 'https://store.test/v1'
const KEY = { authorization: 'Bearer some-key-of-mine' }

test('judge - a client of any server gets the verdict of the double', async () => {
  const double = createTestDouble({ baseUrl: BASE })
  const { fetch, report, assertPolite } = judge(double.fetch, { baseUrl: BASE, clock: () => T0 })
  const headers = { authorization: 'Bearer demo-free' }
  await fetch(`${BASE}/pets`, { headers })
  assertPolite()
  await fetch(`${BASE}/pets/1`, { headers })
  assert.deepEqual(rules(report().findings), ['deprecated.called'])
  assert.throws(assertPolite, (error: VerdictError) => {
    assert.ok(error instanceof VerdictError)
    assert.match(error.message, /deprecated\.called \(key 1, first at 2030/)
    return error.report.requests === 2
  })
})

test('judge - options are checked, and never show a password', () => {
  for (const [options, message] of [
    [{ baseUrl: 'https://me:secret@store.test/v1' }, /Expected `baseUrl` .*, got a string$/],
    [{ baseUrl: '/v1' }, /`baseUrl`/],
    [{ baseUrl: BASE, api: 'some' }, /Expected `api` to be one of 'any', got 'some'/],
    [{ baseUrl: BASE, clients: 0 }, /`clients`/],
    [{ baseUrl: BASE, allow: ['depricated.called'] }, /`allow\[0\]`/],
    [{ baseUrl: BASE, retries: 3 }, /Unknown option `retries`/],
  ] as const) {
    assert.throws(() => judge(fetch, options as unknown as JudgeOptions), { message })
  }
  assert.throws(() => judge('fetch' as never, { baseUrl: BASE }), { message: /`fetch`/ })
})

test('judge - other addresses pass unjudged: another origin, and another base path', async () => {
  const { fetch, report } = judge(answering(200), { baseUrl: BASE })
  for (const url of [
    'https://store.test/v2/pets/1',
    'https://store.test/v10/pets/1',
    'https://other.test/v1/pets/1',
    'http://store.test/v1/pets/1',
  ]) {
    await fetch(url, { headers: KEY })
  }
  assert.deepEqual([report().requests, report().findings], [0, []])
})

test('judge - a service that decides on nothing leaves nothing proven', async () => {
  const html = { 'content-type': 'text/html' }
  const services: readonly (readonly [behaviour: string, service: typeof fetch])[] = [
    ['is down', () => Promise.reject(new TypeError('fetch failed'))],
    ['has only a gateway', answering(503)],
    ['redirects', answering(301, { location: 'https://store.test/' })],
    ['is another web site', answering(404, html)],
    ['is another API', answering(404)],
    ['has an index page', answering(200, html)],
  ]
  for (const [behaviour, service] of services) {
    const { fetch, report, assertPolite } = judge(service, { baseUrl: BASE })
    await fetch(`${BASE}/pets`, { headers: KEY, redirect: 'manual' }).catch(() => {})
    assert.deepEqual([report().ok, report().requests, report().decided], [true, 1, 0], behaviour)
    assert.throws(assertPolite, /the service decided on no request/, behaviour)
  }
  const { assertPolite } = judge(answering(200), { baseUrl: BASE })
  assert.throws(assertPolite, /no requests arrived/)
})

test('judge - requests that are never sent are not counted', async () => {
  const { fetch, report } = judge(globalThis.fetch, { baseUrl: BASE })
  const signal = AbortSignal.abort()
  await assert.rejects(fetch(`${BASE}/pets`, { signal }), { name: 'AbortError' })
  await assert.rejects(fetch('nowhere'), TypeError)
  await assert.rejects(fetch(`${BASE}/pets`, { headers: { 'not a name': '' } }), TypeError)
  assert.equal(report().requests, 0)
})

test('judge - a failed service is never held against its client', async () => {
  let now = T0
  const refuse: typeof fetch = () => Promise.reject(new TypeError('fetch failed'))
  const { fetch, report } = judge(refuse, { baseUrl: BASE, clock: () => now })
  const send = (pause: number) => {
    now += pause
    return fetch(`${BASE}/pets`, { headers: KEY }).catch(() => {})
  }
  for (const pause of [0, 1_000, 2_000, 4_000, 8_000]) await send(pause)
  assert.deepEqual([report().findings, report().notes, report().unanswered], [[], [], 5])
  assert.match(judgeText(report()), /: 5 of 5 requests got no response/)
})

test('judge key.refused - a note for a key that had been accepted', async () => {
  let status = 200
  const { fetch, report } = judge((...call) => answering(status)(...call), { baseUrl: BASE })
  const send = (key: string) =>
    fetch(`${BASE}/pets`, { headers: { authorization: `Bearer ${key}` } })
  await send('one')
  status = 401
  await send('one')
  assert.deepEqual([rules(report().findings), rules(report().notes)], [[], ['key.refused']])
  assert.equal(report().notes[0]?.key, '1')
  await send('two')
  assert.deepEqual(
    report().findings.map(({ rule, key }) => [rule, key]),
    [['key.refused', null]],
  )
})

test('judge key.refused - a key that was only rejected with 429 was never accepted', async () => {
  let status = 429
  const { fetch, report } = judge((...call) => answering(status)(...call), { baseUrl: BASE })
  await fetch(`${BASE}/pets`, { headers: KEY })
  status = 401
  await fetch(`${BASE}/pets`, { headers: KEY })
  assert.deepEqual([rules(report().findings), rules(report().notes)], [['key.refused'], []])
})

test('judge ban.risked - certain with as many rejections as ban a key of its plan, or one client', async () => {
  const limit = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'retry-after': '30' }
  for (const [rejections, clients, certain] of [
    [30, undefined, true],
    [29, undefined, false],
    [2, 1, true],
    [2, 2, false],
  ] as const) {
    let sent = 0
    const service: typeof fetch = async () => {
      const code = ++sent > rejections ? 'api_key_banned' : 'rate_limit_exceeded'
      return Response.json({ code, message: '', status: 429 }, { status: 429, headers: limit })
    }
    const options = { baseUrl: BASE, clock: () => T0, ...(clients && { clients }) }
    const { fetch, report } = judge(service, options)
    while (sent <= rejections) await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
    const { findings, notes } = report()
    const found = [rules(findings).includes('ban.risked'), rules(notes).includes('ban.risked')]
    assert.deepEqual(found, [certain, !certain], `${rejections} rejections, ${clients} clients`)
  }
})

test('judge - early retries count whether or not a ban that others may have caused follows', async () => {
  const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' }
  for (const [banAfter, clients, expected, noted] of [
    [Infinity, undefined, ['retry-after.early'], []],
    [8, undefined, ['retry-after.early'], ['ban.risked']],
    [8, 2, ['retry-after.early'], ['ban.risked']],
    [8, 1, ['ban.risked'], []],
  ] as const) {
    let [now, sent] = [T0, 0]
    const service: typeof fetch = async () => {
      const isBanned = ++sent > banAfter
      const headers = {
        ...limits,
        'x-ratelimit-reset': String(T0 / 1_000 + (isBanned ? 360 : 60)),
        'retry-after': isBanned ? '360' : '60',
      }
      const code = isBanned ? 'api_key_banned' : 'rate_limit_exceeded'
      return Response.json({ code, message: '', status: 429 }, { status: 429, headers })
    }
    const options = { baseUrl: BASE, clock: () => now, ...(clients && { clients }) }
    const { fetch, report } = judge(service, options)
    for (let count = 0; count < 12; count++) {
      await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
      now += 150
    }
    const { findings, notes } = report()
    assert.deepEqual([rules(findings), rules(notes)], [expected, noted], `${banAfter}, ${clients}`)
  }
})

test('judge - a client that waits is not to blame for the ban that another one causes', async () => {
  for (const [pause, expected] of [
    [300_000, []],
    [5_000, ['retry-after.early']],
  ] as const) {
    let now = T0
    const answers = [
      ['rate_limit_exceeded', 5],
      ['api_key_banned', 300],
    ] as const
    let sent = 0
    const service: typeof fetch = async () => {
      const [code, seconds] = answers[Math.min(sent++, 1)] ?? answers[0]
      const headers = {
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(now / 1_000 + seconds),
        'retry-after': String(seconds),
      }
      return Response.json({ code, message: '', status: 429 }, { status: 429, headers })
    }
    const { fetch, report } = judge(service, { baseUrl: BASE, clock: () => now })
    for (const wait of [5_000, pause, 0]) {
      await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
      now += wait
    }
    const { findings, notes } = report()
    assert.deepEqual([rules(findings), rules(notes)], [expected, ['ban.risked']], `${pause} ms`)
  }
})

test('judge create.repeated - also where no response came', async () => {
  for (const [key, noted] of [
    [undefined, ['create.repeated']],
    ['once', []],
  ] as const) {
    let sent = 0
    const service: typeof fetch = async (...call) => {
      if (++sent === 1) throw new TypeError('fetch failed')
      return answering(201, { location: '/v1/pets/7' })(...call)
    }
    const { fetch, report } = judge(service, { baseUrl: BASE })
    const headers = { ...KEY, ...(key && { 'idempotency-key': key }) }
    const body = '{"name":"Ada","categoryId":1}'
    const create = () => fetch(`${BASE}/pets`, { method: 'POST', headers, body })
    await create().catch(() => {})
    await create()
    assert.deepEqual(rules(report().notes), noted)
    if (key) continue
    assert.match(report().notes[0]?.seen ?? '', /it is stored as 7, and may have been before$/)
  }
})

test('judge - without Retry-After, a rejection asks to wait until its Reset', async () => {
  const rejected = { code: 'rate_limit_exceeded', message: 'Wait.', status: 429 }
  for (const [pause, expected] of [
    [50, ['remaining.ignored']],
    [60_000, []],
  ] as const) {
    let now = T0
    const service = async () => {
      const reset = Math.floor(now / 60_000) * 60 + 60
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) }
      return Response.json(rejected, { status: 429, headers })
    }
    const { fetch, report } = judge(service, { baseUrl: BASE, clock: () => now })
    for (let n = 0; n < 10; n++) {
      await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
      now += pause
    }
    assert.deepEqual(rules(report().findings), expected)
  }
})

test('judge - a Reset that is over does not cut Retry-After short', async () => {
  let now = T0
  const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(T0 / 1_000 - 1) }
  const service = answering(429, { ...reset, 'retry-after': '60' })
  const { fetch, report } = judge(service, { baseUrl: BASE, clock: () => now })
  for (let n = 0; n < 10; n++) {
    await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
    now += 1_000
  }
  assert.deepEqual(rules(report().findings), ['retry-after.early'])
})

test('judge - a Reset that comes long before the end of Retry-After does not end the wait', async () => {
  const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(T0 / 1_000 + 2) }
  for (const status of [429, 503]) {
    let now = T0
    const service = answering(status, { ...reset, 'retry-after': '120' })
    const options = { baseUrl: BASE, clients: 1, clock: () => now }
    const { fetch, report } = judge(service, options)
    await fetch(`${BASE}/pets`, { headers: KEY })
    now += 2_500
    await fetch(`${BASE}/pets`, { headers: KEY })
    assert.deepEqual(rules(report().findings), ['retry-after.early'], String(status))
  }
})

test('judge - a client may come at Reset, by the clock of the service or one that agrees with it', async () => {
  const end = T0 + 60_000
  for (const skew of [-3_600_000, -2_500, -1_500, -500, 0, 500, 1_500, 2_500, 3_600_000]) {
    for (const decided of [500, 1, 0, 999].map(ms => T0 + 40_000 + ms)) {
      for (const latency of [0, 300]) {
        let now = decided - skew + latency
        const service = answering(429, {
          date: new Date(decided).toUTCString(),
          'retry-after': String(Math.ceil((end - decided) / 1_000)),
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': String(end / 1_000),
        })
        const options = { baseUrl: BASE, clients: 1, clock: () => now }
        const { fetch, report } = judge(service, options)
        await fetch(`${BASE}/pets`, { headers: KEY })
        const agrees = Math.abs(now - Math.floor(decided / 1_000) * 1_000) <= 2_000
        now = agrees ? end : end - skew
        await fetch(`${BASE}/pets`, { headers: KEY })
        assert.deepEqual(report().findings, [], `${skew} ms, decided at ${decided}, ${latency} ms`)
      }
    }
  }
})

test('judge - a response that is no JSON decides nothing', async () => {
  const service = async () =>
    new Response('<html>', { headers: { 'content-type': 'application/json' } })
  const { fetch, report } = judge(service, { baseUrl: BASE })
  await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
  assert.deepEqual([report().requests, report().decided], [1, 0])
})

test('judge - an error whose body is not JSON decides nothing, but its Retry-After counts', async () => {
  const limits = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(T0 / 1_000 + 60) }
  const headers = { ...limits, 'content-type': 'application/json', 'retry-after': '60' }
  for (const status of [429, 503]) {
    for (const body of ['', 'Too many requests', '{"code":"rate_limit_']) {
      for (const [pause, expected] of [
        [300, ['retry-after.early']],
        [60_000, []],
      ] as const) {
        let now = T0
        const service = async () => new Response(body, { status, headers })
        const { fetch, report } = judge(service, { baseUrl: BASE, clock: () => now })
        for (let n = 0; n < 3; n++) {
          await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
          now += pause
        }
        const { findings, notes, decided } = report()
        assert.deepEqual([rules(findings), notes, decided], [expected, [], 0], `${status} ${body}`)
      }
    }
  }
})

test('judge - a refusal whose body is no JSON is final, and one without Retry-After a failure', async () => {
  for (const [status, expected] of [
    [400, ['refusal.repeated']],
    [500, ['backoff.constant']],
    [429, ['backoff.constant']],
  ] as const) {
    let now = T0
    const headers = { 'content-type': 'application/json' }
    const service = async () => new Response('Oops', { status, headers })
    const { fetch, report } = judge(service, { baseUrl: BASE, clock: () => now })
    for (let n = 0; n < 6; n++) {
      await (await fetch(`${BASE}/pets`, { headers: KEY })).text()
      now += 1_000
    }
    now += 60_000
    assert.deepEqual(rules(report().findings), expected, String(status))
  }
})

test('judge - allow and assertPolite({ notes }) are those of the double', async () => {
  let status = 200
  const allow = ['deprecated.called'] as const
  const service: typeof fetch = (...call) => answering(status)(...call)
  const { fetch, report, assertPolite } = judge(service, { baseUrl: BASE, allow })
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
  for (const [pagination, expected] of [
    [false, ['name.unknown']],
    [true, []],
  ] as const) {
    const { fetch, report } = judge(answering(200), { baseUrl: BASE, pagination })
    await fetch(`${BASE}/pets?after=2`, { headers: KEY })
    assert.deepEqual(rules(report().findings), expected)
  }
})

test('judge - reports number the keys and never show them', async () => {
  const { fetch, report } = judge(answering(404), { baseUrl: BASE })
  for (const key of ['first-key-of-mine', 'other-key-of-mine']) {
    const headers = { authorization: `Bearer ${key}` }
    for (let count = 0; count < 6; count++) await fetch(`${BASE}/${key}?x=${key}`, { headers })
  }
  assert.deepEqual(
    report().findings.map(({ key }) => key),
    ['1', '2'],
  )
  assert.doesNotMatch(JSON.stringify(report()), /of-mine/)
})

test('judge retry-after.early - after the wait, the later of two equal requests may be answered first', async () => {
  let now = T0
  const wait = { 'retry-after': '30' }
  const answers: ((response: Promise<Response>) => void)[] = []
  const service: typeof fetch = () => new Promise(resolve => void answers.push(resolve))
  const { fetch, report } = judge(service, { baseUrl: BASE, clients: 1, clock: () => now })
  const send = (query: string) => fetch(`${BASE}/pets${query}`, { headers: KEY })
  const answer = async (number: number, status: number, headers = {}) => {
    answers[number]?.(answering(status, headers)(BASE))
    await new Promise(setImmediate)
    now += 1_000
  }
  void send('')
  await answer(0, 429, wait)
  now += 60_000
  for (const query of ['?limit=1', '', '']) {
    void send(query)
    now += 5_000
  }
  await answer(3, 200)
  await answer(1, 429, wait)
  await answer(2, 200)
  assert.deepEqual(report().findings, [])
})

test("judge - with api: 'any', the rules that need only headers apply to any path and caller", async () => {
  let now = T0
  const limits = { 'retry-after': '30', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' }
  const rejected = answering(429, limits)
  const { fetch, report } = judge(rejected, { baseUrl: BASE, api: 'any', clock: () => now })
  const send = () => fetch(`${BASE}/orders?page=2`, { headers: { 'x-api-key': 'k' } })
  for (let count = 0; count < 3; count++) await send()
  assert.deepEqual(rules(report().findings), ['retry-after.early'])
  now += 30_000
  await send()
  assert.deepEqual(report().findings[0]?.requests, [2, 3])
})

test("judge - with api: 'any', nothing that only this API knows is held against a client", async () => {
  for (const service of [answering(401), answering(404), answering(400)]) {
    const { fetch, report } = judge(service, { baseUrl: BASE, api: 'any', clock: () => T0 })
    for (let count = 0; count < 8; count++) await fetch(`${BASE}/pets/1?page=2`)
    assert.deepEqual([report().findings, report().notes, report().decided], [[], [], 8])
  }
})

test("judge - with api: 'any', Reset may be seconds, an instant in seconds or one in ms", async () => {
  for (const [reset, waited] of [
    ['40', 40_000],
    [`${T0 / 1_000 + 40}`, 40_000],
    [`${T0 + 40_000}`, 40_000],
  ] as const) {
    for (const [pause, expected] of [
      [waited, []],
      [waited - 2_000, ['retry-after.early']],
    ] as const) {
      let now = T0
      const headers = {
        'retry-after': '41',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': reset,
      }
      const options = { baseUrl: BASE, api: 'any', clients: 1, clock: () => now } as const
      const { fetch, report } = judge(answering(429, headers), options)
      await fetch(`${BASE}/orders`)
      now += pause
      await fetch(`${BASE}/orders`)
      assert.deepEqual(rules(report().findings), expected, `${reset} after ${pause} ms`)
    }
  }
})

test('judge - a service whose clock is wrong means its own instants', async () => {
  for (const skew of [0, 3_600_000, -3_600_000]) {
    for (const [pause, expected] of [
      [20_000, []],
      [15_000, ['retry-after.early']],
    ] as const) {
      let now = T0
      const headers = {
        date: new Date(T0 + skew).toUTCString(),
        'retry-after': new Date(T0 + skew + 20_000).toUTCString(),
      }
      const options = { baseUrl: BASE, clients: 1, clock: () => now } as const
      const { fetch, report } = judge(answering(429, headers), options)
      await fetch(`${BASE}/pets`, { headers: KEY })
      now += pause
      await fetch(`${BASE}/pets`, { headers: KEY })
      assert.deepEqual(rules(report().findings), expected, `${skew} ms, after ${pause} ms`)
    }
  }
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
  for (const [suffix, expected] of [
    [() => '', ['refusal.repeated']],
    [(at: number) => `${at}`, []],
  ] as const) {
    const { fetch, report } = judge(reading(answering(400)), { baseUrl: BASE, clock: () => T0 })
    const calls = bodies.map((bodyOf, at) => {
      const body = bodyOf(`{"name":"Ada${suffix(at)}"}`)
      return { method: 'POST', headers: KEY, body, duplex: 'half' } as RequestInit
    })
    for (const init of calls) await fetch(`${BASE}/pets`, init)
    await fetch(new Request(`${BASE}/pets`, { ...calls[0], body: `{"name":"Ada${suffix(9)}"}` }))
    assert.deepEqual(rules(report().findings), expected)
    if (expected.length > 0) assert.equal(report().findings[0]?.requests.length, 7)
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
  for (const [isGivenUp, expected] of [
    [true, ['retry-after.early']],
    [false, []],
  ] as const) {
    const patience = new AbortController()
    const headers = { 'content-type': 'application/json', 'retry-after': '30' }
    const service: typeof fetch = async () => {
      const cut = new ReadableStream({
        pull(controller) {
          controller.error(isGivenUp ? patience.signal.reason : new TypeError('terminated'))
        },
      })
      return new Response(cut, { status: 429, headers })
    }
    const options = { baseUrl: BASE, clock: () => T0, clients: 1 }
    const { fetch, report } = judge(service, options)
    for (let count = 0; count < 3; count++) {
      const { signal } = patience
      const response = await fetch(`${BASE}/pets`, {
        headers: KEY,
        ...(isGivenUp && { signal: count === 0 ? signal : new AbortController().signal }),
      })
      if (isGivenUp) patience.abort()
      await assert.rejects(response.text())
      if (!isGivenUp) continue
      // The next one is another call, whose body is not read.
      await fetch(`${BASE}/pets`, { headers: KEY })
      break
    }
    assert.deepEqual(rules(report().findings), expected)
  }
})

/** A service that gives every request the same response: JSON, unless its headers say otherwise. */
function answering(status: number, headers: Record<string, string> = {}): typeof fetch {
  return async () =>
    new Response('{}', { status, headers: { 'content-type': 'application/json', ...headers } })
}
