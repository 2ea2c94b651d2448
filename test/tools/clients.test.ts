import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { MAIN } from '../support/paths.js'

const run = promisify(execFile)
const withoutCurl = spawnSync('curl', ['--version']).error && 'curl is not installed'
const withoutPython = spawnSync('python3', ['--version']).error && 'python3 is not installed'
const withCurl = withoutCurl ? { skip: withoutCurl } : {}
const withPython = withoutPython ? { skip: withoutPython } : {}

const SECRET = 's3cret-key'
const T0 = Date.UTC(2030, 0, 1)

test('verdict - curl in a loop is seen as one client', withCurl, async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  for (let tries = 0; tries < 64; tries++) {
    await run('curl', ['-sS', '-H', 'Authorization: Bearer demo-free', `${url}/pets`])
  }
  assert.deepEqual(
    double.report().findings.map(({ rule }) => rule),
    ['retry-after.early'],
  )
})

test('control - curl alone can reproduce escalating bans', withCurl, async () => {
  await using double = createTestDouble({ control: true })
  const { origin, url } = await double.listen()
  // The instant, then Reset and Retry-After of the last of 91 requests.
  const rows = [
    [0, 300, 300],
    [300_000, 900, 600],
    [900_000, 2_100, 1_200],
    [2_100_000, 4_500, 2_400],
    [4_500_000, 8_100, 3_600],
    [8_100_000, 11_700, 3_600],
    [98_099_999, 101_700, 3_601],
    [188_100_000, 188_400, 300],
  ] as const
  const auth = ['-H', 'Authorization: Bearer demo-free']
  const shown = '%{http_code} %header{x-ratelimit-reset} %header{retry-after}\\n'
  for (const [at, reset, retryAfter] of rows) {
    const json = ['-H', 'Content-Type: application/json', '-d', `{"set":${T0 + at}}`]
    await run('curl', ['-s', ...json, `${origin}/_control/clock`])
    const words = ['-s', '-o', '/dev/null', '-w', shown, ...auth, `${url}/pets?n=[1-91]`]
    const { stdout } = await run('curl', words)
    const last = stdout.trim().split('\n').at(-1)
    assert.equal(last, `429 ${T0 / 1000 + reset} ${retryAfter}`, `at ${at}`)
  }
})

test('journal - toCurl repeats a request in a shell', withCurl, async () => {
  await using double = createTestDouble({ apiKeys: { [SECRET]: { id: 'ci', plan: 'pro' } } })
  const { url, origin } = await double.listen()
  const body = `{"name":"it's \\"Ada\\" $HOME","categoryId":1}`
  const auth = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  const headers = { ...auth, 'idempotency-key': "it's" }
  await fetch(`${url}/pets?limit=1`, { method: 'POST', headers, body })
  const [first] = double.requests()
  const inShell = (line = '') =>
    run('/bin/sh', ['-c', line], { env: { ...process.env, ADOPTION_STORE_API_KEY: SECRET } })
  const { stdout } = await inShell(first?.toCurl())
  assert.deepEqual(JSON.parse(stdout), {
    id: 2,
    name: `it's "Ada" $HOME`,
    categoryId: 1,
    status: 'available',
  })
  const [, second] = double.requests()
  assert.equal(second?.requestBody, first?.requestBody)
  assert.equal(second?.requestHeaders['idempotency-key'], "it's")
  assert.equal(second?.key, 'ci')
  await double.fetch('pets?status=sold', { headers })
  const { stdout: list } = await inShell(double.requests().at(-1)?.toCurl(origin))
  assert.equal(list, '[]')
})

test(
  'exec - distinguishes a Python client that waits from one that does not',
  withPython,
  async () => {
    const exec = (...words: string[]) =>
      run(process.execPath, [
        ...[MAIN, 'exec', '--clock', '2030-01-01', '--', 'python3', '-c', PYTHON],
        ...words,
      ])
    const polite = await exec('wait')
    assert.deepEqual(
      [polite.stdout, polite.stderr],
      ['62\n', 'Verdict: no violations in 63 requests.\n'],
    )
    const rude = await exec()
    assert.match(
      rude.stderr,
      /^Verdict: 1 finding in 6\d requests\.\n {2}retry-after\.early \(key demo-free/,
    )
  },
)

const PYTHON = `
import json, os, sys, urllib.error, urllib.request
base, key, control = (os.environ['ADOPTION_STORE_' + name] for name in ('BASE_URL', 'API_KEY', 'CONTROL_URL'))
def send(url, headers, body=None):
    return urllib.request.urlopen(urllib.request.Request(url, body, headers))
def wait(seconds):
    body = json.dumps({'advance': seconds * 1000}).encode()
    send(control + '/clock', {'Content-Type': 'application/json'}, body).read()
done = tries = 0
while done < 62 and tries < 66:
    tries += 1
    try:
        send(base + '/pets', {'Authorization': 'Bearer ' + key}).read()
        done += 1
    except urllib.error.HTTPError as error:
        error.read()
        if 'wait' in sys.argv: wait(int(error.headers['Retry-After']))
print(done)
`
