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

test(
  'exec - distinguishes a Python client that waits from one that does not',
  withPython,
  async () => {
    const exec = (...words: string[]) =>
      run(process.execPath, [
        ...[MAIN, 'exec', '--time', '2030-01-01', '--', 'python3', '-c', PYTHON],
        ...words,
      ])
    const polite = await exec('wait')
    assert.equal(polite.stdout, '62\n')
    assert.match(polite.stderr, /^Verdict: no violations in 63 requests\.\n/)
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
