import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createTestDouble, type TestDouble } from '../../../adapters/test-double/index.js'
import { borrowedCommand } from '../../support/borrowed-command.js'
import { runCommand, runInThread, scriptCommand } from '../../support/command.js'
import { serveHttp } from '../../support/http-server.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

/** No server is there. A port that the system has just taken back may be another program's by now. */
const DEAD = 'http://127.0.0.1:2/v1'
const KEY = 'k3y-that-must-not-leak'
const API_KEYS = { [KEY]: { id: 'ci', plan: 'pro' } } as const
/** It reads each body, as the next request would otherwise take another connection. */
const GET = `const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
  const headers = { authorization: 'Bearer ' + key }
  const get = async path => {
    const response = await fetch(url + path, { headers })
    await response.text()
    return response.status
  };`

test('exec --through - the command reaches the server, and the verdict of the double follows', async () => {
  await using double = createTestDouble({ apiKeys: API_KEYS, time: 'running' })
  const { url } = await double.listen()
  const script = `${GET} console.log(await get('/pets'), url.startsWith('http://127.0.0.1:'), process.env.ADOPTION_STORE_CONTROL_URL)`
  const polite = await through(url, ['--strict', '--api-key', KEY], script, {
    run: runCommand,
    commandOf: scriptCommand,
  })
  assert.deepEqual(
    [polite.code, polite.stdout, polite.stderr],
    [0, '200 true undefined\n', 'Verdict: no violations in 1 request.\n'],
  )
  const bad = await through(url, ['--strict', '--api-key', KEY], `${GET} await get('/pets/1')`)
  assert.equal(bad.code, 1)
  assert.match(bad.stderr, /^Verdict: 1 finding in 1 request\.\n {2}deprecated\.called \(key 1, /)
  assert.deepEqual(
    double.requests().map(({ keyId }) => keyId),
    ['ci', 'ci'],
  )
})

test('exec --through - the key comes from --api-key or the environment', async t => {
  const folder = temporaryFolder(t)
  await using double = createTestDouble({ apiKeys: API_KEYS, time: 'running' })
  const { url } = await double.listen()
  const json = join(folder, 'report.json')
  const script = `${GET}
    const statuses = [await get('/pets?q=' + key), await get('/' + key), await get('/pets/1')]
    for (let count = 0; count < 6; count++) await get('/' + key)
    process.exit(statuses.join() === '200,404,404' ? 7 : 1)`
  for (const [flags, variables] of [
    [['--api-key', KEY], {}],
    [[], { ADOPTION_STORE_API_KEY: KEY }],
  ] as const) {
    const words = throughWords(url, [...flags, '--report', json], borrowedCommand(script))
    const { code, stderr } = await runInThread(words, { ...environment(), ...variables })
    assert.equal(code, 7, JSON.stringify(flags))
    assert.match(stderr, /refusal\.repeated/)
  }
  const { findings, decided, unanswered } = JSON.parse(await readFile(json, 'utf8'))
  assert.deepEqual([findings.length > 0, decided, unanswered], [true, 2, 0])
})

test('exec --through --strict - fails when the server decided on nothing', async () => {
  await using double = createTestDouble({ apiKeys: API_KEYS, time: 'running' })
  const { url, origin } = await double.listen()
  const lists = `${GET} await get('/pets').catch(() => {})`
  for (const [baseUrl, script, expected] of [
    [url, 'null', /^Verdict: no requests arrived, [^\n]+\n$/],
    [
      DEAD,
      lists,
      /did not arrive in full, .*: connection refused \(ECONNREFUSED\)\.\n.*nothing was checked/,
    ],
    [
      origin,
      `${GET} await fetch(url.replace('/v1', '') + '/healthz')`,
      /the service decided on no request/,
    ],
    [`${url}/nowhere`, lists, /decided on no request, .* 404: should the base URL end with \/v1\?/],
  ] as const) {
    const strict = await through(baseUrl, ['--strict', '--api-key', KEY], script)
    assert.match(strict.stderr, expected)
    assert.equal(strict.code, 1, baseUrl)
    const lenient = await through(baseUrl, ['--api-key', KEY], script)
    assert.deepEqual([lenient.code, lenient.stderr], [0, strict.stderr])
  }
})

test('exec --through - a dead server is one line, and 502 to the client', async () => {
  const script = `${GET} const response = await fetch(url + '/pets'); console.log(response.status, await response.text())
    for (let count = 0; count < 4; count++) await get('/pets')`
  const { stdout, stderr } = await through(DEAD, [], script, { run: runCommand })
  const message = 'The service gave no response: connection refused (ECONNREFUSED).'
  assert.equal(stdout, `502 ${JSON.stringify({ code: 'bad_gateway', message, status: 502 })}\n`)
  assert.equal(stderr.match(/ECONNREFUSED/g)?.length, 1)
  assert.match(stderr, /Verdict: 5 responses of http:\/\/127\.0\.0\.1:\d+ did not arrive in full/)
})

test('exec --through - options of a store in the environment are left aside', async () => {
  await using double = createTestDouble({ apiKeys: API_KEYS, time: 'running' })
  const { url } = await double.listen()
  const variables = {
    ADOPTION_STORE_SEED: 'none.json',
    ADOPTION_STORE_TIME: '2030-01-01',
    PORT: '1',
  }
  const script = `${GET} process.exit((await get('/pets')) === 200 ? 7 : 1)`
  const words = throughWords(url, ['--api-key', KEY], borrowedCommand(script))
  assert.equal((await runInThread(words, { ...environment(), ...variables })).code, 7)
})

test('exec --through - a command that ends with requests under way, or by a signal, ends the run', async t => {
  await using double = createTestDouble({ apiKeys: API_KEYS, time: 'running' })
  const { url } = await double.listen()
  double.faults.arm({ kind: 'hang', times: 'always' })
  const arrival = await tellArrivals(t, double)
  const inProcess = { commandOf: scriptCommand }
  const begin = `${GET} get('/pets').catch(() => {}); await fetch('${arrival}');`
  const exited = await through(url, ['--api-key', KEY], `${begin} process.exit(3)`, inProcess)
  assert.equal(exited.code, 3)
  assert.match(exited.stderr, /1 of 1 requests got no response/)
  const kill = `${begin} process.kill(process.pid, 'SIGKILL')`
  const killed = await through(url, ['--api-key', KEY], kill, inProcess)
  assert.equal(killed.code, 137)
})

/** The address of a server whose nth response comes after the nth request has reached the double. */
async function tellArrivals(t: TestContext, double: TestDouble): Promise<string> {
  let calls = 0
  const { origin } = await serveHttp(t, async (_request, response) => {
    const call = ++calls
    while (double.requests().length < call) await setImmediate()
    response.end()
  })
  return origin
}

/** What the script prints is there only where `run` is `runCommand`. */
function through(
  url: string,
  flags: readonly string[],
  script: string,
  { run = runInThread, commandOf = borrowedCommand } = {},
) {
  return run(throughWords(url, flags, commandOf(script)), environment())
}

function throughWords(url: string, flags: readonly string[], command: readonly string[]) {
  return ['exec', '--through', url, ...flags, '--', ...command]
}

function environment(): NodeJS.ProcessEnv {
  const { ADOPTION_STORE_API_KEY: _, ...others } = process.env
  return others
}
