import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createTestDouble } from '../../adapters/test-double/index.js'

const run = promisify(execFile)
const withoutCurl = spawnSync('curl', ['--version']).error && 'curl is not installed'
const withCurl = withoutCurl ? { skip: withoutCurl } : {}

test('verdict - curl in a loop is seen as one client', withCurl, async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  for (let tries = 0; tries < 64; tries++) {
    await run('curl', ['-sS', '-H', 'Authorization: Bearer demo-free', `${url}/pets`])
  }
  const rules = double.report().findings.map(({ rule }) => rule)
  assert.deepEqual(rules, ['retry-after.early'])
})
