import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { readKeys, readSeed } from '../adapters/cli/seed-and-keys-files.js'
import { createClient } from '../adapters/client/index.js'
import { listen } from '../adapters/http/index.js'
import { withConsole } from '../adapters/pages/console/index.js'
import { jsonFileStorage } from '../adapters/stores/json-file/index.js'
import { memoryStorage } from '../adapters/stores/memory.js'
import { createTestDouble, openRecording } from '../adapters/test-double/index.js'
import { verify } from '../adapters/verify/index.js'
import { ApiError, createStore, ERROR_STATUS, toJson } from '../src/index.js'
import { printable } from '../src/lib/printable.js'
import { openSocket, statusesIn } from './http/raw-socket.js'
import { T0 } from './limits/rate-limit-vectors.js'
import { anyCodePoint } from './support/any-text.js'
import { DOORS, type Reply } from './support/doors.js'
import { temporaryFolder } from './support/temporary-folder.js'

const SEED = 20_301_205
const TOKEN = 'a-token-of-the-control-tree'
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
    const door = await DOORS['handle']?.(store)
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
          check(method, (await door?.send({ ...call, headers: sent })) as Reply)
        },
      ),
      { ...RUNS, numRuns: LONG ? 800 : 300 },
    )
  })
}

test('fetch - any valid Request gets a valid response', async () => {
  const store = open({})
  const door = await DOORS['fetch']?.(store)
  await fc.assert(
    fc.asyncProperty(anyPath, anyQuery, anyBody, async (path, query, body) => {
      const call = { path: `${path.replaceAll(/[?#]/g, '')}?${query}`, key: 'demo' }
      // The URL parser resolves dots, which may lead outside the base path.
      fc.pre(new URL(`http://a${call.path}`).pathname.startsWith('/v1/'))
      check('GET', (await door?.send(call)) as Reply)
      check('POST', (await door?.send({ ...call, method: 'POST', body })) as Reply)
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

test('files and responses - any text is read, or refused in a short line', async t => {
  const folder = temporaryFolder(t)
  const double = createTestDouble({
    control: TOKEN,
    apiKeys: { demo: { id: 'demo', plan: 'pro' } },
  })
  const recorded = await (await double.record()).json()
  const page = withConsole(double.handler, { token: TOKEN })
  let count = 0
  const file = (text: string) => {
    const path = join(folder, `${++count}.json`)
    writeFileSync(path, text)
    return path
  }
  const command = (method: string, path: string) => async (body: string) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const answer = await page.handle({ method, path, query: '', headers, body })
    assert.ok(answer.status < 500, answer.body)
    if (answer.status >= 400) throw new ApiError('invalid_request', JSON.parse(answer.body).message)
  }
  const answering = (body: string) => async () => new Response(body, { headers: { date: 'x' } })
  const url = 'http://127.0.0.1:1/v1'
  const pet = '{"id":1,"name":"Ada","categoryId":1,"status":"sold"}'
  const readers: Record<string, [valid: string, read: (text: string) => Promise<unknown>]> = {
    keys: ['{"a":{"id":"a","plan":"pro","expiresAt":"2040-01-01"}}', text => readKeys(file(text))],
    seed: [`{"pets":[${pet}],"nextId":2}`, text => readSeed(file(text))],
    document: [
      `{"pets":[${pet}],"nextId":2}`,
      async text => {
        await using storage = jsonFileStorage(file(text))
        await storage.list({ limit: 1 })
      },
    ],
    recording: [recorded, async text => (await openRecording(text)).replay()],
    worlds: ['{"pets":[],"time":"2030-01-01"}', command('POST', `/_control/${TOKEN}/worlds`)],
    faults: ['{"kind":"status","status":503}', command('POST', `/_control/${TOKEN}/faults`)],
    snapshot: [toJson(await double.snapshot()), command('PUT', `/_control/${TOKEN}/snapshot`)],
    archive: ['[1,2]', command('POST', '/_console/har')],
    client: [
      `[${pet}]`,
      text => createClient({ baseUrl: url, apiKey: 'demo', fetch: answering(text) }).listPets(),
    ],
    verify: [
      `[${pet}]`,
      async text => {
        const only = ['list.empty']
        const report = await verify({ baseUrl: url, apiKey: 'demo', only, fetch: answering(text) })
        for (const { failure } of report.results) assert.ok((failure?.came.length ?? 0) < 1_100)
      },
    ],
  }
  const piece = fc.oneof(
    fc.constantFrom('"', '{', '[', '__proto__', '1e400', 'n'.repeat(9_999)),
    anyText,
  )
  for (const [name, [valid, read]] of Object.entries(readers)) {
    const property = async (at: number, length: number, text: string, isName: boolean) => {
      const start = isName ? valid.indexOf('"', at % valid.length) + 1 : at % valid.length
      const given = valid.slice(0, start) + text + valid.slice(start + length)
      const error: Error | undefined = await read(given).then(
        () => undefined,
        error => error,
      )
      if (error === undefined) return
      assert.match(error.name, /^(Usage|Option|JsonFile|Recording|Api|Contract|Verify)Error$/, name)
      assert.match(printable(error.message), /^.{1,1100}$/, name)
    }
    const mutation = [fc.nat(), fc.nat(9), piece, fc.boolean()] as const
    await fc.assert(fc.asyncProperty(...mutation, property), RUNS)
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
