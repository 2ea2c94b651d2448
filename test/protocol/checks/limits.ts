import assert from 'node:assert/strict'
import { T0 } from '../../limits/rate-limit-vectors.js'
import { type Checks, demoHeaders, post } from './check.js'

/** Rate limit headers and Date on every response; `rate-limit-suite.ts` has the rest. */
export const limitChecks: Checks = {
  async 'limits.headers - 429 says when to retry in a header and in its message, and must not be cached'({
    send,
  }) {
    await send({ path: '/v1/pets', key: 'tiny' })
    const body = JSON.stringify({
      code: 'rate_limit_exceeded',
      message: 'The limit of 1 requests per minute is used up until 2030-01-01T00:01:00Z.',
      status: 429,
    })
    assert.deepEqual(await send({ path: '/v1/pets', key: 'tiny' }), {
      status: 429,
      headers: {
        'cache-control': 'no-store',
        ...demoHeaders(0, body.length),
        'retry-after': '60',
        'x-ratelimit-limit': '1',
      },
      body,
    })
  },
  async 'limits.window - the next window begins at the announced second'({ send, setClock }) {
    await send({ path: '/v1/pets', key: 'tiny' })
    const { headers } = await send({ path: '/v1/pets', key: 'tiny' })
    setClock(Number(headers['x-ratelimit-reset']) * 1000 - 1)
    assert.equal((await send({ path: '/v1/pets', key: 'tiny' })).status, 429)
    setClock(Number(headers['x-ratelimit-reset']) * 1000)
    assert.equal((await send({ path: '/v1/pets', key: 'tiny' })).status, 200)
  },
  async 'counters.restart - counters live in the process: a new store starts at zero'({
    send,
    store,
  }) {
    const { headers } = await send({ path: '/v1/pets' })
    assert.equal(headers['x-ratelimit-remaining'], '999')
    assert.equal((await store.listPets()).length, 0, 'direct calls are not counted')
    const next = await send({ path: '/v1/pets' })
    assert.equal(next.headers['x-ratelimit-remaining'], '998')
  },
  async 'http.date - Date is the time of the store as an HTTP-date'({ send, setClock }) {
    for (const [now, date] of [
      [T0 + 999, 'Tue, 01 Jan 2030 00:00:00 GMT'],
      [T0 + 1_000, 'Tue, 01 Jan 2030 00:00:01 GMT'],
      [0, 'Thu, 01 Jan 1970 00:00:00 GMT'],
      [Date.UTC(2028, 1, 29, 23, 59, 59), 'Tue, 29 Feb 2028 23:59:59 GMT'],
    ] as const) {
      setClock(now)
      assert.equal((await send({ path: '/v1/pets' })).headers['date'], date)
    }
  },
  async 'limits.apply - a request with a valid key costs 1, whatever the response'({ send }) {
    const calls = [{ path: '/v1/pets' }, { path: '/v1/pets/9' }, { path: '/v1/nope' }, post('{')]
    for (const [index, call] of calls.entries()) {
      const { headers } = await send(call)
      const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = headers
      assert.deepEqual([limit, remaining], ['1000', String(999 - index)])
      assert.equal(headers['x-ratelimit-reset'], demoHeaders(0, 0)['x-ratelimit-reset'])
    }
  },
}
