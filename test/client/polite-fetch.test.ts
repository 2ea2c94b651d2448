import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type LimitHeaders,
  OptionError,
  type PoliteFetchOptions,
  politeFetch,
  RateLimitError,
} from '../../adapters/client/index.js'
import { readLimitsOf } from '../../adapters/client/limit-headers.js'
import type { Policy } from '../../src/index.js'
import { answering, createClientServer, hang, perMinute, reset, T0 } from './client-server.js'
import { runFleet } from './fleet.js'

const PETS = 'http://store.test/v1/pets'
const headers = { authorization: 'Bearer key' }

/** What other servers send in place of the three headers. */
const STYLES: Readonly<Record<string, (left: number, seconds: number) => Record<string, string>>> =
  {
    'X-RateLimit-Reset in seconds': (left, seconds) => ({
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': `${left}`,
      'x-ratelimit-reset': `${seconds}`,
    }),
    'version 6 of the draft': (left, seconds) => ({
      'ratelimit-limit': '60, 60;w=60',
      'ratelimit-remaining': `${left}`,
      'ratelimit-reset': `${seconds}`,
    }),
    'version 7 of the draft': (left, seconds) => ({
      ratelimit: `limit=60, remaining=${left}, reset=${seconds}`,
    }),
    'the draft since version 8': (left, seconds) => ({
      'ratelimit-policy': '"day";q=5000;w=86400, "minute";q=60;w=60',
      ratelimit: `"day";r=4000;t=80000, "minute";r=${left};t=${seconds}`,
    }),
    'the draft without a policy': (left, seconds) => ({
      ratelimit: `"minute";r=${left};t=${seconds};pk=:a2V5:`,
    }),
  }

for (const [name, describe] of Object.entries(STYLES)) {
  test(`politeFetch - by ${name}, the same`, async () => {
    const style = name.startsWith('X-') ? 'x-ratelimit' : 'ratelimit-draft'
    for (const hidden of [false, true]) {
      const { polite, time, seen } = createServer(style, {}, response => {
        const { headers, status } = response
        const [left, reset] = ['remaining', 'reset'].map(what =>
          Number(headers.get(`x-ratelimit-${what}`)),
        ) as [number, number]
        const given = new Headers(describe(left, reset - Math.floor(time.clock() / 1000)))
        for (const other of ['retry-after', hidden ? '' : 'date']) {
          const value = other && headers.get(other)
          if (value) given.set(other, value)
        }
        return new Response('[]', { status, headers: given })
      })
      await time.run(Promise.all(Array.from({ length: 150 }, () => polite(PETS, { headers }))))
      assert.deepEqual(perMinute(seen), [60, 60, 30], `${hidden}`)
    }
  })
}

test('politeFetch - clients that share a key share it as those of createClient do', async () => {
  const fleet = { plan: 'free', clients: 10, jobs: 30, seed: 1 } as const
  const typed = await runFleet(fleet)
  const generic = await runFleet({
    ...fleet,
    createCaller: ({ fetch, time: { clock, sleep }, random }) => {
      const polite = politeFetch(fetch, { limits: 'x-ratelimit', clock, sleep, random })
      return () => polite(PETS, { headers })
    },
  })
  assert.deepEqual(generic, typed)
})

test('politeFetch - by Retry-After alone, a 429 stops every call until then', async () => {
  const { polite, faults, time, seen } = createServer('retry-after')
  faults.push(answering(429, { 'retry-after': '50' }))
  const calls = Array.from({ length: 3 }, () => polite(PETS, { headers }))
  const responses = await time.run(Promise.all(calls))
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200],
  )
  const stopped = seen.filter(line => line === 'GET 200 +53000')
  assert.equal(stopped.length, 3)
  assert.equal(polite.rateLimit, undefined)
})

test('politeFetch - retries idempotent methods (RFC 9110), requests with a key, and any 429', async () => {
  const { polite, faults, time, seen } = createServer('x-ratelimit')
  const status = async (method: string, given: object = {}) => {
    const body = method === 'GET' ? null : 'text'
    return (await time.run(polite(PETS, { method, body, headers: { ...headers, ...given } })))
      .status
  }
  const attempts = async (fault: (typeof faults)[number], method: string, given?: object) => {
    const before = seen.length
    faults.push(fault)
    await status(method, given).catch(() => {})
    return seen.length - before
  }
  for (const fault of [answering(503), answering(408), reset]) {
    assert.deepEqual(
      [await attempts(fault, 'GET'), await attempts(fault, 'PUT'), await attempts(fault, 'DELETE')],
      [2, 2, 2],
    )
    assert.equal(await attempts(fault, 'POST'), 1)
    assert.equal(await attempts(fault, 'POST', { 'idempotency-key': '"a"' }), 2)
  }
  assert.equal(await attempts(answering(429, { 'retry-after': '1' }), 'POST'), 2)
})

test('politeFetch - a body is sent again whole, also from a stream or a Request', async () => {
  const { polite, faults, time, store } = createServer('x-ratelimit')
  const body = JSON.stringify({ name: 'Rex', categoryId: 1 })
  const type = { ...headers, 'content-type': 'application/json' }
  const init = { method: 'POST', headers: type, body, duplex: 'half' } as const
  const stream = new Response(body).body
  for (const call of [
    () => polite(PETS, init),
    () => polite(PETS, { ...init, body: stream }),
    () => polite(new Request(PETS, init)),
    () => polite(new URL(PETS), init),
  ]) {
    faults.push(answering(429, { 'retry-after': '1' }))
    const response = await time.run(call())
    assert.equal(response.status, 201)
  }
  assert.equal((await store.listPets()).length, 4)
})

test('politeFetch - gives up with the response, and with an error when nothing was sent', async () => {
  const { polite, faults, time, seen } = createServer('x-ratelimit')
  faults.push(...Array(4).fill(answering(503, {}, 'Later')))
  const failed = await time.run(polite(PETS, { headers }))
  assert.deepEqual([failed.status, await failed.text(), seen.length], [503, 'Later', 4])
  assert.equal((await time.run(polite(`${PETS}/9`, { headers }))).status, 404)
  faults.push(answering(429, { 'retry-after': '121' }, 'Slow down'))
  const rejected = await time.run(polite(PETS, { headers }))
  assert.deepEqual([rejected.status, await rejected.text()], [429, 'Slow down'])
  const sent = seen.length
  await assert.rejects(polite(PETS, { headers }), RateLimitError)
  assert.equal(seen.length, sent)
})

test('politeFetch - the body of a response is released before its request is retried', async () => {
  let cancelled = 0
  const { polite, faults, time } = createServer('x-ratelimit')
  const body = () => new ReadableStream({ cancel: () => void cancelled++ })
  faults.push(async () => new Response(body(), { status: 503 }))
  assert.equal((await time.run(polite(PETS, { headers }))).status, 200)
  assert.equal(cancelled, 1)
})

test('politeFetch - throws what fetch throws, and what cannot be sent at once', async () => {
  const { polite, faults, time, seen } = createServer('x-ratelimit', {
    maxRetries: 0,
    timeoutMs: 250,
  })
  faults.push(reset, hang)
  await assert.rejects(time.run(polite(PETS)), { name: 'TypeError', message: 'fetch failed' })
  await assert.rejects(time.run(polite(PETS)), {
    name: 'TimeoutError',
    message: 'No response within 250 ms',
  })
  assert.equal(time.clock() - T0, 250)
  for (const [url, init] of [
    ['no address', {}],
    [PETS, { method: 'G E T' }],
    [PETS, { headers: { 'a b': 'c' } }],
    [PETS, { signal: 5 as never }],
  ] as const) {
    await assert.rejects(polite(url, init), TypeError)
  }
  assert.equal(seen.length, 2)
})

test('politeFetch - a signal ends the wait, the request, and the body after it', async () => {
  const { polite, faults, time } = createServer('x-ratelimit', { maxConcurrent: 1 })
  const stop = new AbortController()
  const { signal } = stop
  faults.push(hang)
  const inFlight = polite(PETS, { headers, signal })
  const waiting = polite(new Request(PETS, { headers, signal }))
  stop.abort('stopped')
  await assert.rejects(inFlight, (reason: unknown) => reason === 'stopped')
  await assert.rejects(waiting, (reason: unknown) => reason === 'stopped')

  const later = new AbortController()
  faults.push(async (_, request) => {
    const body = new ReadableStream({
      start: part => request.signal.addEventListener('abort', () => part.error('cut off')),
    })
    return new Response(body)
  })
  const response = await time.run(polite(PETS, { headers, signal: later.signal }))
  later.abort()
  await assert.rejects(response.text(), (reason: unknown) => reason === 'cut off')
})

test('politeFetch - windows of any length: waits for their end, and no longer', async () => {
  for (const seconds of [1, 10, 3_600]) {
    const used = new Map<number, number>()
    const { time } = createClientServer()
    const polite = politeFetch(
      async () => {
        await time.sleep(30, {})
        const now = (time.clock() - T0) / 1000
        const window = Math.floor(now / seconds)
        const count = (used.get(window) ?? 0) + 1
        const status = count > 5 ? 429 : 200
        if (status === 200) used.set(window, count)
        const left = Math.ceil((window + 1) * seconds - now)
        const headers = {
          ratelimit: `"default";r=${Math.max(0, 5 - count)};t=${left}`,
          'ratelimit-policy': `"default";q=5;w=${seconds}`,
          date: new Date(time.clock()).toUTCString(),
        }
        return new Response('', { status, headers })
      },
      {
        limits: 'ratelimit-draft',
        clock: time.clock,
        sleep: time.sleep,
        random: () => 0.5,
        maxWaitMs: 4_000_000,
      },
    )
    await time.run(Promise.all(Array.from({ length: 23 }, () => polite(PETS))))
    const took = (time.clock() - T0) / 1000
    assert.ok(took <= 4 * (seconds + 2) + 1, `${seconds} s: ${took}`)
  }
})

test('readLimitsOf - ignores an invalid RateLimit', () => {
  for (const ratelimit of [
    '',
    '"a"',
    '"a";r=x;t=5',
    '"a";r=5',
    'limit=5',
    '5',
    '"a";t=5',
    ';;,"',
  ]) {
    const { rateLimit } = readLimitsOf('ratelimit-draft', new Headers({ ratelimit }), T0)
    assert.equal(rateLimit, undefined, ratelimit)
  }
})

test('politeFetch - options are checked, and the key is never shown', () => {
  const create = (options: object) => politeFetch(fetch, options as PoliteFetchOptions)
  assert.throws(() => create({}), /^OptionError: Expected `limits` to be one of 'x-ratelimit', /)
  assert.throws(() => create({ limits: 'retry-after', apiKey: 'x' }), /Unknown option `apiKey`/)
  assert.throws(
    () => create({ limits: 'retry-after', shared: 'redis://127.0.0.1:6379' }),
    (error: Error) => error instanceof OptionError && error.option === 'key',
  )
  assert.throws(() => politeFetch(undefined as never, { limits: 'retry-after' }), /`fetch`/)
})

function createServer(
  limits: LimitHeaders,
  options: Partial<PoliteFetchOptions> = {},
  change: (response: Response) => Response = response => response,
) {
  const server = createClientServer(undefined as Policy | undefined)
  const { time } = server
  const fetch: typeof globalThis.fetch = async (...request) =>
    change(await server.fetch(...request))
  const { clock, sleep } = time
  const random = () => 0.5
  const polite = politeFetch(fetch, { limits, clock, sleep, random, ...options })
  return { ...server, polite }
}
