import assert from 'node:assert/strict'
import { SUNSET } from '../../../src/index.js'
import { assertError, type Checks, demoHeaders, petOf, post, REX } from './check.js'

/** `getPet` and its removal (spec §4.3). */
export const getChecks: Checks = {
  async 'getPet.answer - 200 with the animal and the deprecation headers'({ send }) {
    await send(post(REX))
    const body = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}'
    const reply = await send({ path: '/v1/pets/1' })
    assert.deepEqual(reply, {
      status: 200,
      headers: {
        ...demoHeaders(998, 57),
        link: '<../pets>; rel="successor-version"',
        sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      },
      body,
    })
  },
  async 'petId.form - anything but a stored id is 404'({ send }) {
    await send(post(REX))
    const forms = '2 0 01 -1 +1 1.0 1.5 1e0 0x1 abc NaN 1%20 %31%30 ١ __proto__ constructor'
    for (const id of [...forms.split(' '), '9223372036854775807', '9'.repeat(300)]) {
      const reply = await send({ path: `/v1/pets/${encodeURI(id).replaceAll('%25', '%')}` })
      assertError(reply, 404, 'not_found', 'There is no pet with this id.')
    }
    assert.equal(petOf(await send({ path: '/v1/pets/%31' })).id, 1)
  },
  async 'deprecated.headers - on every response of getPet and on no other'({ send }) {
    for (const call of [
      { path: '/v1/pets/1' },
      { path: '/v1/pets/x' },
      { path: '/v1/pets/1', key: 'wrong' },
      { method: 'HEAD', path: '/v1/pets/1' },
    ]) {
      const { headers } = await send(call)
      assert.equal(headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT')
      assert.equal(headers['link'], '<../pets>; rel="successor-version"')
      assert.equal(headers['deprecation'], undefined)
    }
    for (const call of [{ path: '/v1/pets' }, post(REX), { path: '/v1/nope' }]) {
      const { sunset, link } = (await send(call)).headers
      assert.deepEqual([sunset, link], [undefined, undefined])
    }
  },
  'deprecated.headers - Deprecation carries the date of deprecatedAt': {
    options: () => ({ deprecatedAt: 1_688_169_599_999 }),
    async run({ send }) {
      const { headers } = await send({ path: '/v1/pets/1' })
      assert.equal(headers['deprecation'], '@1688169599')
    },
  },
  async 'deprecated.removal - the operation is gone from 2030-12-05T00:00:00Z'({ send, setClock }) {
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
  'deprecated.removal - never with sunset null': {
    options: () => ({ sunsetAt: null, clock: () => SUNSET + 1 }),
    async run({ send }) {
      await send(post(REX))
      const { status, headers } = await send({ path: '/v1/pets/1' })
      assert.deepEqual([status, headers['sunset']], [200, undefined])
    },
  },
}
