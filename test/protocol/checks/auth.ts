import assert from 'node:assert/strict'
import { assertError, type Checks, post } from './check.js'

const CHALLENGE = 'Bearer realm="animal-adoption-store"'

/** Authentication (spec §5). */
export const authChecks: Checks = {
  async 'auth.first - 401 comes before 404, 405 and every body error'({ send }) {
    for (const call of [
      { path: '/v1/nope' },
      { path: '/v1/pets/1' },
      { path: '/v1/pets?limit=0' },
      { method: 'DELETE', path: '/v1/pets' },
      post('{', { 'content-type': 'text/plain' }),
    ]) {
      assertError(await send({ ...call, key: 'wrong' }), 401, 'unauthorized')
      assertError(await send({ ...call, key: undefined }), 401, 'unauthorized')
    }
  },
  'auth.first - 429 comes next, then 404 and 405, then the body: 413, 415, 400': {
    options: () => ({ maxBodyBytes: 10 }),
    async run({ send }) {
      const text = { 'content-type': 'text/plain' }
      assert.equal((await send({ path: '/v1/pets', key: 'tiny' })).status, 200)
      for (const call of [{ path: '/v1/nope' }, { method: 'PUT', path: '/v1/pets' }, post('{')]) {
        assertError(await send({ ...call, key: 'tiny' }), 429, 'rate_limit_exceeded')
      }
      const long = '{"name":"Rex"'
      assertError(await send({ ...post(long, text), path: '/v1/nope' }), 404, 'not_found')
      assertError(await send({ ...post(long, text), method: 'PUT' }), 405, 'method_not_allowed')
      assertError(await send(post(long, text)), 413, 'payload_too_large')
      assertError(await send(post('{', text)), 415, 'unsupported_media_type')
      assertError(await send(post('{')), 400, 'invalid_request')
    },
  },
  async 'auth.scheme - accepts Bearer in any case, with one or more spaces'({ send }) {
    for (const authorization of ['Bearer demo', 'bearer demo', 'BEARER demo', 'bEaReR   demo']) {
      const reply = await send({ path: '/v1/pets', key: undefined, headers: { authorization } })
      assert.equal(reply.status, 200, authorization)
    }
  },
  async 'auth.scheme - 401 carries the challenge, with an error only if a key was sent'({ send }) {
    const missing = 'Send an API key: Authorization: Bearer <API_KEY>.'
    const alone = 'Authorization needs `Bearer` and a space in front of the API key.'
    const scheme = 'Authorization must have the scheme Bearer: Authorization: Bearer <API_KEY>.'
    const empty = 'Authorization has no API key: send Authorization: Bearer <API_KEY>.'
    const elsewhere = 'Send the API key as Authorization: Bearer <API_KEY>, not in X-API-Key.'
    const cases: [headers: Record<string, string>, message: string][] = [
      [{}, missing],
      [{ authorization: '' }, missing],
      [{ authorization: 'Bearer' }, empty],
      [{ authorization: 'bearer' }, empty],
      [{ authorization: 'Basic ZGVtbw==' }, scheme],
      [{ authorization: 'XBearer demo' }, scheme],
      [{ authorization: 'demo' }, alone],
      [{ authorization: 'Bearerdemo' }, alone],
      [{ authorization: 'Bearer\tdemo' }, alone],
      [{ 'x-api-key': 'demo' }, elsewhere],
      [{ 'x-api-key': 'demo', authorization: '' }, elsewhere],
      [{ 'x-api-key': 'demo', authorization: 'demo' }, alone],
    ]
    for (const [headers, message] of cases) {
      const reply = await send({ path: '/v1/pets', key: undefined, headers })
      assertError(reply, 401, 'unauthorized', message)
      assert.equal(reply.headers['www-authenticate'], CHALLENGE, JSON.stringify(headers))
    }
    const wrong = ['nope', 'Demo', 'demo,', 'demo demo', 'demo, Bearer demo', '"demo"', '__proto__']
    for (const key of [...wrong, 'constructor', 'x'.repeat(8_000)]) {
      const reply = await send({ path: '/v1/pets', key })
      assertError(reply, 401, 'unauthorized', 'The API key is not valid.')
      assert.equal(reply.headers['www-authenticate'], `${CHALLENGE}, error="invalid_token"`)
    }
  },
  async 'auth.keys - a key is valid from when it is added until it is removed'({ send, store }) {
    const list = () => send({ path: '/v1/pets', key: 'later' })
    assert.equal((await list()).status, 401)
    store.apiKeys.add('later', { id: 'later', plan: 'pro' })
    assert.equal((await list()).headers['x-ratelimit-remaining'], '299')
    assert.equal(store.apiKeys.remove('later'), true)
    assert.equal(store.apiKeys.remove('later'), false)
    assert.equal((await list()).status, 401)
  },
}
