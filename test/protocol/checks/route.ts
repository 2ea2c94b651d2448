import assert from 'node:assert/strict'
import { assertError, type Checks, post, REX, withOptions } from './check.js'

/** Paths and methods. */
export const routeChecks: Checks = {
  async 'path.form - exact match, with unreserved characters decoded'({ send }) {
    for (const path of ['/v1/pets', '/v1/%70ets', '/%761/pets', '/v1/pet%73?limit=1']) {
      assert.equal((await send({ path })).body, '[]', path)
    }
    for (const path of ['/v1', '/v1/', '/v1/pets/', '/v1//pets', '/v1/pets//', '/v1/Pets']) {
      assertError(await send({ path }), 404, 'not_found', 'There is no such resource.')
    }
    for (const path of ['/v1/pets/1/', '/v1/pets/1/2', '/v1/pets%2F1', '/v1/pets;a', '/v1/%zz']) {
      assertError(await send({ path }), 404, 'not_found', 'There is no such resource.')
    }
  },
  async 'path.base - outside the base path: 404 without key, quota or limit headers'({ send }) {
    for (const path of ['/', '/pets', '/v1x/pets', '/v2/pets', '/V1/pets', '//v1/pets', '/%2Fv1']) {
      const reply = await send({ path, key: undefined })
      assertError(reply, 404, 'not_found', 'The API is served below /v1.')
      assert.deepEqual(Object.keys(reply.headers), [
        'content-length',
        'content-type',
        'date',
        'x-content-type-options',
      ])
    }
    assert.equal((await send({ path: '/v1/pets' })).headers['x-ratelimit-remaining'], '999')
  },
  ...Object.assign(
    {},
    ...['', '/api/v1', '/a/b.c/~d_e-f'].map(basePath =>
      withOptions(() => ({ basePath, pagination: true }), {
        async [`path.base - the base path may be '${basePath}'`]({ send }) {
          await send({ ...post(REX), path: `${basePath}/pets` })
          await send({ ...post(REX), path: `${basePath}/pets` })
          const { headers } = await send({ path: `${basePath}/pets?limit=1` })
          assert.equal(headers['link'], '<pets?limit=1&after=1>; rel="next"')
          const pet = await send({ path: `${basePath}/pets/1` })
          assert.equal(pet.headers['link'], '<../pets>; rel="successor-version"')
          assert.equal((await send({ path: `/x${basePath}/pets` })).status, 404)
        },
      }),
    ),
  ),
  async 'store.orders - paths that the specification only names are not served'({ send }) {
    for (const path of ['/v1/store/orders', '/v1/orders', '/v1/store', '/v1/categories/1']) {
      assertError(await send({ path }), 404, 'not_found')
    }
  },
  async 'method.unknown - 405 with Allow if the path exists, otherwise 404'({ send }) {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCOL']) {
      const many = await send({ method, path: '/v1/pets' })
      const message = `${method} is not allowed here; use GET, HEAD, POST.`
      assertError(many, 405, 'method_not_allowed', message)
      assert.equal(many.headers['allow'], 'GET, HEAD, POST')
      const one = await send({ method, path: '/v1/pets/1' })
      assertError(one, 405, 'method_not_allowed', `${method} is not allowed here; use GET, HEAD.`)
      assert.equal(one.headers['allow'], 'GET, HEAD')
      assertError(await send({ method, path: '/v1/nope' }), 404, 'not_found')
    }
    const reply = await send({ method: 'POST', path: '/v1/pets/1' })
    assertError(reply, 405, 'method_not_allowed')
  },
  async 'http.head - HEAD is GET without the body, even for errors'({ send }) {
    await send(post(REX))
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/2', '/v1/pets?limit=0', '/v1/nope']) {
      const get = await send({ path })
      const head = await send({ method: 'HEAD', path })
      const remaining = String(Number(get.headers['x-ratelimit-remaining']) - 1)
      assert.deepEqual(head, {
        status: get.status,
        headers: { ...get.headers, 'x-ratelimit-remaining': remaining },
        body: '',
      })
    }
  },
}
