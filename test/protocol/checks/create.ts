import assert from 'node:assert/strict'
import { assertError, type Checks, demoHeaders, listOf, petOf, post, REX } from './check.js'

/** `createPet` (spec §4.2). */
export const createChecks: Checks = {
  async 'createPet.answer - 201 with the animal and its id'({ send }) {
    const body = '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}'
    const reply = await send(post({ name: 'Rex', categoryId: 7, status: 'sold' }))
    const headers = { ...demoHeaders(999, 52), location: 'pets/1' }
    assert.deepEqual(reply, { status: 201, headers, body })
  },
  'created.location - 201 has the Location of the animal': {
    options: () => ({ basePath: '/api/v1' }),
    async run({ send }) {
      const { headers } = await send({ ...post(REX), path: '/api/v1/pets' })
      assert.equal(headers['location'], 'pets/1')
      assert.equal(petOf(await send({ path: '/api/v1/pets/1' })).id, 1)
    },
  },
  async 'createPet.ids - ids ascend from 1, and a rejected body uses none'({ send }) {
    await send(post(REX))
    await send(post({ name: 'Rex' }))
    assert.equal(petOf(await send(post(REX))).id, 2)
  },
  async 'createPet.fields - a missing or invalid field is 400, and the message names it'({ send }) {
    const status = '`status` must be one of available, pending, sold'
    const int64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
    for (const [body, message] of [
      [{ categoryId: 1 }, '`name` is required'],
      [{ name: 'Rex' }, '`categoryId` is required'],
      [{}, '`name` is required; `categoryId` is required'],
      [{ name: 1, categoryId: 1 }, '`name` must be a string'],
      [{ name: 'Rex', categoryId: '1' }, `\`categoryId\` ${int64}, got a string`],
      [{ ...REX, status: 'lost' }, status],
      [{ ...REX, status: null }, status],
      [[], 'The body must be a JSON object'],
      ['null', 'The body must be a JSON object'],
      ['', 'The body is missing; send a JSON object.'],
      ['{', 'The body is not valid JSON.'],
    ] as const) {
      assertError(await send(post(body)), 400, 'invalid_request', message)
    }
  },
  async 'status.default - an animal created without a status is available'({ send }) {
    assert.equal(petOf(await send(post(REX))).status, 'available')
    assert.equal(listOf(await send({ path: '/v1/pets?status=available' })).length, 1)
  },
  'status.default - with defaultStatus null it has none, and no filter matches it': {
    options: () => ({ defaultStatus: null }),
    async run({ send }) {
      assert.deepEqual(petOf(await send(post(REX))), { id: 1, ...REX })
      assert.equal(listOf(await send({ path: '/v1/pets' })).length, 1)
      for (const status of ['available', 'pending', 'sold']) {
        assert.equal((await send({ path: `/v1/pets?status=${status}` })).body, '[]')
      }
    },
  },
  async 'query.unknown - unknown body fields, id included, are neither stored nor returned'({
    send,
  }) {
    const body = '{"id":99,"name":"Rex","categoryId":1,"tag":[1],"__proto__":{"status":"sold"}}'
    const pet = { id: 1, ...REX, status: 'available' }
    assert.deepEqual(petOf(await send(post(body))), pet)
    assert.deepEqual(petOf(await send({ path: '/v1/pets/1' })), pet)
    const inherited = '{"__proto__":{"name":"Rex","categoryId":1e0},"constructor":1e0}'
    assertError(await send(post(inherited)), 400, 'invalid_request')
  },
  async 'name.bounds - every string round-trips exactly'({ send }) {
    const names = [
      '',
      ' ',
      '\0',
      '\u2028"\\/\n\t',
      '🐈‍⬛',
      '\ud800',
      'a\udc00b',
      '\ufeff',
      '__proto__',
    ]
    for (const name of [...names, '1e5 12345678901234567890', 'x'.repeat(100_000)]) {
      const created = petOf(await send(post({ name, categoryId: 1 })))
      assert.equal(created.name, name)
      assert.equal(petOf(await send({ path: `/v1/pets/${created.id}` })).name, name)
    }
  },
  async 'categoryId.range - every form of an int64 round-trips as its plain digits'({ send }) {
    for (const [sent, answered = sent] of [
      ['-0', '0'],
      ['9007199254740991'],
      ['1.0', '1'],
      ['1e3', '1000'],
      ['0.1e1', '1'],
      ['12300e-2', '123'],
      ['9.223372036854775807e18', '9223372036854775807'],
      ['0e99999999999', '0'],
    ] as const) {
      const reply = await send(post(`{"name":"Rex","categoryId":${sent}}`))
      const digits = /"categoryId":(-?\d+),/.exec(reply.body)?.[1]
      assert.deepEqual([sent, reply.status, digits], [sent, 201, answered])
      const [, id = ''] = /"id":(\d+)/.exec(reply.body) ?? []
      assert.equal((await send({ path: `/v1/pets/${id}` })).body, reply.body)
      assert.ok((await send({ path: '/v1/pets?limit=100' })).body.includes(reply.body))
    }
  },
  async 'categoryId.range - anything but an int64 is 400, never rounded'({ send }) {
    const million = '9'.repeat(400_000)
    for (const sent of [
      ...['1e400', '-1e400', '1e-400'],
      ...['1e19', '1.00000000000000000001', '9007199254740993.5', '12345678901234567890'],
      ...[million, `1e${million}`, `1e-${million}`, `0.${million}`],
    ]) {
      const reply = await send(post(`{"name":"Rex","categoryId":${sent}}`))
      assert.equal(reply.status, 400, sent.slice(0, 40))
      assertError(reply, 400, 'invalid_request')
    }
    assert.equal((await send({ path: '/v1/pets' })).body, '[]')
  },
}
