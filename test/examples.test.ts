import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ROOT_URL } from './support/paths.js'

const run = promisify(execFile)
const { NODE_TEST_CONTEXT: _, ...ENV } = process.env

test('examples - the web app shows the animals and serves the API', async t => {
  const app = spawn(process.execPath, [example('web-app.mjs')], {
    env: { ...ENV, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => app.kill())
  const [address] = await once(app.stdout, 'data')
  const get = (path: string, headers = {}) => fetch(new URL(path, String(address)), { headers })

  assert.match(await (await get('/')).text(), /<li>Ada<\/li><li>Rex &#38; Tom<\/li>/)
  assert.equal((await get('/elsewhere')).status, 404)
  assert.equal((await get('/v1/pets')).status, 401)
  const listed = await get('/v1/pets', { authorization: 'Bearer s3cret' })
  assert.equal(((await listed.json()) as unknown[]).length, 2)
})

test('examples - the client test passes', async () => {
  const words = ['--test', '--test-reporter=tap', example('adoption-client.test.mjs')]
  const { stdout } = await run(process.execPath, words, { env: ENV })
  assert.match(stdout, /^# pass 5$/m)
  assert.match(stdout, /^# fail 0$/m)
})

function example(file: string): string {
  return fileURLToPath(new URL(`test/examples/${file}`, ROOT_URL))
}
