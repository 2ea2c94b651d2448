import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { encodeBatch } from '../../adapters/json-file/batch.js'
import { runInThread } from '../support/command.js'
import { firstOutput } from '../support/first-output.js'
import { MAIN } from '../support/paths.js'
import { movedOf, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const ROUNDS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 8 : 2

test('json file - a signal at the ready line ends the server with code 0 and one file', async t => {
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(folder(), 'pets.json')
    const server = start(t, path)
    server.stdout.once('data', () => server.kill('SIGTERM'))
    assert.deepEqual(await once(server, 'exit'), [0, null])
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
  }
})

test('json file - the command line reports an edit while it runs in one line', async t => {
  const path = join(folder(), 'pets.json')
  const { server, log, baseUrl, apiKeys } = await startReady(t, path)
  fs.writeFileSync(path, '{"pets":[]}')
  const answer = await fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKeys.free}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Rex', categoryId: 1 }),
  })
  assert.equal(answer.status, 201)
  server.kill('SIGTERM')
  assert.deepEqual(await once(server, 'exit'), [0, null])
  assert.equal(
    log(),
    `animal-adoption-store: ${path} was changed by another program; its version is now ${path}.conflict-1\n`,
  )
})

test('json file - check and copy of a document that is missing name its journal', async () => {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(`${path}.journal`, encodeBatch('{"id":5,"name":"Rex","categoryId":1}\n'))
  for (const words of [
    ['check', path],
    ['copy', path, `${path}.copy.json`],
  ]) {
    const { code, stderr } = await runInThread(words)
    assert.equal(code, 1)
    assert.match(
      stderr,
      /pets\.json is missing, but .*pets\.json\.journal has the animals from id 5 on; /,
    )
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json.journal'])
  }
})

test('json file - a server whose document is moved is not ready, answers creates with 503, and says why once', async t => {
  const path = join(folder(), 'pets.json')
  const { server, log, baseUrl, origin, apiKeys } = await startReady(t, path)
  const headers = {
    authorization: `Bearer ${apiKeys.free}`,
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ name: 'Rex', categoryId: 1 })
  const create = () => fetch(`${baseUrl}/pets`, { method: 'POST', headers, body })
  assert.equal((await create()).status, 201)
  fs.renameSync(path, `${path}.away`)
  assert.equal((await fetch(`${origin}/readyz`)).status, 503)
  assert.equal((await create()).status, 503)
  assert.equal((await fetch(`${baseUrl}/pets`, { headers })).status, 200)
  fs.renameSync(`${path}.away`, path)
  assert.equal((await fetch(`${origin}/readyz`)).status, 200)
  assert.equal((await create()).status, 201)
  server.kill('SIGTERM')
  assert.deepEqual(await once(server, 'exit'), [0, null])
  const lines = log().trimEnd().split('\n')
  assert.deepEqual(lines.slice(0, 2), [
    `animal-adoption-store: store: ${movedOf(path)}`,
    `animal-adoption-store: store: createPet failed: ${movedOf(path)}`,
  ])
})

/** What its ready line says, and what it has written to stderr so far. */
async function startReady(t: TestContext, path: string) {
  const server = start(t, path)
  let log = ''
  server.stderr.on('data', text => {
    log += text
  })
  const line = await firstOutput(server)
  const { baseUrl, origin, apiKeys } = JSON.parse(line)
  return { server, log: () => log, baseUrl, origin, apiKeys }
}

function start(t: TestContext, path: string) {
  const args = ['serve', '--store', path, '--port', '0', '--json', '--log', 'silent']
  const server = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => server.kill('SIGKILL'))
  return server
}
