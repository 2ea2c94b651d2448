import assert from 'node:assert/strict'
import { assertError, type Check, demoHeaders, post } from './protocol-check.js'

const REX = { name: 'Rex', categoryId: 1 }
const CHALLENGE = 'Bearer realm="animal-adoption-store"'

/** Which requests are let in, and what is said to the others. */
export const requestChecks: readonly Check[] = [
  {
    id: 'path.form',
    behaviour: 'exact match, with unreserved characters decoded',
    async run({ send }) {
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
  },
  {
    id: 'path.base',
    behaviour: 'outside the base path 404 without a key, a count or a limit',
    async run({ send }) {
      for (const path of [
        '/',
        '/pets',
        '/v1x/pets',
        '/v2/pets',
        '/V1/pets',
        '//v1/pets',
        '/%2Fv1',
      ]) {
        const reply = await send({ path, key: undefined })
        assertError(reply, 404, 'not_found', 'The API is served below /v1.')
        assert.deepEqual(Object.keys(reply.headers), ['content-length', 'content-type', 'date'])
      }
      assert.equal((await send({ path: '/v1/pets' })).headers['x-ratelimit-remaining'], '999')
    },
  },
  ...['', '/api/v1', '/a/b.c/~d_e-f'].map(
    (basePath): Check => ({
      id: 'path.base',
      behaviour: `the base path may be '${basePath}'`,
      options: () => ({ basePath, pagination: true }),
      async run({ send }) {
        await send({ ...post(REX), path: `${basePath}/pets` })
        await send({ ...post(REX), path: `${basePath}/pets` })
        const { headers } = await send({ path: `${basePath}/pets?limit=1` })
        assert.equal(headers['link'], `<${basePath}/pets?limit=1&after=1>; rel="next"`)
        const pet = await send({ path: `${basePath}/pets/1` })
        assert.equal(pet.headers['link'], `<${basePath}/pets>; rel="successor-version"`)
        assert.equal((await send({ path: `/x${basePath}/pets` })).status, 404)
      },
    }),
  ),
  {
    id: 'store.orders',
    behaviour: 'paths of which the specification gives only a name are not served',
    async run({ send }) {
      for (const path of ['/v1/store/orders', '/v1/orders', '/v1/store', '/v1/categories/1']) {
        assertError(await send({ path }), 404, 'not_found')
      }
    },
  },
  {
    id: 'auth.first',
    behaviour: '401 comes before 404, 405 and every fault of the body',
    async run({ send }) {
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
  },
  {
    id: 'auth.first',
    behaviour: 'then 429, then 404 and 405, then the body: 413, 415, 400',
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
  {
    id: 'auth.scheme',
    behaviour: 'Bearer in any case, one space or more',
    async run({ send }) {
      for (const authorization of ['Bearer demo', 'bearer demo', 'BEARER demo', 'bEaReR   demo']) {
        const reply = await send({ path: '/v1/pets', key: undefined, headers: { authorization } })
        assert.equal(reply.status, 200, authorization)
      }
    },
  },
  {
    id: 'auth.scheme',
    behaviour: '401 carries the challenge, with an error only where a key was sent',
    async run({ send }) {
      const missing = 'Send an API key: Authorization: Bearer <API_KEY>.'
      const bare = [
        '',
        'Bearer',
        'Basic ZGVtbw==',
        'demo',
        'Bearerdemo',
        'Bearer\tdemo',
        'XBearer demo',
      ]
      for (const authorization of bare) {
        const reply = await send({ path: '/v1/pets', key: undefined, headers: { authorization } })
        assertError(reply, 401, 'unauthorized', missing)
        assert.equal(reply.headers['www-authenticate'], CHALLENGE, authorization)
      }
      const none = await send({ path: '/v1/pets', key: undefined })
      assertError(none, 401, 'unauthorized', missing)
      const wrong = [
        'nope',
        'Demo',
        'demo,',
        'demo demo',
        'demo, Bearer demo',
        '"demo"',
        '__proto__',
      ]
      for (const key of [...wrong, 'constructor', 'x'.repeat(8_000)]) {
        const reply = await send({ path: '/v1/pets', key })
        assertError(reply, 401, 'unauthorized', 'The API key is not valid.')
        assert.equal(reply.headers['www-authenticate'], `${CHALLENGE}, error="invalid_token"`)
      }
    },
  },
  {
    id: 'auth.keys',
    behaviour: 'a key is valid from when it is added until it is removed',
    async run({ send, store }) {
      const list = () => send({ path: '/v1/pets', key: 'later' })
      assert.equal((await list()).status, 401)
      store.apiKeys.add('later', { id: 'later', plan: 'pro' })
      assert.equal((await list()).headers['x-ratelimit-remaining'], '299')
      assert.equal(store.apiKeys.remove('later'), true)
      assert.equal(store.apiKeys.remove('later'), false)
      assert.equal((await list()).status, 401)
    },
  },
  {
    id: 'method.unknown',
    behaviour: '405 with Allow where the path exists, else 404',
    async run({ send }) {
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
  },
  {
    id: 'http.head',
    behaviour: 'HEAD is GET without the body, also where it fails',
    async run({ send }) {
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
  },
  {
    id: 'body.type',
    behaviour: 'application/json with any parameters, or none',
    async run({ send }) {
      const types =
        'application/json|Application/JSON|application/json; charset=utf-8|application/json;a|'
      for (const type of types.split('|')) {
        assert.equal((await send(post(REX, { 'content-type': type }))).status, 201, type)
      }
      const others =
        'text/plain|application/jsonx|application/json, text/plain|application/ld+json|json'
      for (const type of others.split('|')) {
        const reply = await send(post(REX, { 'content-type': type }))
        const message = 'The Content-Type must be application/json.'
        assertError(reply, 415, 'unsupported_media_type', message)
      }
    },
  },
  {
    id: 'body.type',
    behaviour: 'no content type at all is JSON, and no content-encoding but identity',
    async run({ send }) {
      const bytes = new TextEncoder().encode(JSON.stringify(REX))
      assert.equal((await send(post(bytes))).status, 201)
      const encoded = (value: string) => send(post(REX, { 'content-encoding': value }))
      assert.equal((await encoded('Identity')).status, 201)
      for (const value of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
        const reply = await encoded(value)
        const message = 'The Content-Encoding must be identity; send the body as it is.'
        assertError(reply, 415, 'unsupported_media_type', message)
      }
    },
  },
  {
    id: 'body.size',
    behaviour: 'as many bytes as the host allows, and not one more',
    options: () => ({ maxBodyBytes: 100 }),
    async run({ send }) {
      const sized = (bytes: number, fill: string) => {
        const empty = JSON.stringify({ name: '', categoryId: 1 })
        const room = bytes - empty.length
        const long = fill.repeat(Math.floor(room / Buffer.byteLength(fill)))
        const name = long.padEnd(long.length + (room % Buffer.byteLength(fill)))
        return post({ name, categoryId: 1 })
      }
      for (const fill of ['x', 'é', '€', '🐈']) {
        assert.equal((await send(sized(100, fill))).status, 201)
        const message = 'The body is larger than 100 bytes.'
        assertError(await send(sized(101, fill)), 413, 'payload_too_large', message)
      }
    },
  },
  {
    id: 'body.size',
    behaviour: '1 MiB by default',
    async run({ send }) {
      const [short, long] = [1_048_576, 1_048_577].map(bytes => post(`"${'x'.repeat(bytes - 2)}"`))
      assert.equal((await send(short as ReturnType<typeof post>)).status, 400)
      assertError(await send(long as ReturnType<typeof post>), 413, 'payload_too_large')
    },
  },
  {
    id: 'body.json',
    behaviour: 'strict UTF-8, with a byte order mark before it or not',
    async run({ send }) {
      const text = Buffer.from('{"name":"é€🐈","categoryId":1}')
      assert.equal((await send(post(text))).status, 201)
      assert.equal((await send(post(Buffer.concat([Buffer.from('\ufeff'), text])))).status, 201)
      const twice = await send(post(Buffer.concat([Buffer.from('\ufeff\ufeff'), text])))
      assertError(twice, 400, 'invalid_request', 'The body is not valid JSON.')
      for (const wrong of ['ff', 'c080', 'eda080', 'f4908080', 'e282', 'fffe7b007d00']) {
        const name = Buffer.concat([Buffer.from('{"name":"'), Buffer.from(wrong, 'hex')])
        const body = Buffer.concat([name, Buffer.from('","categoryId":1}')])
        assertError(await send(post(body)), 400, 'invalid_request', 'The body is not valid UTF-8.')
      }
    },
  },
  {
    id: 'body.json',
    behaviour: 'nesting can neither crash nor hang, and the last of two equal names wins',
    async run({ send }) {
      for (const inner of ['', '12345678901234567890', '1e400']) {
        for (const [open, close] of [
          ['[', ']'],
          ['{"a":', '}'],
        ] as const) {
          const deep = open.repeat(100_000) + (inner || '1') + close.repeat(100_000)
          const reply = await send(post(`{"name":"Rex","categoryId":1,"deep":${deep}}`))
          assert.equal(reply.status, inner === '' ? 201 : 400)
          assertError(await send(post(deep)), 400, 'invalid_request')
          assertError(await send(post(open.repeat(100_000))), 400, 'invalid_request')
        }
      }
      for (const [first, last, status] of [
        ['"1"', '2', 201],
        ['12345678901234567890', '9007199254740993', 201],
        ['2', '"1"', 400],
        ['9007199254740993', '1e400', 400],
      ] as const) {
        const reply = await send(post(`{"name":"Rex","categoryId":${first},"categoryId":${last}}`))
        assert.equal(reply.status, status)
        if (status === 201) assert.ok(reply.body.includes(`"categoryId":${last},`))
      }
    },
  },
  {
    id: 'limits.apply',
    behaviour: 'a request with a valid key costs one unit, whatever becomes of it',
    async run({ send }) {
      const calls = [{ path: '/v1/pets' }, { path: '/v1/pets/9' }, { path: '/v1/nope' }, post('{')]
      for (const [index, call] of calls.entries()) {
        const { headers } = await send(call)
        const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining } = headers
        assert.deepEqual([limit, remaining], ['1000', String(999 - index)])
        assert.equal(headers['x-ratelimit-reset'], demoHeaders(0, 0)['x-ratelimit-reset'])
      }
    },
  },
]
