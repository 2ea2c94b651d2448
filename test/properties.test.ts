import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { readKeys, readSeed } from '../adapters/cli/seed-and-keys-files.js'
import { listen } from '../adapters/http/index.js'
import { jsonFileStorage } from '../adapters/stores/json-file/index.js'
import { memoryStorage } from '../adapters/stores/memory.js'
import { createTestDouble, openRecording } from '../adapters/test-double/index.js'
import { createStore, ERROR_STATUS, toJson } from '../src/index.js'
import { printable } from '../src/lib/printable.js'
import { openSocket, statusesIn } from './http/raw-socket.js'
import { T0 } from './limits/rate-limit-vectors.js'
import { anyCodePoint } from './support/any-text.js'
import { DOORS, type Reply } from './support/doors.js'
import { temporaryFolder } from './support/temporary-folder.js'

const SEED = 20_301_205
const TOKEN = 'a-token-of-the-control-tree'
const JSON_BODY = { 'content-type': 'application/json' }
const LONG = process.env['ADOPTION_STORE_CHAOS'] === 'long'
const RUNS = { seed: SEED, numRuns: LONG ? 250 : 100 }

const anyText = fc.string({ unit: anyCodePoint, maxLength: 60 })
const anyBytes = fc.uint8Array({ maxLength: 300 })
const anyMethod = fc.oneof(fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE'), anyText)
const anyPath = fc.oneof(
  fc.constantFrom('/v1/pets', '/v1/pets/1', '/v1/pets/', '/v1'),
  anyText.map(text => `/v1/${text}`),
  anyText.map(text => `/v1/pets/${text}`),
  fc
    .array(fc.constantFrom('/', '%', '2F', '.', 'v1', 'pets', '%70', '\0', 'é'))
    .map(parts => `/v1/${parts.join('')}`),
)
const anyQuery = fc.oneof(
  anyText,
  fc
    .array(fc.tuple(fc.constantFrom('limit', 'status', 'after', '%', '__proto__', ''), anyText))
    .map(pairs => pairs.map(([name, value]) => `${name}=${value}`).join('&')),
)
const anyHeaders = fc.dictionary(
  fc.oneof(
    fc.constantFrom('content-type', 'content-encoding', 'content-length', 'origin', 'host'),
    fc.constantFrom('access-control-request-method', 'x-forwarded-for', 'expect', '__proto__'),
    anyText,
  ),
  fc.oneof(fc.constantFrom('', 'application/json', 'identity', 'gzip', '-1', '1e9', '2'), anyText),
)
const almostPet = fc
  .record(
    {
      name: fc.oneof(anyText, fc.jsonValue()),
      categoryId: fc.oneof(fc.integer(), fc.bigInt().map(String), fc.double(), fc.jsonValue()),
      status: fc.oneof(fc.constantFrom('available', 'sold'), fc.jsonValue()),
      extra: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  .map(value => JSON.stringify(value))
const anyBody = fc.oneof(
  anyBytes,
  anyText,
  almostPet,
  fc.json(),
  almostPet.map(text => text.replace(/"(-?\d+)"/g, '$1')),
)
const anyAuthorization = fc.oneof(fc.constant('Bearer demo'), fc.constant(undefined), anyText)

for (const options of [
  {},
  { cors: true, pagination: true, standardHeaders: 'draft-10' as const },
]) {
  test(`handle - any request gets a valid response, with ${JSON.stringify(options)}`, async () => {
    const store = open(options)
    const door = await DOORS.handle(store)
    await fc.assert(
      fc.asyncProperty(
        anyMethod,
        anyPath,
        anyQuery,
        anyHeaders,
        anyBody,
        anyAuthorization,
        async (method, path, query, headers, body, authorization) => {
          const call = { method, path: `${path.replaceAll('?', '')}?${query}`, body }
          const sent = authorization === undefined ? headers : { ...headers, authorization }
          check(method, await door.send({ ...call, headers: sent }))
        },
      ),
      { ...RUNS, numRuns: LONG ? 800 : 300 },
    )
  })
}

test('fetch - any valid Request gets a valid response', async () => {
  const store = open({})
  const door = await DOORS.fetch(store)
  await fc.assert(
    fc.asyncProperty(anyPath, anyQuery, anyBody, async (path, query, body) => {
      const call = { path: `${path.replaceAll(/[?#]/g, '')}?${query}`, key: 'demo' }
      // The URL parser resolves dots, which may lead outside the base path.
      fc.pre(new URL(`http://a${call.path}`).pathname.startsWith('/v1/'))
      check('GET', await door.send(call))
      check('POST', await door.send({ ...call, method: 'POST', body }))
    }),
    RUNS,
  )
})

test('http - any bytes get a status below 500, or no response', async () => {
  await using server = await listen(open({}), { port: 0 })
  const line = fc.constantFrom('GET ', 'POST ', '/v1/pets', ' HTTP/1.1', '\r\n', 'Host: a\r\n', ':')
  const more = fc.constantFrom(
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    '\r\n\r\n',
    '5\r\n',
  )
  const soup = fc
    .array(fc.oneof(line, more, anyText), { maxLength: 20 })
    .map(parts => parts.join(''))
  await fc.assert(
    fc.asyncProperty(fc.oneof(soup, anyBytes), async bytes => {
      const client = await openSocket(server.port, true)
      client.socket.end(bytes)
      const text = await client.ended()
      client.socket.destroy()
      for (const status of statusesIn(text)) assert.ok(status < 500, text)
    }),
    RUNS,
  )
})

test('files and commands - any text is read, or refused in a short line', async t => {
  const path = join(temporaryFolder(t), 'file.json')
  const double = createTestDouble({ control: TOKEN })
  const command = (method: string, name: string) => async (body: string) => {
    const request = { method, path: `/_control/${TOKEN}/${name}`, query: '', headers: JSON_BODY }
    const answer = await double.handler.handle({ ...request, body })
    assert.ok(answer.status < 500, answer.body)
    return answer.status < 400 ? undefined : JSON.parse(answer.body)
  }
  const file = (read: (path: string) => Promise<unknown>) => async (text: string) => {
    writeFileSync(path, text)
    await read(path)
  }
  const opened = async (path: string) => {
    await using storage = jsonFileStorage(path)
    await storage.list({ limit: 1 })
  }
  const pets = '{"pets":[{"id":1,"name":"Ada","categoryId":1,"status":"sold"}],"nextId":2}'
  const recording = await (await double.record()).json()
  const readers: [valid: string, read: (text: string) => Promise<unknown>][] = [
    ['{"key":{"id":"a","plan":"pro","expiresAt":"2040-01-01"}}', file(readKeys)],
    [pets, file(readSeed)],
    [pets, file(opened)],
    [recording, async text => (await openRecording(text)).replay().then(() => {})],
    ['{"pets":[],"time":"2030-01-01"}', command('POST', 'worlds')],
    ['{"kind":"status","status":503}', command('POST', 'faults')],
    [toJson(await double.snapshot()), command('PUT', 'snapshot')],
    ['"name"', command('PUT', 'snapshot')],
  ]
  const huge = 'n'.repeat(9_999)
  const inserted = fc.oneof(fc.constantFrom('"', '{', '1e400', '__proto__', huge, huge), anyText)
  for (const [valid, read] of readers) {
    const property = async (at: number, length: number, text: string, isInText: boolean) => {
      const start = isInText ? valid.indexOf('"', at % valid.length) + 1 : at % valid.length
      const given = valid.slice(0, start) + text + valid.slice(start + length)
      const refusal = (await read(given).catch(error => error)) as Error | undefined
      if (refusal === undefined) return
      assert.match(`${refusal.name}`, /^(undefined|(Usage|Option|JsonFile|Recording)Error)$/, given)
      assert.match(printable(refusal.message), /^.{1,1100}$/)
    }
    await fc.assert(fc.asyncProperty(fc.nat(), fc.nat(9), inserted, fc.boolean(), property), RUNS)
  }
})

function open(options: object) {
  const limits = { perMinute: 10_000_000, perDay: 10_000_000 }
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'enterprise', limits } },
    plans: { anonymous: limits },
    clock: () => T0,
    ...options,
  })
}

/** Never 5xx; the Error body exactly; the three headers on everything but a preflight. */
function check(method: string, { status, headers, body }: Reply): void {
  assert.ok(status < 500, `${status} ${body}`)
  if (status === 204) return
  for (const name of ['limit', 'remaining', 'reset']) {
    assert.match(headers[`x-ratelimit-${name}`] ?? '', /^\d+$/)
  }
  if (method === 'HEAD') {
    assert.equal(body, '')
    return
  }
  assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
  if (status < 300) return
  const error = JSON.parse(body) as Record<string, unknown>
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status'])
  assert.equal(error['status'], status)
  assert.equal(ERROR_STATUS[error['code'] as keyof typeof ERROR_STATUS], status)
  assert.equal(typeof error['message'], 'string')
  assert.ok((error['message'] as string).length < 300)
}
