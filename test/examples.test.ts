import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ROOT_URL } from './support/paths.js'

const run = promisify(execFile)

test('examples - the client test passes', async () => {
  const path = fileURLToPath(new URL('test/examples/adoption-client.test.mjs', ROOT_URL))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', path], { env })
  assert.match(stdout, /^# pass 5$/m)
  assert.match(stdout, /^# fail 0$/m)
})
