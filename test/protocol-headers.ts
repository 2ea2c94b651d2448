import assert from 'node:assert/strict'
import { memoryStorage } from '../adapters/memory.js'
import { ERROR_STATUS, type ErrorCode, type PetStorage, SUNSET } from '../src/index.js'
import type { Reply } from './doors.js'
import { assertError, type Check, demoHeaders, post } from './protocol-check.js'
import { T0 } from './rate-limit-vectors.js'

const REX = { name: 'Rex', categoryId: 1 }
const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Deprecation, Sunset, WWW-Authenticate'
const PREFLIGHT = { origin: 'https://example.org', 'access-control-request-method': 'POST' }

/** Headers, failures and what changes with time. */
export const headerChecks: readonly Check[] = [
  {
    id: 'limits.headers',
    behaviour: 'a 429 says when, in a header and in words, and is not to be cached',
    async run({ send }) {
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
  },
  {
    id: 'limits.window',
    behaviour: 'at the told second the next window has begun',
    async run({ send, setClock }) {
      await send({ path: '/v1/pets', key: 'tiny' })
      const { headers } = await send({ path: '/v1/pets', key: 'tiny' })
      setClock(Number(headers['x-ratelimit-reset']) * 1000 - 1)
      assert.equal((await send({ path: '/v1/pets', key: 'tiny' })).status, 429)
      setClock(Number(headers['x-ratelimit-reset']) * 1000)
      assert.equal((await send({ path: '/v1/pets', key: 'tiny' })).status, 200)
    },
  },
  {
    id: 'counters.restart',
    behaviour: 'counters live as long as the process: a new store has counted nothing',
    async run({ send, store }) {
      const { headers } = await send({ path: '/v1/pets' })
      assert.equal(headers['x-ratelimit-remaining'], '999')
      assert.equal((await store.listPets()).length, 0, 'direct calls are not counted')
      const next = await send({ path: '/v1/pets' })
      assert.equal(next.headers['x-ratelimit-remaining'], '998')
    },
  },
  {
    id: 'deprecated.headers',
    behaviour: 'on every answer of getPet, and on no other',
    async run({ send }) {
      for (const call of [
        { path: '/v1/pets/1' },
        { path: '/v1/pets/x' },
        { path: '/v1/pets/1', key: 'wrong' },
        { method: 'HEAD', path: '/v1/pets/1' },
      ]) {
        const { headers } = await send(call)
        assert.equal(headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT')
        assert.equal(headers['link'], '</v1/pets>; rel="successor-version"')
        assert.equal(headers['deprecation'], undefined)
      }
      for (const call of [{ path: '/v1/pets' }, post(REX), { path: '/v1/nope' }]) {
        const { sunset, link } = (await send(call)).headers
        assert.deepEqual([sunset, link], [undefined, undefined])
      }
    },
  },
  {
    id: 'deprecated.headers',
    behaviour: 'with a date where the host gives one',
    options: () => ({ deprecatedAt: 1_688_169_599_999 }),
    async run({ send }) {
      const { headers } = await send({ path: '/v1/pets/1' })
      assert.equal(headers['deprecation'], '@1688169599')
    },
  },
  {
    id: 'deprecated.removal',
    behaviour: 'from 2030-12-05 00:00:00 UTC on the operation is gone',
    async run({ send, setClock }) {
      await send(post(REX))
      setClock(SUNSET - 1)
      assert.equal((await send({ path: '/v1/pets/1' })).status, 200)
      setClock(Date.parse('2030-12-05T00:00:00Z'))
      const message =
        'GET /pets/{petId} was removed on 2030-12-05; use GET /pets with a status filter.'
      assertError(await send({ path: '/v1/pets/1' }), 410, 'gone', message)
      assertError(await send({ path: '/v1/pets/2' }), 410, 'gone', message)
      assert.equal((await send({ path: '/v1/pets' })).status, 200)
    },
  },
  {
    id: 'deprecated.removal',
    behaviour: 'never, where the host keeps it',
    options: () => ({ sunset: null, clock: () => SUNSET + 1 }),
    async run({ send }) {
      await send(post(REX))
      const { status, headers } = await send({ path: '/v1/pets/1' })
      assert.deepEqual([status, headers['sunset']], [200, undefined])
    },
  },
  {
    id: 'http.date',
    behaviour: 'Date is the clock of the store, as an HTTP-date',
    async run({ send, setClock }) {
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
  },
  {
    id: 'errors.codes',
    behaviour: 'the list is closed, and each code has its one status',
    async run() {
      assert.deepEqual(ERROR_STATUS, {
        invalid_request: 400,
        unauthorized: 401,
        not_found: 404,
        method_not_allowed: 405,
        gone: 410,
        payload_too_large: 413,
        unsupported_media_type: 415,
        rate_limit_exceeded: 429,
        api_key_banned: 429,
        internal_error: 500,
        storage_unavailable: 503,
      } satisfies Record<ErrorCode, number>)
    },
  },
  {
    id: 'errors.body',
    behaviour: 'code, message and status; the text of an unknown error stays inside',
    options: () => ({
      // A storage that breaks its contract: what the core trips over is nobody's business.
      storage: {
        ...memoryStorage(),
        insert: async () => undefined,
        find: async () => ({ toString: () => '/etc/secret' }),
      } as unknown as PetStorage,
    }),
    async run({ send }) {
      const message = 'The service failed; the fault is not in the request.'
      const reply = await send(post(REX))
      const body = JSON.stringify({ code: 'internal_error', message, status: 500 })
      assert.deepEqual(reply, { status: 500, headers: demoHeaders(999, body.length), body })
    },
  },
  {
    id: 'storage.failure',
    behaviour: '503, nothing visible, and the next request may succeed',
    options: () => ({ storage: failingOnce('insert', 'find', 'list') }),
    async run({ send }) {
      const message = 'The storage cannot answer now; try again later.'
      const unavailable = (reply: Reply) => assertError(reply, 503, 'storage_unavailable', message)
      unavailable(await send(post(REX)))
      unavailable(await send({ path: '/v1/pets' }))
      assert.equal((await send({ path: '/v1/pets' })).body, '[]')
      assert.ok((await send(post(REX))).body.startsWith('{"id":1,'))
      unavailable(await send({ path: '/v1/pets/1' }))
      assert.equal((await send({ path: '/v1/pets/1' })).status, 200)
    },
  },
  {
    id: 'cors',
    behaviour: 'off: no header, and a preflight is any other OPTIONS',
    async run({ send }) {
      const { headers } = await send({
        path: '/v1/pets',
        headers: { origin: 'https://example.org' },
      })
      assert.deepEqual(headers, demoHeaders(999, 2))
      const preflight = { method: 'OPTIONS', path: '/v1/pets', headers: PREFLIGHT }
      assertError(await send(preflight), 405, 'method_not_allowed')
      assertError(await send({ ...preflight, key: undefined }), 401, 'unauthorized')
    },
  },
  {
    id: 'cors',
    behaviour: 'on: a preflight is answered 204, without a key or a count',
    options: () => ({ cors: true }),
    async run({ send }) {
      for (const path of ['/v1/pets', '/v1/pets/1', '/v1/nope']) {
        const reply = await send({ method: 'OPTIONS', path, key: undefined, headers: PREFLIGHT })
        const { link: _link, sunset: _sunset, ...headers } = reply.headers
        assert.deepEqual(
          { ...reply, headers },
          {
            status: 204,
            headers: {
              'access-control-allow-headers': 'Authorization, Content-Type',
              'access-control-allow-methods': 'GET, HEAD, POST',
              'access-control-allow-origin': '*',
              'access-control-expose-headers': EXPOSED,
              'access-control-max-age': '86400',
              date: 'Tue, 01 Jan 2030 00:00:00 GMT',
            },
            body: '',
          },
        )
      }
    },
  },
  {
    id: 'cors',
    behaviour: 'on: every other answer can be read by any page',
    options: () => ({ cors: true, pagination: true }),
    async run({ send }) {
      const half = { origin: 'https://example.org' }
      for (const call of [
        { path: '/v1/pets' },
        post('{'),
        { path: '/v1/pets', key: 'wrong' },
        { path: '/nope' },
        { method: 'OPTIONS', path: '/v1/pets', headers: half },
        {
          method: 'OPTIONS',
          path: '/v1/pets',
          headers: { 'access-control-request-method': 'GET' },
        },
      ]) {
        const { status, headers } = await send(call)
        assert.notEqual(status, 204)
        assert.equal(headers['access-control-allow-origin'], '*')
        assert.equal(headers['access-control-expose-headers'], `${EXPOSED}, Link`)
      }
    },
  },
]

/** Each of the methods rejects its first call, and does nothing. */
function failingOnce(...methods: ('insert' | 'find' | 'list')[]): PetStorage {
  const storage = memoryStorage()
  for (const name of methods) {
    const method = storage[name]
    const restore = () => Object.assign(storage, { [name]: method })
    const fail = async () => {
      restore()
      throw new Error('disk /dev/sda1 on fire')
    }
    Object.assign(storage, { [name]: fail })
  }
  return storage
}
