import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { PlainRequest } from '../../adapters/verdict/log/copy-as-curl.js'
import { fetchCodeOf } from '../../adapters/verdict/log/copy-as-fetch.js'
import { type RawRequest, recordRequests } from '../verdict/log/raw-requests.js'

const KEY = 'k3y of $`"\' \\ length'
const run = promisify(execFile)

const REQUESTS: readonly PlainRequest[] = [
  { method: 'GET', target: '/v1/pets?limit=3&status=sold', headers: {}, body: '' },
  request({ authorization: 'Bearer demo-free' }, '{"name":"Ada","categoryId":9223372036854775807}'),
  request({ authorization: 'Bearer REDACTED', 'x-a-b': `it's "quoted" \\ \${1} {x}` }, '{}'),
  request(
    { 'x-latin': 'Zo\xeb' },
    `'"\\ \n\r\t\0 \u2028\u202e\x7f Zoë 🐾 \${process.exit()} {0} %s`,
  ),
  request({}, Uint8Array.of(0xff, 0, 0x22, 0x27, 0x5c, 0x80)),
  request({}, '\ufeff{"name":"Rex"}'),
  { method: 'DELETE', target: "/v1/pets/it's", headers: { 'content-length': '0' }, body: '' },
]

test('code - fetch sends the same request as was recorded', async () => {
  await assertSame(fetchCodeOf, async code => {
    const script = `(async () => { ${code} })()`
    await run(process.execPath, ['-e', script], withKey())
  })
})

test('code - fetch cannot send a body with GET, and the code says so', () => {
  const code = fetchCodeOf({ ...request({}, '{}'), method: 'GET' }, 'http://127.0.0.1:4280')
  assert.match(code, /^\/\/ fetch cannot send the body with GET\.\n/)
  assert.doesNotMatch(code, /body:/)
})

async function assertSame(
  codeOf: (request: PlainRequest, origin: string) => string,
  execute: (code: string) => Promise<void>,
): Promise<void> {
  await using recorder = await recordRequests()
  for (const [at, sent] of REQUESTS.entries()) {
    const code = codeOf(sent, recorder.origin)
    await execute(code)
    const arrived = recorder.requests[at]
    assert.ok(arrived, code)
    assert.deepEqual([arrived.method, arrived.target], [sent.method, sent.target], code)
    assert.equal(arrived.body, latin1(sent.body), code)
    for (const [name, value] of Object.entries(sent.headers)) {
      if (name === 'content-length') continue
      assert.equal(
        headerOf(arrived, name),
        value.replace('REDACTED', () => KEY),
        code,
      )
    }
  }
}

function request(headers: PlainRequest['headers'], body: PlainRequest['body']): PlainRequest {
  return { method: 'POST', target: '/v1/pets', headers, body }
}

function headerOf({ headers }: RawRequest, name: string): string | undefined {
  return headers.find(([found]) => found === name)?.[1]
}

function latin1(body: PlainRequest['body']): string {
  return Buffer.from(body).toString('latin1')
}

function withKey() {
  return { env: { ...process.env, ADOPTION_STORE_API_KEY: KEY }, timeout: 60_000 }
}
