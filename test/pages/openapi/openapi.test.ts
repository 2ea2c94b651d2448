import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApiDocument, openApiJson } from '../../../adapters/pages/openapi/index.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import {
  type ApiRequest,
  createStore,
  ERROR_STATUS,
  OptionError,
  PAGE_SIZE,
  PET_STATUSES,
  type StoreOptions,
  SUNSET,
} from '../../../src/index.js'
import { protocolSuite } from '../../protocol/checks/suite.js'
import { DOORS } from '../../support/doors.js'
import { type Contract, createContract } from './contract.js'

const NOW = Date.UTC(2030, 0, 1)

const protocol = createContract(openApiDocument({ idempotency: true }))
const open = DOORS.handle
protocolSuite('openapi', handler => open(protocol.watch(handler)))

test('openApiDocument - every response of the protocol suite conforms', () => {
  assert.deepEqual(protocol.violations, [])
})

test('openApiDocument - every documented status is reachable, and every response conforms', async () => {
  const contract = createContract(openApiDocument({ idempotency: true }))
  await reachEveryStatus(contract)
  assert.deepEqual(contract.violations, [])
  assert.deepEqual(contract.reached(), contract.documented.toSorted())
})

test('openApiDocument - an undocumented response is a violation', async () => {
  const contract = createContract(openApiDocument())
  const { handle } = contract.watch({
    basePath: '/v1',
    maxBodyBytes: 0,
    async handle({ path }) {
      const headers = { 'X-RateLimit-Limit': 'sixty', 'X-RateLimit-Remaining': '1' }
      return { status: path === '/v1/pets' ? 200 : 418, headers, body: '[{}]' }
    },
  })
  await handle(request('GET', '/v1/pets'))
  await handle(request('GET', '/v1/pets/1'))
  assert.deepEqual(contract.violations, [
    'GET /pets 200: data must be integer, data must be >= 1',
    'GET /pets 200: X-RateLimit-Reset is missing',
    "GET /pets 200: data/0 must have required property 'id', data/0 must have required property " +
      "'name', data/0 must have required property 'categoryId'",
    'GET /pets/{petId} 418 is not documented',
  ])
})

test('openApiDocument - describes the operations of the specification', async () => {
  const document = openApiDocument()
  assert.equal(document.openapi, '3.1.1')
  assert.equal(document.info.version, '1.0.0')
  assert.deepEqual(operations(document), [
    ['get', '/pets', 'listPets', undefined],
    ['post', '/pets', 'createPet', undefined],
    ['get', '/pets/{petId}', 'getPet', true],
  ])
  assert.deepEqual(names(document['tags']), ['Pets', 'Store'])
  assert.deepEqual(document['security'], [{ apiKey: [] }])
  const { type, scheme } = at(document, 'components', 'securitySchemes', 'apiKey')
  assert.deepEqual({ type, scheme }, { type: 'http', scheme: 'bearer' })
})

test('openApiDocument - its numbers and values are those of the store', async () => {
  const document = openApiDocument()
  const { parameters } = at(document, 'paths', '/pets', 'get')
  assert.deepEqual(parameters[0].schema, { type: 'integer', ...PAGE_SIZE })
  assert.deepEqual(at(document, 'components', 'schemas', 'PetStatus').enum, [...PET_STATUSES])
  const { code } = at(document, 'components', 'schemas', 'Error', 'properties')
  assert.deepEqual(code.enum, Object.keys(ERROR_STATUS))
  const removal = new Date(SUNSET).toISOString().slice(0, 10)
  assert.equal(at(document, 'paths', '/pets/{petId}', 'get')['x-sunset'], removal)
})

test('openApiDocument - an int64 has the whole range', async () => {
  const { components } = openApiDocument()
  const { id, categoryId } = at(components, 'schemas', 'Pet', 'properties')
  const int64 = { type: 'integer', format: 'int64' }
  const bounds = { minimum: -(2 ** 63), maximum: 2 ** 63 }
  assert.deepEqual({ ...id, description: '' }, { ...int64, description: '' })
  assert.deepEqual({ ...categoryId, description: '' }, { ...int64, ...bounds, description: '' })
  assert.deepEqual(at(components, 'schemas', 'NewPet', 'properties', 'categoryId'), categoryId)
})

test('openApiJson - writes the bounds of an int64 with all their digits', async () => {
  const text = openApiJson()
  assert.equal(
    text.match(/"minimum": -9223372036854775808,\n +"maximum": 9223372036854775807\n/g)?.length,
    2,
  )
  assert.deepEqual(JSON.parse(text), openApiDocument())
})

test('openApiDocument - without rate limits it has no 429 and none of their headers', async () => {
  const text = openApiJson({ rateLimiting: false })
  assert.doesNotMatch(text, /RateLimit|"429"|limit that applies/)
  assert.match(openApiJson(), /"#\/components\/headers\/X-RateLimit-Reset"/)
  const contract = createContract(openApiDocument({ rateLimiting: false }))
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { good: { id: 'good', plan: 'free' } },
    rateLimiting: false,
  })
  const { handle } = contract.watch(store)
  for (const sent of REQUESTS) await handle(sent)
  assert.deepEqual(contract.violations, [])
})

test('openApiDocument - demo keys are shown in the security scheme', async () => {
  const { components } = openApiDocument({ demoKeys: ['demo-free', 'demo-pro'] })
  const { description } = at(components, 'securitySchemes', 'apiKey')
  assert.equal(description, 'The API key is the bearer token. Demo keys: demo-free, demo-pro.')
  assert.throws(() => openApiDocument({ demoKeys: 'demo' as never }), OptionError)
})

test('openApiDocument - every example is valid', async () => {
  const document = openApiDocument({ pagination: true, idempotency: true })
  const { check } = createContract(document)
  let examples = 0
  visit(document, ({ schema, example, examples: named }) => {
    const values = [example, ...Object.values<Loose>(named ?? {}).map(({ value }) => value)]
    for (const value of values.filter(value => value !== undefined)) {
      assert.equal(check(schema, value), undefined)
      examples++
    }
  })
  // Three answers, one body and two parameters, and a failure of every code.
  assert.equal(examples, 6 + Object.keys(ERROR_STATUS).length)
})

test('openApiDocument - has both servers, with the given addresses', async () => {
  const { servers } = openApiDocument({ baseUrl: 'http://127.0.0.1:4280/v1' })
  assert.deepEqual(
    (servers as Loose[]).map(({ url, variables }) => [
      url,
      Object.values<Loose>(variables)[0].default,
    ]),
    [
      ['{base_url}', 'http://127.0.0.1:4280/v1'],
      ['{staging_base_url}', 'https://staging.invalid/v1'],
    ],
  )
  assert.throws(() => openApiDocument({ baseUrl: '' }), OptionError)
  assert.throws(
    () => openApiDocument({ server: 'x' } as object),
    /Unknown option `server`; expected one of baseUrl, /,
  )
})

test('openApiDocument - describes pagination only if enabled', async () => {
  const has = async (pagination: boolean) => {
    const { parameters, responses } = at(openApiDocument({ pagination }), 'paths', '/pets', 'get')
    return [names(parameters), 'Link' in responses[200].headers]
  }
  assert.deepEqual(await has(false), [['limit', 'status'], false])
  assert.deepEqual(await has(true), [['limit', 'status', 'after'], true])
})

test('openApiDocument - describes Idempotency-Key only if enabled', async () => {
  const off = openApiDocument()
  assert.doesNotMatch(JSON.stringify(off.paths), /[Ii]dempoten|"422"/)
  assert.doesNotMatch(JSON.stringify(off.components['headers']), /[Ii]dempoten/)
  assert.doesNotMatch(JSON.stringify(off.components['responses']), /[Ii]dempoten/)
  const on = at(openApiDocument({ idempotency: true }), 'paths', '/pets', 'post')
  assert.deepEqual(names(on.parameters), ['Idempotency-Key'])
  assert.deepEqual(Object.keys(on.responses[201].headers).slice(-2), [
    'Location',
    'Idempotent-Replayed',
  ])
  assert.deepEqual(on.responses[422], { $ref: '#/components/responses/IdempotencyKeyReused' })
})

async function reachEveryStatus(contract: Contract): Promise<void> {
  const storage = memoryStorage()
  await storage.insert({ name: 'Rex', categoryId: 9_223_372_036_854_775_807n, status: 'sold' })
  const broken = async () => {
    throw new Error('The disk is full')
  }
  const unusual: Partial<StoreOptions>[] = [
    {},
    { storage: { ...storage, insert: broken, list: broken, find: broken } },
    { clock: () => Number.NaN },
    { clock: () => SUNSET },
    { idempotency: { ttl: 1_000 } },
    { plans: { free: { perMinute: 1, perDay: 9 }, anonymous: { perMinute: 1, perDay: 9 } } },
  ]
  for (const options of unusual) {
    const store = createStore({
      storage,
      apiKeys: { good: { id: 'good', plan: 'free' } },
      clock: () => NOW,
      maxBodyBytes: 100,
      ...options,
    })
    const { handle } = contract.watch(store)
    for (const sent of REQUESTS) await handle(sent)
  }
}

function request(
  method: string,
  target: string,
  body?: string,
  headers: Readonly<Record<string, string>> = { authorization: 'Bearer good' },
): ApiRequest {
  const [path = '', query = ''] = target.split('?')
  return { method, path, query, headers, body }
}

const ANY_METHOD = ['/v1/pets', '/v1/pets/1'].flatMap(path => [
  request('GET', path),
  request('HEAD', path),
  request('GET', path, undefined, {}),
  request('DELETE', path),
])

const REQUESTS = [
  ...ANY_METHOD,
  request('GET', '/v1/pets?limit=0'),
  request('GET', '/v1/pets/2'),
  request('POST', '/v1/pets', '{"name":"Tom","categoryId":1}'),
  ...['Tom', 'Tom', 'Max'].map(name =>
    request('POST', '/v1/pets', JSON.stringify({ name, categoryId: 1 }), {
      authorization: 'Bearer good',
      'idempotency-key': '"k"',
    }),
  ),
  request('POST', '/v1/pets', '{}'),
  request('POST', '/v1/pets', '{}', {}),
  request('POST', '/v1/pets', ' '.repeat(101)),
  request('POST', '/v1/pets', '{}', { authorization: 'Bearer good', 'content-type': 'text/plain' }),
]

// biome-ignore lint/suspicious/noExplicitAny: a test reads a document that no type describes.
type Loose = any

function at(thing: Loose, ...names: readonly string[]): Loose {
  return names.reduce((found, name) => found[name], thing)
}

function names(things: unknown): readonly string[] {
  return (things as { name: string }[]).map(({ name }) => name)
}

function operations({ paths }: { paths: object }) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries<Loose>(item).map(([method, { operationId, deprecated }]) => [
      method,
      path,
      operationId,
      deprecated,
    ]),
  )
}

/** Every object in the document that has a schema. */
function visit(thing: Loose, seen: (holder: Loose) => void): void {
  if (typeof thing !== 'object' || thing === null) return
  if ('schema' in thing) seen(thing)
  for (const part of Object.values(thing)) visit(part, seen)
}
