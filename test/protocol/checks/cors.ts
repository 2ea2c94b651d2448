import assert from 'node:assert/strict'
import { assertError, type Checks, demoHeaders, post } from './check.js'

const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Deprecation, Sunset, Link, WWW-Authenticate, Allow, Location, Date'
/** Headers that a page reads anyway (Fetch standard), or that concern its browser only. */
const NOT_EXPOSED =
  /^(cache-control|content-(type|length)|vary|x-content-type-options|access-control-.*)$/
const PREFLIGHT = { origin: 'https://example.org', 'access-control-request-method': 'POST' }

/** Access from pages of other origins. */
export const corsChecks: Checks = {
  async 'cors - off: no CORS headers, and a preflight is an ordinary OPTIONS request'({ send }) {
    const { headers } = await send({
      path: '/v1/pets',
      headers: { origin: 'https://example.org' },
    })
    assert.deepEqual(headers, demoHeaders(999, 2))
    const preflight = { method: 'OPTIONS', path: '/v1/pets', headers: PREFLIGHT }
    assertError(await send(preflight), 405, 'method_not_allowed')
    assertError(await send({ ...preflight, key: undefined }), 401, 'unauthorized')
  },
  'cors - on: a preflight is 204, without a key and outside the quota': {
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
              'access-control-allow-headers': 'Authorization, *',
              'access-control-allow-methods': 'GET, HEAD, POST',
              'access-control-allow-origin': '*',
              'access-control-expose-headers': EXPOSED,
              'access-control-max-age': '86400',
              date: 'Tue, 01 Jan 2030 00:00:00 GMT',
              vary: 'Origin',
            },
            body: '',
          },
        )
      }
    },
  },
  'cors - on: pages of any origin can read every other response': {
    options: () => ({ cors: true, standardHeaders: 'draft-11', deprecatedAt: 0 }),
    async run({ send }) {
      const origin = 'https://example.org'
      await send(post('{"name":"Rex","categoryId":1}'))
      for (const call of [
        { path: '/v1/pets', headers: { origin } },
        { path: '/v1/pets/1', headers: { origin } },
        { method: 'DELETE', path: '/v1/pets/1', headers: { origin } },
        post('{"name":"Rex","categoryId":1}', { origin }),
        post('{', { origin }),
        { path: '/v1/pets', key: 'wrong', headers: { origin } },
        { path: '/nope', headers: { origin } },
        { method: 'OPTIONS', path: '/v1/pets', headers: { origin } },
        {
          method: 'OPTIONS',
          path: '/v1/pets',
          headers: { 'access-control-request-method': 'GET' },
        },
      ]) {
        const { status, headers } = await send(call)
        assert.notEqual(status, 204)
        assert.equal(headers['access-control-allow-origin'], '*')
        assert.equal(headers['vary'], 'Origin')
        const exposed = headers['access-control-expose-headers']
        const isPage = 'origin' in call.headers
        assert.equal(exposed, isPage ? `${EXPOSED}, RateLimit, RateLimit-Policy` : undefined)
        const names = new Set(exposed?.toLowerCase().split(', '))
        const hidden = Object.keys(headers).filter(name => !NOT_EXPOSED.test(name))
        if (isPage)
          assert.deepEqual(
            hidden.filter(name => !names.has(name)),
            [],
          )
      }
    },
  },
}
