import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExchangeDetail } from '../../../adapters/pages/console/exchange-detail.js'
import { withConsole } from '../../../adapters/pages/console/index.js'
import type { Update } from '../../../adapters/pages/console/streams.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import type { Har } from '../../../adapters/verdict/log/har.js'
import { type ApiHandler, createStore, type StoreOptions } from '../../../src/index.js'
import type { ApiRequest } from '../../../src/protocol/api-request.js'

const API_KEYS = {
  'demo-free': { id: 'demo-free', plan: 'free' },
  's3cret-key': { id: 'ci', plan: 'pro' },
} as const
const TOKEN = 'a-token_of-24-characters'

test('console requests - a likely mistake is pointed out, with what was meant', async () => {
  const cases = [
    ['GET', '/v1/pets?limt=3', '`limt` is not a parameter of listPets; did you mean `limit`?'],
    [
      'GET',
      '/v1/pets?Status=sold',
      '`Status` is not a parameter of listPets; did you mean `status`?',
    ],
    ['GET', '/v1/pets/1?limit=2', '`limit` is not a parameter of getPet, and is ignored.'],
    [
      'POST',
      '/v1/pets',
      '`nmae` is not a field of an animal; did you mean `name`?',
      '{"nmae":"A"}',
    ],
    ['POST', '/v1/pets', '`id` is not a field of an animal, and is ignored.', '{"id":1}'],
    ['GET', '/v1/pet', 'Did you mean `/v1/pets`?'],
    ['GET', '/v1/Pets/7/', 'Did you mean `/v1/pets/7`?'],
    ['GET', '/v1/pets?limit=3&status=sold&after=1', undefined],
    // The commonest mistake: a base URL without `/v1`.
    ['GET', '/pets?limit=3', 'Did you mean `/v1/pets`?'],
    ['GET', '/pets/7', 'Did you mean `/v1/pets/7`?'],
    ['GET', '/v1/owners', undefined],
    ['GET', '/v1/pets/77', undefined],
    ['GET', '/v1/pets/undefined', 'The client made `undefined` of a value that is no id.'],
    [
      'GET',
      '/v1/pets/%5Bobject%20Object%5D',
      'The client made `%5Bobject%20Object%5D` of a value that is no id.',
    ],
    ['GET', '/v1/pets/', 'Did you mean `/v1/pets`?'],
  ] as const
  for (const [method, target, hint, body] of cases) {
    const { send, entries } = createConsole()
    await send(method, target, body)
    assert.deepEqual((await entries())[0]?.hints, hint === undefined ? [] : [hint], target)
  }
})

test('console requests - a row says code and message, and what only shadow mode let through', async () => {
  const limits = { perMinute: 1, perDay: 9, banAfterRejections: 1 }
  const apiKeys = { 'demo-free': { id: 'tiny', plan: 'enterprise', limits } } as const
  const { send, entries } = createConsole({ apiKeys, rateLimiting: 'shadow' })
  await send('GET', '/v1/pets?limit=1000')
  for (const _ of [1, 2]) await send('GET', '/v1/pets')
  assert.deepEqual(
    (await entries()).map(({ status, code, message, hints }) => [status, code, message, ...hints]),
    [
      [400, 'invalid_request', '`limit` must be an integer from 1 to 100'],
      [200, null, null, 'Without shadow mode: 429 `rate_limit_exceeded`.'],
      [200, null, null, 'Without shadow mode: 429 `api_key_banned`.'],
    ],
  )
})

test('console requests - replays, hangs and lost responses of a double are shown, with their numbers in its journal', async () => {
  const double = createTestDouble({ idempotency: { ttl: 1_000 } })
  const { send, update } = createConsole(
    {},
    withConsole(double, { apiKeys: () => API_KEYS, token: TOKEN }),
  )
  const body = '{"name":"Rex","categoryId":1}'
  for (const _ of [1, 2]) await send('POST', '/v1/pets', body, { 'idempotency-key': 'k' })
  double.faults.arm({ kind: 'hang' })
  double.faults.arm({ kind: 'reset' })
  for (const _ of [1, 2]) await send('GET', '/v1/pets')
  const { entries, traffic } = await update()
  assert.deepEqual(
    entries.map(({ status, replayed, lost, journal }) => [status, replayed, lost, journal]),
    [
      [201, false, false, 1],
      [201, true, false, 2],
      [null, false, false, 3],
      [200, false, true, 4],
    ],
  )
  // A second of real time may end between them.
  const failed = traffic.map(({ counts }) => counts.at(-1) ?? 0)
  assert.equal(
    failed.reduce((sum, count) => sum + count, 0),
    2,
  )
})

test('console requests - are saved as HAR, whole and without any key', async () => {
  const { send, ask } = createConsole()
  const name = 'x'.repeat(70_000)
  await send('POST', '/v1/pets', `{"name":"${name}","categoryId":9223372036854775807}`)
  await send('GET', '/v1/pets?limit=2', undefined, { authorization: 'Bearer s3cret-key' })
  const { body: har } = await ask('POST', '/_console/har', '[1, 2, 99]')
  const { entries } = (JSON.parse(har) as Har).log
  assert.deepEqual(
    entries.map(({ request, response }) => [request.method, request.url, response.status]),
    [
      ['POST', 'http://localhost/v1/pets', 201],
      ['GET', 'http://localhost/v1/pets?limit=2', 200],
    ],
  )
  const text = entries[0]?.request.postData?.text ?? ''
  assert.ok(text.includes(name) && text.includes('9223372036854775807'))
  assert.doesNotMatch(har, /s3cret|Bearer demo-free/)
  assert.equal((await ask('POST', '/_console/har', '"all"')).status, 400)
})

test('console requests - one opens with its response, and is edited and sent again with the key that the page does not show', async () => {
  const { send, resend, detail } = createConsole()
  const own = {
    authorization: 'Bearer s3cret-key',
    'x-trace': 'one',
    'user-agent': 'node',
    'sec-fetch-mode': 'cors',
  }
  await send('POST', '/v1/pets', `{"name":"O'Hara","categoryId":1}`, own)
  const { request, response, programs } = await detail(1)
  assert.match(response.body, /^\{"id":1,"name":"O'Hara"/)
  assert.match(programs.curl, /authorization: Bearer \$ADOPTION_STORE_API_KEY[\s\S]*O'\\''Hara/)
  assert.doesNotMatch(programs.curl, /user-agent|accept|sec-/i)
  assert.deepEqual(await resend(1, {}), { n: 2 })

  const headers = request.headers.map(([name, value]) => [name, value.replace('one', 'two')])
  assert.ok(headers.some(([, value]) => value === 'Bearer REDACTED'))
  const body = '{"name":"Zoë","categoryId":9223372036854775807,"status":"sold"}'
  assert.deepEqual(await resend(1, { target: '/v1/pets?x=1', headers, body }), { n: 3 })
  const sent = await detail(3)
  assert.deepEqual([sent.status, sent.keyId, sent.query], [201, 'ci', 'x=1'])
  const value = (name: string) => sent.request.headers.find(([found]) => found === name)?.[1]
  assert.deepEqual([value('x-trace'), value('content-length')], ['two', '64'])
  assert.match(sent.response.body, /"name":"Zoë","categoryId":9223372036854775807,"status":"sold"/)
  assert.deepEqual(await resend(1, { method: 'GET', headers: [] }), { n: 4 })
  assert.equal((await detail(4)).status, 401)
  for (const edit of [
    { target: '/_control/reset' },
    { target: '/v1' },
    { body: 1 },
    { a: '' },
    [],
  ]) {
    const { code } = (await resend(1, edit)) as { code?: string }
    assert.equal(code, 'invalid_request', JSON.stringify(edit))
  }
  assert.equal(((await resend(99, {})) as { code?: string }).code, 'not_found')
})

test('console requests - expose no keys but demo keys', async () => {
  const base64 = 'ab/cdEF+ghij=='
  const word = { s3cret: { id: 'ci', plan: 'pro' }, [base64]: { id: 'b', plan: 'free' } } as const
  let apiKeys: NonNullable<StoreOptions['apiKeys']> = { ...API_KEYS, ...word }
  const store = createStore({ storage: memoryStorage(), apiKeys })
  const { send, update, detail } = createConsole(
    {},
    withConsole(store, { apiKeys: () => apiKeys, token: TOKEN }),
  )
  const authorization = 'Bearer s3cret'
  await send('GET', '/v1/pets/s3cret?key=s3cret&other=demo-free', '', {
    authorization,
    'x-k': 's3cret',
  })
  await send('POST', '/v1/pets', '{"name":"s3cret","categoryId":1}')
  await send('GET', '/v1/pets', '', { authorization: 'Bearer not-a-valid-k3y' })
  const path = `/v1/pets/${base64}?a=${encodeURIComponent(base64)}`
  await send('POST', path, JSON.stringify(base64).replaceAll('/', '\\/'), { 'x-k': base64 })
  await send('GET', '/v1/pets/added-l4ter')
  // Keys that were revoked or added since are hidden as well.
  apiKeys = { ...API_KEYS, 'added-l4ter': { id: 'late', plan: 'free' } }
  const shown = [JSON.stringify(await update())]
  for (const n of [1, 2, 3, 4, 5]) shown.push(JSON.stringify(await detail(n)))
  assert.doesNotMatch(shown.join('\n'), /s3cret\b(?!-)|k3y|cdEF|l4ter/)
  assert.match(shown[2] ?? '', /Bearer demo-free/)
})

test('console requests - large ones are dropped before they fill memory', async () => {
  const { send, detail } = createConsole({ rateLimiting: false })
  const body = `{"name":"${'x'.repeat(900_000)}","categoryId":1}`
  for (let n = 0; n < 20; n++) await send('POST', '/v1/pets', body)
  assert.equal((await detail(1)).code, 'not_found')
  const { request, response } = await detail(20)
  assert.equal(request.body.length, 65_536)
  assert.ok(request.omitted > 800_000 && response.omitted > 800_000)
})

/** A store with its console, in process. */
function createConsole(options: Partial<StoreOptions> = {}, given?: ApiHandler) {
  const store = createStore({ storage: memoryStorage(), apiKeys: API_KEYS, ...options })
  const handler = given ?? withConsole(store, { apiKeys: () => API_KEYS, token: TOKEN })
  const headers = {
    host: 'localhost',
    'content-type': 'application/json',
    authorization: `Bearer ${TOKEN}`,
  }
  const ask = async (method: string, target: string, body?: string, more = {}) => {
    const [path = '', query = ''] = target.split('?')
    const request: ApiRequest = { method, path, query, headers: { ...headers, ...more }, body }
    return handler.handle(request)
  }
  const update = async (): Promise<Update> => {
    const { body } = await ask('GET', '/_console/events')
    return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '')
  }
  return {
    ask,
    send: (method: string, target: string, body?: string, more = {}) =>
      ask(method, target, body, { authorization: 'Bearer demo-free', ...more }),
    update,
    entries: async () => (await update()).entries,
    detail: async (n: number): Promise<ExchangeDetail> =>
      JSON.parse((await ask('GET', `/_console/exchanges/${n}`)).body),
    async resend(n: number, edit: unknown): Promise<unknown> {
      const answer = await ask('POST', `/_console/exchanges/${n}/resend`, JSON.stringify(edit))
      return JSON.parse(answer.body)
    },
  }
}
