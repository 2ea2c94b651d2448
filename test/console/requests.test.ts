import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withConsole } from '../../adapters/console/index.js'
import type { ExchangeDetail, Update } from '../../adapters/console/messages.js'
import type { Har } from '../../adapters/exchanges/har.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore, type StoreOptions } from '../../src/index.js'
import type { ApiRequest } from '../../src/protocol/api.js'

const API_KEYS = {
  'demo-free': { id: 'demo-free', plan: 'free' },
  's3cret-key': { id: 'ci', plan: 'pro' },
} as const

test('console requests - an unknown name is pointed out, with the one that was meant', async () => {
  const cases = [
    ['GET', '/v1/pets?limt=3', '`limt` is not a parameter of listPets; did you mean `limit`?'],
    [
      'GET',
      '/v1/pets?Status=sold',
      '`Status` is not a parameter of listPets; did you mean `status`?',
    ],
    ['GET', '/v1/pets?page=2', '`page` is not a parameter of listPets, and is ignored.'],
    ['GET', '/v1/pets/1?limit=2', '`limit` is not a parameter of getPet, and is ignored.'],
    [
      'POST',
      '/v1/pets',
      '`nmae` is not a field of an animal; did you mean `name`?',
      '{"nmae":"Ada","categoryId":1}',
    ],
    [
      'POST',
      '/v1/pets',
      '`id` is not a field of an animal, and is ignored.',
      '{"id":1,"name":"A","categoryId":1}',
    ],
    [
      'POST',
      '/v1/pets',
      'Did you mean the status `sold`?',
      '{"name":"A","categoryId":1,"status":"Sold"}',
    ],
    ['GET', '/v1/pets?status=avaliable', 'Did you mean the status `available`?'],
    ['GET', '/v1/pet', 'Did you mean `/v1/pets`?'],
    ['GET', '/v1/Pets/7/', 'Did you mean `/v1/pets/7`?'],
  ] as const
  for (const [method, target, hint, body] of cases) {
    const { send, entries } = createConsole()
    await send(method, target, body)
    assert.deepEqual((await entries())[0]?.hints, [hint], target)
  }
  for (const target of ['/v1/pets?limit=3&status=sold&after=1', '/v1/owners', '/v1/pets/77']) {
    const { send, entries } = createConsole()
    await send('GET', target)
    assert.deepEqual((await entries())[0]?.hints, [], target)
  }
})

test('console requests - a wrong credential is pointed out without showing a key', async () => {
  for (const [authorization, hint] of [
    ['Bearer demo-fre', 'Did you mean the key `demo-free`?'],
    ['demo-free', 'Send `Authorization: Bearer <API_KEY>`.'],
    ['Bearer s3cret-kex', undefined],
  ] as const) {
    const { send, entries, detail } = createConsole()
    await send('GET', '/v1/pets', undefined, { authorization })
    assert.deepEqual((await entries())[0]?.hints, hint === undefined ? [] : [hint])
    assert.doesNotMatch(JSON.stringify(await detail(1)), /s3cret/)
  }
})

test('console requests - a row says code and message, without keys', async () => {
  const { send, entries } = createConsole()
  await send('GET', '/v1/pets?limit=1000')
  await send('POST', '/v1/pets', '{"name":1,"categoryId":1}')
  assert.deepEqual(
    (await entries()).map(({ code, message }) => [code, message]),
    [
      ['invalid_request', '`limit` must be an integer from 1 to 100'],
      ['invalid_request', '`name` must be a string'],
    ],
  )
})

test('console requests - what only shadow mode let through is marked', async () => {
  const limits = { perMinute: 1, perDay: 9, banAfter: 1 }
  const apiKeys = { 'demo-free': { id: 'tiny', plan: 'enterprise', limits } } as const
  const { send, entries } = createConsole({ apiKeys, rateLimit: 'shadow' })
  for (const _ of [1, 2, 3]) await send('GET', '/v1/pets')
  assert.deepEqual(
    (await entries()).map(({ status, hints }) => [status, ...hints]),
    [
      [200],
      [200, 'Without shadow mode: 429 `rate_limit_exceeded`.'],
      [200, 'Without shadow mode: 429 `api_key_banned`.'],
    ],
  )
})

test('console requests - are found by a text in path, query or a body, never by a key', async () => {
  const { send, ask } = createConsole()
  await send('POST', '/v1/pets', '{"name":"Ada Lovelace","categoryId":1}')
  await send('GET', '/v1/pets?status=sold')
  await send('GET', '/v1/pets/1', undefined, { authorization: 'Bearer s3cret-key' })
  await send('GET', '/v1/pets/s3cret-key')
  const found = async (text: string) => {
    const answer = await ask('GET', `/_console/exchanges?text=${encodeURIComponent(text)}`)
    return JSON.parse(answer.body).matches
  }
  assert.deepEqual(await found('ada lovelace'), [1, 3])
  assert.deepEqual(await found('status=SOLD'), [2])
  assert.deepEqual(await found('s3cret'), [])
})

test('console requests - are exported as JSON and as HAR, whole and without secret keys', async () => {
  const { send, ask } = createConsole()
  const name = 'x'.repeat(70_000)
  await send('POST', '/v1/pets', `{"name":"${name}","categoryId":9223372036854775807}`)
  await send('GET', '/v1/pets?limit=2', undefined, { authorization: 'Bearer s3cret-key' })
  const save = async (format: string, numbers: unknown = [1, 2, 99]) =>
    ask('POST', '/_console/export', JSON.stringify({ format, numbers }))
  const json = await save('json')
  const { exchanges } = JSON.parse(json.body) as { exchanges: ExchangeDetail[] }
  assert.deepEqual(
    exchanges.map(({ n, method, status, key }) => [n, method, status, key]),
    [
      [1, 'POST', 201, 'demo-free'],
      [2, 'GET', 200, 'ci'],
    ],
  )
  assert.ok(exchanges[0]?.response.body.includes(name))
  assert.ok(!('programs' in (exchanges[0] ?? {})))
  const har = await save('har')
  const { entries } = (JSON.parse(har.body) as Har).log
  assert.deepEqual(
    entries.map(({ request, response }) => [request.method, request.url, response.status]),
    [
      ['POST', 'http://localhost/v1/pets', 201],
      ['GET', 'http://localhost/v1/pets?limit=2', 200],
    ],
  )
  assert.match(entries[0]?.request.postData?.text ?? '', /9223372036854775807/)
  assert.doesNotMatch(json.body + har.body, /s3cret/)
  assert.doesNotMatch(har.body, /Bearer demo-free/)
  for (const [format, numbers] of [
    ['xml', []],
    ['har', 'all'],
    [undefined, []],
  ] as const) {
    assert.equal((await save(format as string, numbers)).status, 400)
  }
})

test('console requests - one is edited and sent again, with the key that the page does not show', async () => {
  const { send, replay, detail } = createConsole()
  await send('POST', '/v1/pets', '{"name":"Ada","categoryId":1}', {
    authorization: 'Bearer s3cret-key',
    'x-trace': 'one',
  })
  const { request } = await detail(1)
  assert.ok(request.headers.some(([, value]) => value === 'Bearer REDACTED'))
  const headers = request.headers.map(([name, value]) => [name, value.replace('one', 'two')])
  const body = '{"name":"Zoë","categoryId":9223372036854775807,"status":"sold"}'
  assert.deepEqual(await replay(1, { target: '/v1/pets?x=1', headers, body }), { n: 2 })
  const sent = await detail(2)
  assert.deepEqual([sent.status, sent.key, sent.query], [201, 'ci', 'x=1'])
  assert.equal(sent.request.body, body)
  const value = (name: string) => sent.request.headers.find(([found]) => found === name)?.[1]
  assert.deepEqual([value('x-trace'), value('content-length')], ['two', '64'])
  assert.match(sent.response.body, /"name":"Zoë","categoryId":9223372036854775807,"status":"sold"/)

  assert.deepEqual(await replay(1, { method: 'GET', headers: [] }), { n: 3 })
  assert.equal((await detail(3)).status, 401)
  for (const edit of [
    { target: '/_control/reset' },
    { target: '/v1' },
    { target: '/v1/a b' },
    { method: 'G T' },
    { headers: [['a\nb', 'c']] },
    { headers: [['a', 'b\r\nc: d']] },
    { headers: { a: 'b' } },
    { body: 1 },
    { path: '/v1/pets' },
    [],
  ]) {
    const { code } = (await replay(1, edit)) as { code?: string }
    assert.equal(code, 'invalid_request', JSON.stringify(edit))
  }
})

/** A store with its console, in process. */
function createConsole(options: Partial<StoreOptions> = {}) {
  const store = createStore({ storage: memoryStorage(), apiKeys: API_KEYS, ...options })
  const handler = withConsole(store, { apiKeys: () => API_KEYS })
  const headers = { host: 'localhost', 'content-type': 'application/json' }
  const ask = async (method: string, target: string, body?: string, more = {}) => {
    const [path = '', query = ''] = target.split('?')
    const request: ApiRequest = { method, path, query, headers: { ...headers, ...more }, body }
    return handler.handle(request)
  }
  return {
    ask,
    send: (method: string, target: string, body?: string, more = {}) =>
      ask(method, target, body, { authorization: 'Bearer demo-free', ...more }),
    async entries() {
      const { body } = await ask('GET', '/_console/events')
      return (JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '') as Update).entries
    },
    async detail(n: number): Promise<ExchangeDetail> {
      return JSON.parse((await ask('GET', `/_console/exchanges/${n}`)).body)
    },
    async replay(n: number, edit: unknown): Promise<unknown> {
      const answer = await ask('POST', `/_console/exchanges/${n}/replay`, JSON.stringify(edit))
      return JSON.parse(answer.body)
    },
  }
}
