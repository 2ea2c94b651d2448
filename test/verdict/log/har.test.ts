import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { createTestDouble, type Har } from '../../../adapters/test-double/index.js'
import { type HarSource, harOf } from '../../../adapters/verdict/log/har.js'

const T0 = Date.parse('2030-01-01T00:00:00Z')
const KEY = 'k3y-that-must-not-leak'

function source(changes: Partial<HarSource> = {}): HarSource {
  return {
    at: T0,
    answeredAt: T0,
    keyId: 'ci',
    method: 'GET',
    url: '/v1/pets',
    status: 200,
    requestHeaders: {},
    headers: {},
    fault: null,
    connection: null,
    origin: 'http://127.0.0.1:4280',
    requestBody: null,
    body: null,
    ...changes,
  }
}

test('har - every kind of exchange is valid by the schema of HAR 1.2', async () => {
  await using double = createTestDouble({ cors: true })
  const kinds = ['status', 'delay', 'hang', 'reset', 'truncate', 'malformed'] as const
  for (const kind of kinds) {
    const options = { status: { status: 503 }, delay: { duration: 250 } }[kind as 'status'] ?? {}
    double.faults.arm({ kind, ...options } as Parameters<typeof double.faults.arm>[0])
    const stop = new AbortController()
    const answer = double.run(() => create(double, stop.signal)).catch(() => {})
    while (kind === 'hang' && double.requests().at(-1)?.fault !== kind) {
      await new Promise(resolve => setImmediate(resolve))
    }
    if (kind === 'hang') stop.abort()
    await answer
  }
  await double.fetch('pets?limit=2&limit=3&page=%C3%A4', { method: 'HEAD' })
  const har = double.har()
  assert.equal(har.log.entries.length, 7)
  assert.deepEqual(har.log.pages, [], 'without it, Firefox imports nothing')
  assertValid(har)
  const comments = har.log.entries.map(({ comment }) => comment)
  for (const kind of kinds) {
    assert.ok(
      comments.some(comment => comment?.startsWith(`API key: demo-free; fault: ${kind}, `)),
      kind,
    )
  }
})

test('har - times are those of the virtual clock', async () => {
  await using double = createTestDouble()
  double.faults.arm({ kind: 'delay', duration: 1_500 })
  const late = double.fetch('pets')
  await double.run(() => late)
  const [entry] = double.har().log.entries
  assert.deepEqual(
    [entry?.startedDateTime, entry?.time, entry?.timings, entry?.connection],
    ['2030-01-01T00:00:00.000Z', 1_500, { send: 0, wait: 1_500, receive: 0 }, '1'],
  )
})

test('har - bodies keep every digit and every byte', async () => {
  await using double = createTestDouble()
  await create(double, null)
  const [entry] = double.har().log.entries
  assert.equal(entry?.request.postData?.text, '{"name":"Ada","categoryId":9223372036854775807}')
  const answer = '{"id":1,"name":"Ada","categoryId":9223372036854775807,"status":"available"}'
  assert.equal(entry?.response.content.text, answer)

  const bytes = Uint8Array.of(0x7b, 0xc3, 0x28, 0x7d)
  await double.fetch('pets', { method: 'POST', headers: HEADERS, body: bytes })
  const sent = double.har().log.entries[1]?.request
  const base64 = { text: 'e8MofQ==', _encoding: 'base64' }
  assert.deepEqual(sent?.postData, { mimeType: 'application/json', ...base64 })
  assert.equal(sent?.bodySize, 4)

  const bom = new TextEncoder().encode('\uFEFF{}')
  const [binary, text] = harOf([source({ body: bytes }), source({ requestBody: bom, body: 'ä' })])
    .log.entries
  assert.deepEqual(binary?.response.content, {
    size: 4,
    mimeType: 'x-unknown',
    text: 'e8MofQ==',
    encoding: 'base64',
  })
  assert.deepEqual(text?.request.postData, { mimeType: '', text: '\uFEFF{}' })
  assert.deepEqual(text?.response.content, { size: 2, mimeType: 'x-unknown', text: 'ä' })
})

test('har - an exchange without a response says so, and one in flight', () => {
  const none = { answeredAt: null, status: null }
  const [hanging, open] = harOf([source({ ...none, fault: 'hang' }), source(none)]).log.entries
  assert.deepEqual(
    [hanging?.response.status, hanging?.response.bodySize, hanging?.comment],
    [0, -1, 'API key: ci; fault: hang, there was no response'],
  )
  assert.equal(open?.comment, 'API key: ci; still in flight')
})

test('har - names keys and holds none, not even a short one', async () => {
  const record = { id: 'ci', plan: 'free' } as const
  await using double = createTestDouble({ apiKeys: { [KEY]: record, k7: record } })
  for (const key of [KEY, 'k7', 'wrong-key-1234']) {
    const headers = { authorization: `Bearer ${key}`, cookie: key, 'x-note': `a ${key}` }
    await double.fetch(`pets?limit=${key}`, { headers })
    const body = JSON.stringify({ name: key, categoryId: 1 })
    await double.fetch('pets', { method: 'POST', body, headers })
  }
  const text = JSON.stringify(double.har())
  assert.doesNotMatch(text, /k3y-that|k7|wrong-key/)
  assert.match(text, /"API key: ci"/)
})

test('har - lists exchanges by time, filtered, and those of a restored journal', async () => {
  await using double = createTestDouble()
  await create(double, null)
  double.clock.advance('61s')
  await double.fetch('pets')
  const times = double.har().log.entries.map(({ startedDateTime }) => startedDateTime)
  assert.deepEqual(times, ['2030-01-01T00:00:00.000Z', '2030-01-01T00:01:01.000Z'])
  assert.equal(double.har({ operation: 'createPet' }).log.entries.length, 1)
  await using other = createTestDouble()
  await other.restore(await double.snapshot())
  assert.deepEqual(other.har(), double.har())
  const later = source({ at: T0 + 1 })
  const [first] = harOf([later, source()]).log.entries
  assert.equal(first?.startedDateTime, '2030-01-01T00:00:00.000Z')
})

const HEADERS = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }

function create(double: Pick<typeof globalThis, 'fetch'>, signal: AbortSignal | null) {
  const body = '{"name":"Ada","categoryId":9223372036854775807}'
  return double.fetch('pets', { method: 'POST', headers: HEADERS, body, signal })
}

/** The schema of ahmadnassri/har-spec, which har-validator uses. */
function assertValid(har: Har): void {
  const require = createRequire(import.meta.url)
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addMetaSchema(require('ajv/dist/refs/json-schema-draft-06.json'))
  const schemas: Readonly<Record<string, object>> = require('har-schema')
  for (const schema of Object.values(schemas)) ajv.addSchema(schema)
  const validate = ajv.getSchema('har.json#')
  assert.ok(validate)
  assert.ok(validate(JSON.parse(JSON.stringify(har))), JSON.stringify(validate.errors))
}
