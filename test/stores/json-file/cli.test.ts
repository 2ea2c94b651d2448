import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { runInThread, startInThread } from '../../support/command.js'
import { serveHttp } from '../../support/http-server.js'
import { served, startServer } from '../../support/served.js'
import { batchFor, movedOf, sealed, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const SERVE = ['--log', 'silent', '--store']
const ROUNDS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 8 : 2

test('json file - a signal at the ready line ends the server with code 0 and one file', async t => {
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(folder(), 'pets.json')
    const { child } = startServer(t, [...SERVE, path])
    child.stdout.once('data', () => child.kill('SIGTERM'))
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
  }
})

/** A document without animals, and a batch of its journal. */
const EMPTY = sealed('{"pets":[],"nextId":1}\n')
const batch = (lines: string) => Buffer.from(batchFor(EMPTY, lines))

const REX_1 = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}\n'
const TOM_2 = '{"id":2,"name":"Tom","categoryId":2}\n'

test('json file - check reads a journal, and changes neither it nor the document', async () => {
  const whole = [batch(REX_1), batch(TOM_2)]
  const changed = Buffer.from(String(batch(TOM_2)).replace('"Tom"', '"Tim"'))
  const damaged = /^[^\n]*pets\.json\.journal is damaged: line 3 does not begin an intact batch\n$/
  const unfinished =
    /^animal-adoption-store: [^\n]*pets\.json\.journal ends in \d+ bytes of an unfinished write, [^\n]+\n$/
  const two = ': 2 animals, the next id is 3\n'
  const one = ': 1 animals, the next id is 2\n'
  const cases: [what: string, journal: Buffer, code: number, stdout: string, stderr: RegExp][] = [
    ['whole', Buffer.concat(whole), 0, two, /^$/],
    ['a letter of the last name', Buffer.concat([batch(REX_1), changed]), 1, '', damaged],
    ['cut in its lines', Buffer.concat(whole).subarray(0, -9), 0, one, unfinished],
    ['cut in its header', Buffer.concat(whole).subarray(0, -70), 0, one, unfinished],
  ]
  for (const [what, journal, code, stdout, stderr] of cases) {
    const path = join(folder(), 'pets.json')
    fs.writeFileSync(path, EMPTY)
    fs.writeFileSync(`${path}.journal`, journal)
    const before = contentOf(path)
    for (const round of [1, 2]) {
      const run = await runInThread(['check', path])
      assert.equal(run.code, code, `${what}, ${round}: ${run.stderr}`)
      assert.equal(run.stdout, stdout && path + stdout, what)
      assert.match(run.stderr, stderr, what)
      assert.deepEqual(contentOf(path), before, `${what}, ${round}`)
    }
  }
})

test('json file - check and copy fail for a document that does not match its checksum', async () => {
  const path = join(folder(), 'pets.json')
  const target = `${path}.copy.json`
  const edited = sealed(`{"pets":[\n${REX_1}],"nextId":2}\n`).replace('Rex', 'Max')
  fs.writeFileSync(path, edited)
  fs.writeFileSync(`${path}.journal`, batchFor(edited, TOM_2))
  const before = contentOf(path)
  const changed = /^[^\n]*pets\.json has changed since it was saved: [^\n]*remove its `crc32`\n$/
  for (const words of [
    ['check', path],
    ['copy', path, target],
  ]) {
    const { code, stdout, stderr } = await runInThread(words)
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.match(stderr, changed)
    assert.deepEqual(contentOf(path), before)
  }
  // The advice in the line works.
  const kept = edited.replace(/,"crc32":"\w+"/, '')
  fs.writeFileSync(path, kept)
  fs.writeFileSync(`${path}.journal`, batchFor(kept, TOM_2))
  assert.deepEqual(await runInThread(['check', path]), {
    code: 0,
    stdout: `${path}: 2 animals, the next id is 3\n`,
    stderr: '',
  })
  assert.equal((await runInThread(['copy', path, target])).code, 0)
  assert.match(fs.readFileSync(target, 'utf8'), /"Max".*\n.*"Tom"/)
})

test('json file - demo animals are stored with the demo keys only, and once the server listens', async t => {
  const path = join(folder(), 'pets.json')
  const keys = join(folder(), 'keys.json')
  fs.writeFileSync(keys, '{"secret":{"id":"web","plan":"pro"}}')
  const port = String((await serveHttp(t)).port)
  for (const words of [[], ['--seed', 'edge']]) {
    const { code, stderr } = await runInThread(['serve', ...SERVE, path, '--port', port, ...words])
    assert.deepEqual([code, fs.readFileSync(path, 'utf8')], [1, EMPTY])
    assert.match(stderr, /is taken/)
  }
  for (const [words, animals] of [
    [['--keys', keys], 0],
    [[], 41],
    [['--keys', keys], 41],
  ] as const) {
    const server = startInThread(['--json', '--port', '0', ...SERVE, path, ...words])
    const [line] = await once(server.stdout, 'data')
    assert.equal(JSON.parse(line).animals, animals)
    server.kill()
    assert.equal(await server.exit, 0)
    assert.equal(fs.readFileSync(path, 'utf8').match(/"name"/g)?.length ?? 0, animals)
  }
})

test('json file - a server whose document is moved is not ready, answers creates with 503, and says why once', async t => {
  const path = join(folder(), 'pets.json')
  const server = await served(t, [...SERVE, path])
  const { baseUrl, origin, apiKeys } = server.ready
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
  const { code, log } = await server.stop()
  assert.equal(code, 0)
  const lines = log.trimEnd().split('\n')
  assert.deepEqual(lines.slice(0, 2), [
    `animal-adoption-store: store: ${movedOf(path)}`,
    `animal-adoption-store: store: createPet failed: ${movedOf(path)}`,
  ])
})

/** Every file beside a document, and the document. */
function contentOf(path: string): Record<string, string> {
  const above = join(path, '..')
  const files = fs.readdirSync(above, { withFileTypes: true }).filter(entry => entry.isFile())
  return Object.fromEntries(
    files.map(({ name }) => [name, fs.readFileSync(join(above, name), 'latin1')]),
  )
}
