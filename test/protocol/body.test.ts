import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { withBodyRead } from '../../adapters/verdict/log/read-request.js'
import { createStore } from '../../src/index.js'
import { utf8Length } from '../../src/lib/utf8.js'
import type { ApiRequest } from '../../src/protocol/api-request.js'

const PET = '{"name":"Rex","categoryId":1}'
const REQUEST: ApiRequest = {
  method: 'POST',
  path: '/v1/pets',
  query: '',
  headers: { authorization: 'Bearer demo' },
}

test('body - a streamed body is rejected by its actual size, whatever the headers say', async () => {
  for (const [size, status] of [
    [100, 201],
    [101, 413],
  ] as const) {
    assert.equal(await statusOf(async () => Buffer.from(PET.padEnd(size))), status)
    assert.equal(await statusOf(() => Buffer.from(PET.padEnd(size))), status)
    assert.equal(await statusOf(PET.padEnd(size)), status)
  }
})

test('body - a body that its headers rule out is never read', async () => {
  let reads = 0
  const body = () => {
    reads++
    return Buffer.from(PET)
  }
  assert.equal(await statusOf(body, { 'content-length': '101' }), 413)
  assert.equal(await statusOf(body, { 'content-type': 'text/plain' }), 415)
  assert.equal(reads, 0)
})

test('body - a string may start with a byte order mark', async () => {
  assert.equal(await statusOf(`\ufeff${PET}`), 201)
  assert.equal(await statusOf(`\ufeff\ufeff${PET}`), 400)
})

test('body - with maxBodyBytes 0, an empty body is 400 and any other is 413', async () => {
  for (const body of [undefined, '', () => Buffer.of(), async () => Buffer.of()]) {
    assert.equal(await statusOf(body, {}, 0), 400)
  }
  assert.equal(await statusOf('1', {}, 0), 413)
})

test('utf8Length - returns the length of the encoded text, lone surrogates included', () => {
  const edges = [
    0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff,
  ]
  for (const one of edges) {
    for (const other of edges) {
      const text = `a${String.fromCharCode(one, other)}é`
      assert.equal(utf8Length(text), Buffer.byteLength(text), `${one} ${other}`)
    }
  }
  assert.equal(utf8Length('\ud83d'), 3)
  assert.equal(utf8Length(''), 0)
})

test('withBodyRead - reads the body, and turns a failure into a refusal', async () => {
  assert.deepEqual(await withBodyRead(REQUEST), { ...REQUEST, body: undefined })
  assert.deepEqual(await withBodyRead({ ...REQUEST, body: PET }), { ...REQUEST, body: PET })
  const bytes = Buffer.from(PET)
  for (const body of [() => bytes, async () => bytes]) {
    assert.deepEqual(await withBodyRead({ ...REQUEST, body }), { ...REQUEST, body: bytes })
  }
  const failing = async () => Promise.reject(new Error('the socket closed'))
  const { body, refusal } = await withBodyRead({ ...REQUEST, body: failing })
  assert.deepEqual([body, refusal?.code], [undefined, 'internal_error'])
})

async function statusOf(
  body: ApiRequest['body'],
  headers: Readonly<Record<string, string>> = {},
  maxBodyBytes = 100,
): Promise<number> {
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'free' } },
    maxBodyBytes,
  })
  const response = await store.handle({
    ...REQUEST,
    headers: { ...REQUEST.headers, ...headers },
    body,
  })
  return response.status
}
