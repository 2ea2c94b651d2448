import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { curlOf, type PlainRequest } from '../../adapters/verdict/log/copy-as-curl.js'
import { createRandom, type Random } from '../crash/random.js'
import { answerTo } from '../http/raw-socket.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { type RawRequest, recordRequests } from '../verdict/log/raw-requests.js'

test('curl - a command sends the same bytes, whatever they are: nothing runs or reads a file', async t => {
  if (isMissing(t)) return
  await using recorder = await recordRequests()
  const requests = Array.from({ length: 300 }, (_, seed) => requestOf(createRandom(seed)))
  const commands = requests.map(request => curlOf(request, recorder.origin))
  await runInBash(t, commands)
  assert.equal(recorder.requests.length, requests.length)
  for (const [at, request] of requests.entries()) {
    assert.deepEqual(recorder.requests[at], sentAs(request, recorder.origin), commands[at])
  }
})

test('curl - a body that no argument can hold comes from a file', () => {
  const bodyOf = (body: string) =>
    curlOf({ method: 'POST', target: '/', headers: {}, body }, 'http://127.0.0.1')
      .split(' --')
      .at(-1)
  assert.equal(bodyOf('a\0b'), 'data-binary @body')
  assert.equal(bodyOf('x'.repeat(100_001)), 'data-binary @body')
  assert.match(bodyOf('x'.repeat(100_000)) ?? '', /^data-raw 'x/)
})

test('curl - the journal of a double repeats what came over a socket', async t => {
  if (isMissing(t)) return
  await using recorder = await recordRequests()
  await using double = createTestDouble({ rateLimiting: false })
  const { port } = await double.listen()
  const sent = SENT.map(([head, body = '']) => {
    const length = body === '' ? '' : `content-length: ${body.length}\r\n`
    return `${head}\r\nhost: 127.0.0.1:${port}\r\n${length}\r\n${body}`
  })
  for (const request of sent) await answerTo(port, Buffer.from(request, 'latin1'), 'HTTP/1.1 ')
  const entries = double.requests()
  assert.equal(entries.length, sent.length)
  await runInBash(
    t,
    entries.map(entry => entry.toCurl(recorder.origin)),
  )
  for (const [at, [head, body = '']] of SENT.entries()) {
    const [line = '', ...lines] = head.split('\r\n')
    const repeated = recorder.requests[at]
    const [method, target] = line.split(' ')
    assert.deepEqual([repeated?.method, repeated?.target, repeated?.body], [method, target, body])
    const own = repeated?.headers.filter(([name]) => !/^(host|content-length)$/.test(name))
    assert.deepEqual(
      own?.map(([name, value]) => `${name}: ${value}`.trim()),
      lines.toSorted(),
    )
  }
})

/** Request heads without `Host`, and bodies; each character is one byte. */
const SENT: readonly (readonly [head: string, body?: string])[] = [
  ['GET /v1/pets HTTP/1.1'],
  ['GET /v1/pets? HTTP/1.1'],
  ['GET /v1/pets?limit={1,2}[3-4] HTTP/1.1\r\nuser-agent: x'],
  ["GET /v1/pets/'%00%20%27$HOME HTTP/1.1"],
  [
    'POST /v1/pets HTTP/1.1\r\ncontent-type: application/json',
    '{"name":"it\'s\\n","categoryId":1}',
  ],
  ['POST /v1/pets HTTP/1.1', '@/etc/hostname'],
  ['POST /v1/pets HTTP/1.1\r\ncontent-type:', '\xff\xfe\x01 no UTF-8'],
  ['POST /v1/pets HTTP/1.1\r\ncontent-type: application/json', '\xef\xbb\xbf{"name":"\xc3\xa9"}'],
  ['GET /v1/pets HTTP/1.1\r\nx-empty:\r\nx-text: caf\xe9 "$HOME" \\', 'body of a GET'],
  ['HEAD /v1/pets HTTP/1.1\r\nx-a: b'],
  ['M-SEARCH /v1/pets HTTP/1.1'],
  ['OPTIONS * HTTP/1.1'],
]

function isMissing(t: TestContext): boolean {
  const missing = ['curl', 'bash'].find(name => spawnSync(name, ['--version']).error)
  if (missing) t.skip(`${missing} is not installed`)
  return missing !== undefined
}

/** One after the other. */
async function runInBash(t: TestContext, commands: readonly string[]): Promise<void> {
  const cwd = temporaryFolder(t)
  await writeFile(
    join(cwd, 'commands.sh'),
    commands.map(command => `${command} > /dev/null\n`).join(''),
  )
  const run = promisify(execFile)('bash', ['commands.sh'], { cwd, timeout: 120_000 })
  // A command that read from it would wait forever.
  run.child.stdin?.end()
  await run
}

/** The request as a server should receive it: the headers of the connection are curl's own. */
function sentAs({ method, target, headers, body }: PlainRequest, origin: string): RawRequest {
  const { host: _, ...own } = headers
  const bytes = latin1(body)
  const sent = { ...own, host: origin.slice('http://'.length) }
  return {
    method,
    target,
    headers: Object.entries(sent).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    body: bytes,
  }
}

function latin1(body: Uint8Array | string): string {
  return Buffer.from(body).toString('latin1')
}

const METHODS = ['GET', 'POST', 'HEAD', 'PUT', 'M-SEARCH', "$'x'|id&", '!`a`', 'get', '*']
const TARGETS = [
  '/v1/pets',
  '/v1/pets?limit=1&status=sold',
  '/%2e%2E/x',
  '/v1/pets[1-3]{a,b}',
  '/caf\xc3\xa9',
  '/\xff\xfe',
  '/"<>\\^`{|}',
  "/it's/$HOME/$(id)",
  '*',
  '/%00%zz%',
]
const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  ['content-type', ['application/json', '', 'text/plain; charset=utf-8', 'multipart/form-data']],
  ['accept', ['*/*', '', 'application/json']],
  ['user-agent', ['agent/1.0', '']],
  ['x-empty', ['']],
  [
    'x-text',
    ["it's", '"quoted"', '$HOME `id` $(id)', 'caf\xe9', '\xff', '\\n\\', ';', ': :', '%s'],
  ],
  ['accept-encoding', ['gzip, deflate', 'identity']],
  ['connection', ['keep-alive', 'close']],
  ['cookie', ['a=1; b=2']],
  ['expect', ['100-continue']],
  ['authorization', ['Basic YTpi', '']],
]
const BODIES = [
  '',
  '@/etc/passwd',
  '@commands.sh',
  "'; touch a; '",
  "$'x'|touch d&",
  '\n touch e\n',
  '<file',
  'line\nline\r\n\n',
  'it\'s "$HOME" `id` $(id) \\n !! %s %% \t',
  'é \u202e \ud83d\ude00',
  new Uint8Array([0xff, 1, 0x27, 0x5c, 0x25, 0x0a, 0x80]),
  'x'.repeat(2_000),
]

function requestOf(random: Random): PlainRequest {
  const pick = <T>(from: readonly T[]) => from[random(from.length)] as T
  const headers = HEADERS.filter(() => random(3) === 0)
  const body =
    random(4) > 0 ? pick(BODIES) : Uint8Array.from({ length: random(60) }, () => 1 + random(255))
  const length = { 'content-length': String(latin1(body).length) }
  const chunked = { 'transfer-encoding': 'chunked' }
  const framing = body.length > 0 ? [length, length, chunked] : [length, {}]
  return {
    method: pick(METHODS),
    target: random(3) > 0 ? pick(TARGETS) : `/${text(random, 0x21)}`,
    headers: Object.fromEntries([
      ...headers.map(([name, values]) => [name, pick(values)]),
      ...Object.entries(pick(framing)),
      ['x-random', text(random, 0x20).trim()],
    ]),
    body,
  }
}

/** Characters of one byte each, from the lowest on, without those that end a line. */
function text(random: Random, lowest: number): string {
  const codes = Array.from({ length: random(30) }, () => lowest + random(256 - lowest))
  return String.fromCharCode(
    ...codes.filter(code => code !== 0x7f && code !== 0xa0 && code !== 0x85),
  )
}
