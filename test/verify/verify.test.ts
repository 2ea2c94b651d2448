import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { CHECKS, type VerifyReport } from '../../adapters/verify/index.js'
import { reportJUnit } from '../../adapters/verify/junit.js'
import { createStore } from '../../src/index.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'
import { runInThread } from '../support/command.js'
import { assertJUnit } from '../support/junit.js'
import { MAIN, ROOT_URL } from '../support/paths.js'
import { served } from '../support/served.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const KEY = 's3cret-key'

test('verify - our own command line breaks nothing, description and console included', async t => {
  const { ready } = await served(t, ['-q', '--empty', '--idempotency'])
  const { baseUrl, origin, apiKeys } = ready
  const openApi = ['--openapi', `${origin}/openapi.json`]
  const words = [baseUrl, '--api-key', apiKeys.business, '--idempotency', ...openApi]
  const { code, stdout, stderr } = await verify(words)
  assert.deepEqual([code, stderr], [0, ''])
  const [, most = ''] =
    /^Verifying http:\S+\. Checks: \d+, requests: at most (\d+)\n/.exec(stdout) ?? []
  const page = await readFile(new URL('adapters/verify/README.md', ROOT_URL), 'utf8')
  const [, promised = ''] = / never sends more than (\d+) without `--exhaust`/.exec(page) ?? []
  assert.ok(Number(most) <= Number(promised), `${most} of ${promised} requests`)
  const limits = CHECKS.filter(({ needs }) => needs?.includes('exhaust')).length
  const passed = CHECKS.length - limits
  assert.match(stdout, new RegExp(`\\n${limits} skipped: needs a spare key to exhaust\\n`))
  assert.match(
    stdout,
    new RegExp(`\\n${passed} passed, 0 MUST broken, 0 SHOULD not met, ${limits} `),
  )
})

test('verify - a broken MUST is exit code 1, and all of it is shown', async t => {
  const url = await broken(t)
  const { code, stdout } = await verify([url, '--api-key', KEY, '--only', 'create.required'])
  assert.equal(code, 1)
  assert.match(
    stdout,
    /\nMUST broken: create\.required\n {2}a body without `name` or `categoryId` is 400 \(spec §4\.2\)\n {2}sent {6}POST \/pets with \{"categoryId":1,"status":"available"\}, with the key\n {2}came {6}500 .*\n {2}expected {2}400; 2 more failed: POST /,
  )
  assert.match(
    stdout,
    /\n0 passed, 1 MUST broken, 0 SHOULD not met, 0 skipped; 5 requests in \d+ s\n$/,
  )
})

test('verify - inside exec, takes the API key of the private store', async () => {
  const command = `"${process.execPath}" "${MAIN}" verify "$ADOPTION_STORE_BASE_URL" --only auth.exact`
  const { code, stderr } = await run(['exec', '--', 'sh', '-c', command])
  assert.equal(code, 0, stderr)
})

test('verify - a SHOULD that is not met is shown, with exit code 0', async t => {
  const url = await broken(t)
  const { code, stdout } = await verify([url, '--api-key', KEY, '--only', 'robust.head'])
  assert.equal(code, 0)
  assert.match(stdout, /\nSHOULD not met: robust\.head\n/)
})

test('verify - --json and --junit hold the same report', async t => {
  const folder = temporaryFolder(t)
  const junit = join(folder, 'report.xml')
  const url = await broken(t)
  const only = ['--only', 'robust.head,create.required,auth.exact', '--only', 'openapi.version']
  const { code, stdout, stderr } = await run(['verify', url, '--json', '--junit', junit, ...only], {
    ADOPTION_STORE_API_KEY: KEY,
  })
  assert.deepEqual([code, stderr], [1, ''])
  const report = JSON.parse(stdout) as VerifyReport
  assert.deepEqual(
    report.results.map(({ id, level, outcome }) => `${id} ${level} ${outcome}`),
    [
      'auth.exact MUST passed',
      'create.required MUST failed',
      'openapi.version MUST skipped',
      'robust.head SHOULD failed',
    ],
  )
  assert.deepEqual([report.ok, report.baseUrl, report.requestCount], [false, url, 12])
  const xml = await readFile(junit, 'utf8')
  assert.equal(xml, [...reportJUnit(report)].join(''))
  assertJUnit(xml)
  assert.match(
    xml,
    /<testsuite name="animal-adoption-store verify" tests="4" failures="1" errors="0" skipped="2">/,
  )
  assert.match(xml, /<testcase classname="auth" name="auth\.exact: [^"]*"\/>/)
  assert.match(
    xml,
    /name="create\.required: [^"]*"><failure message="MUST \(spec §4\.2\): expected 400; 2 more failed: /,
  )
  assert.match(
    xml,
    /name="openapi\.version: [^"]*"><skipped message="needs the address of a description"\/>/,
  )
  assert.match(xml, /name="robust\.head: [^"]*"><skipped message="SHOULD not met \(RFC /)
})

test('verify - JUnit holds any text', () => {
  const failure = { sent: '<a>&"\n', came: '\u0000\ud800 \u{1f408}', expected: '200' }
  const about = {
    id: 'a.b',
    level: 'MUST',
    source: 'spec §1',
    title: 't',
    outcome: 'failed',
  } as const
  const report = { baseUrl: '', ok: false, requestCount: 1, results: [{ ...about, failure }] }
  const sent = 'sent: &lt;a&gt;&amp;&quot;&#10;'
  assert.ok(
    [...reportJUnit(report)].join('').includes(`${sent}&#10;came: \ufffd\ufffd \u{1f408}&#10;`),
  )
})

test('verify - --bail stops at the first broken MUST', async t => {
  const url = await broken(t)
  const { stdout } = await verify([url, '--api-key', KEY, '--json', '--bail', '--only', 'create'])
  const { results } = JSON.parse(stdout) as VerifyReport
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id),
    [results.at(-1)?.id],
  )
})

test('verify - --list prints every check and sends nothing', async () => {
  const { code, stdout } = await verify(['--list'])
  assert.equal(code, 0)
  const lines = stdout.trimEnd().split('\n')
  assert.equal(lines.length, CHECKS.length)
  assert.match(lines[0] ?? '', /^list\.empty +MUST, spec §4\.1: /)
  const auth = JSON.parse((await verify(['--list', '--json', '--only', 'auth'])).stdout)
  assert.deepEqual(Object.keys(auth[0]), ['id', 'level', 'source', 'title'])
  assert.equal(auth.length, CHECKS.filter(({ id }) => id.startsWith('auth.')).length)
})

test('verify - what the server or the disk refuses is one line that shows no key, and exit code 2', async t => {
  const url = await broken(t)
  for (const [words, line] of [
    [[url, '--api-key', 'other-s3cret'], /401/],
    [[url, '--api-key', KEY, '--only', 'auth.exact', '--junit', '.'], /--junit .*EISDIR$/m],
  ] as const) {
    const { code, stdout, stderr } = await verify(words)
    assert.match(stderr, /^animal-adoption-store: [^\n]+\n$/)
    assert.match(stderr, line)
    assert.equal(code, 2)
    assert.doesNotMatch(stdout + stderr, /s3cret/)
  }
})

test('verify - its help lists its options and fits a terminal', async () => {
  const { code, stdout } = await verify(['--help'])
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^Usage: animal-adoption-store verify <base-url> --api-key <key> \[options\]\n/,
  )
  assert.ok(stdout.split('\n').every(line => line.length <= 100))
})

/** Refuses a creation with 500, and does not find what HEAD asks for. */
async function broken(t: TestContext): Promise<string> {
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { [KEY]: { id: 'main', plan: 'business' } },
  })
  const handler: ApiHandler = {
    ...store,
    async handle(request) {
      const answer = await store.handle(request)
      if (request.method === 'HEAD') return { ...answer, status: 404 }
      return answer.status === 400 ? { ...answer, status: 500 } : answer
    },
  }
  const server = await listen(handler, { port: 0 })
  t.after(() => server.close())
  return server.url
}

function verify(words: readonly string[]) {
  return run(['verify', ...words])
}

function run(words: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  return runInThread(words, { ...process.env, ...variables })
}
