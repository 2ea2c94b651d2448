import assert from 'node:assert/strict'
import { T0 } from '../../limits/rate-limit-vectors.js'
import type { Reply } from '../../support/doors.js'
import {
  assertError,
  type Checks,
  demoHeaders,
  listOf,
  petOf,
  post,
  REX,
  withOptions,
} from './check.js'

const options = () => ({ idempotency: { ttl: 60_000 } })

/** `Idempotency-Key` on `createPet` (draft-ietf-httpapi-idempotency-key-header-07). */
export const idempotencyChecks: Checks = {
  async 'idempotency - off by default: the header is ignored, even a malformed one'({ send }) {
    const first = await send(post(REX, { 'idempotency-key': '"k"' }))
    const second = await send(post(REX, { 'idempotency-key': '"k"' }))
    const third = await send(post(REX, { 'idempotency-key': '"' }))
    assert.deepEqual([first, second, third].map(idOf), [1, 2, 3])
  },
  ...withOptions(options, {
    async 'idempotency - the same create again gets the first answer, marked, for one request of quota'({
      send,
    }) {
      const body = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}'
      const first = await send(post(REX, { 'idempotency-key': '"k"' }))
      const headers = { ...demoHeaders(999, 57), location: 'pets/1' }
      assert.deepEqual(first, { status: 201, headers, body })
      const other = await send(
        post({ categoryId: 1.0, name: 'Rex', id: 5 }, { 'idempotency-key': 'k' }),
      )
      const replayed = {
        ...demoHeaders(998, 57),
        location: 'pets/1',
        'idempotent-replayed': 'true',
      }
      assert.deepEqual(other, { status: 201, headers: replayed, body })
      assert.equal(listOf(await send({ path: '/v1/pets' })).length, 1)
    },
    async 'idempotency - the same key with another animal is 422 idempotency_key_reused'({ send }) {
      await send(post(REX, { 'idempotency-key': 'k' }))
      for (const other of [
        { ...REX, name: 'rex' },
        { ...REX, categoryId: 2 },
        { ...REX, status: 'sold' },
      ]) {
        const reply = await send(post(other, { 'idempotency-key': 'k' }))
        assertError(reply, 422, 'idempotency_key_reused')
      }
      assert.equal(listOf(await send({ path: '/v1/pets' })).length, 1)
    },
    async 'idempotency - keys belong to the API key that sent them'({ send }) {
      const headers = { 'idempotency-key': 'k' }
      assert.equal(idOf(await send(post(REX, headers))), 1)
      assert.equal(idOf(await send({ ...post(REX, headers), key: 'tiny' })), 2)
    },
    async 'idempotency - two at the same time store one animal, and both get it'({ send }) {
      const create = () => send(post(REX, { 'idempotency-key': 'k' }))
      const replies = await Promise.all([create(), create(), create()])
      assert.deepEqual(replies.map(idOf), [1, 1, 1])
      assert.equal(replies.filter(({ headers }) => headers['idempotent-replayed']).length, 2)
    },
    async 'idempotency - a refused create is not remembered'({ send }) {
      const headers = { 'idempotency-key': 'k' }
      const refused = [
        await send(post({ name: 'Rex' }, headers)),
        await send(post('{', headers)),
        await send({ ...post(REX, headers), key: 'wrong' }),
        await send(post('x'.repeat(1_048_577), headers)),
        await send(post(REX, { ...headers, 'content-type': 'text/plain' })),
      ]
      assert.deepEqual(
        refused.map(({ status }) => status),
        [400, 400, 401, 413, 415],
      )
      const created = await send(post(REX, headers))
      assert.deepEqual([created.status, idOf(created)], [201, 1])
      assert.equal(created.headers['idempotent-replayed'], undefined)
    },
    async 'idempotency - a create refused with 429 is not remembered'({ send, setClock }) {
      const create = () => send({ ...post(REX, { 'idempotency-key': 'k' }), key: 'tiny' })
      await send({ path: '/v1/pets', key: 'tiny' })
      assert.equal((await create()).status, 429)
      setClock(T0 + 60_000)
      const created = await create()
      assert.deepEqual([created.status, created.headers['idempotent-replayed']], [201, undefined])
    },
    async 'idempotency - after ttl the key is free'({ send, setClock }) {
      const create = () => send(post(REX, { 'idempotency-key': 'k' }))
      assert.equal(idOf(await create()), 1)
      setClock(T0 + 59_999)
      assert.equal(idOf(await create()), 1)
      setClock(T0 + 60_000)
      assert.equal(idOf(await create()), 2)
    },
    async 'idempotency - a key is a Structured Field string or a bare token of 1 to 255 characters'({
      send,
    }) {
      const long = [`"${'x'.repeat(255)}"`, 'x'.repeat(254)]
      for (const key of ['"a b"', '"a\\"\\\\"', 'A-b_1.~:/', ...long]) {
        const reply = await send(post(REX, { 'idempotency-key': key }))
        assert.deepEqual(
          [reply.status, reply.headers['idempotent-replayed']],
          [201, undefined],
          key,
        )
      }
      const rule =
        'Idempotency-Key must be one string of printable ASCII in double quotes, such as "8e03978e-40d5".'
      const others = [
        '',
        '"',
        '"a',
        'a"',
        'a b',
        'a, b',
        '"a", "b"',
        '"a";b',
        'a=',
        '"\\a"',
        '"a\tb"',
      ]
      // The bytes of é.
      for (const key of [...others, '"\xc3\xa9']) {
        const reply = await send(post(REX, { 'idempotency-key': key }))
        assertError(reply, 400, 'invalid_request', rule)
      }
      for (const [key, length] of [
        ['""', 0],
        ['x'.repeat(256), 256],
      ] as const) {
        const reply = await send(post(REX, { 'idempotency-key': key }))
        const message = `Idempotency-Key must have 1 to 255 characters, got ${length}.`
        assertError(reply, 400, 'invalid_request', message)
      }
    },
  }),
  'idempotency - the header of a replay is exposed to browsers': {
    options: () => ({ ...options(), cors: true }),
    async run({ send }) {
      const origin = 'https://example.org'
      const { headers } = await send(post(REX, { 'idempotency-key': 'k', origin }))
      assert.match(headers['access-control-expose-headers'] ?? '', /, Idempotent-Replayed$/)
    },
  },
}

function idOf(reply: Reply): number {
  return petOf(reply).id
}
