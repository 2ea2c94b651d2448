import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { BUILD_URL } from '../support/paths.js'
import { claimedFor } from './table.js'

/** Serves a request on a socket, closes, and does the same for a test double. */
const PROGRAM = `
import { createStore } from './src/index.js'
import { listen } from './adapters/http/index.js'
import { memoryStorage } from './adapters/stores/memory.js'
import { createTestDouble } from './adapters/test-double/index.js'

const apiKeys = { 'demo-pro': { id: 'pro', plan: 'pro' } }
const double = createTestDouble()
for (const server of [
  await listen(createStore({ storage: memoryStorage(), apiKeys }), { port: 0 }),
  await double.listen({ port: 0 }),
]) {
  const headers = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
  const body = '{"name":"Rex","categoryId":1}'
  const response = await fetch(server.url + '/pets', { method: 'POST', headers, body })
  console.log(response.status, await response.text())
  await server.close()
}
await double.close()
console.log('closed')
`

const RUNTIMES = { node: [], bun: [], deno: ['run', '--allow-all'] }

test('sockets - the page claims what runs here', () => {
  assert.deepEqual(claimedFor('test/runtimes/sockets.test.ts'), Object.keys(RUNTIMES))
})

for (const [runtime, words] of Object.entries(RUNTIMES)) {
  const isMissing =
    process.env['ADOPTION_STORE_RUNTIMES'] !== 'required' &&
    spawnSync(runtime, ['--version']).error !== undefined
  const skip = isMissing && `${runtime} is not installed`
  test(`sockets - ${runtime} serves over a socket, and closes`, { skip }, () => {
    const program = fileURLToPath(new URL(`sockets-${runtime}.mjs`, BUILD_URL))
    writeFileSync(program, PROGRAM)
    const { stdout, stderr } = spawnSync(runtime, [...words, program], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    const created = '201 {"id":1,"name":"Rex","categoryId":1,"status":"available"}\n'
    assert.equal(stdout, `${created}${created}closed\n`, stderr)
  })
}
