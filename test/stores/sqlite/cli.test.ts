import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { loadDriver } from '../../../adapters/stores/sqlite/driver.js'
import { sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import { runInThread } from '../../support/command.js'
import { served } from '../../support/served.js'
import { testUnless } from '../../support/test-unless.js'
import { temporaryFolders } from '../json-file/json-files.js'
import { withoutSqlite } from './availability.js'

const test = testUnless(withoutSqlite)
const folder = temporaryFolders()

test('sqlite cli - animals, counts and bans survive a restart', async t => {
  const path = join(folder(), 'pets.sqlite')
  const keys = join(folder(), 'keys.json')
  // A minute may end during the test; a day hardly does.
  const limits = { perMinute: 1_000, perDay: 20 }
  fs.writeFileSync(
    keys,
    JSON.stringify({ 's3cret-key': { id: 'web', plan: 'enterprise', limits } }),
  )
  const flags = ['--store', path, '--rate-limit-store', `sqlite:${path}`, '--keys', keys]
  const first = await serve(t, flags)
  assert.equal(first.ready.store, path)
  assert.equal(first.ready.rateLimitStore, `sqlite:${path}`)
  const { status } = await create(first.ready.baseUrl, 's3cret-key')
  assert.equal(status, 201)
  assert.deepEqual(await first.stop(), { code: 0, log: '' })
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])

  const again = await serve(t, flags)
  assert.equal(again.ready.animals, first.ready.animals + 1)
  const { headers } = await create(again.ready.baseUrl, 's3cret-key')
  assert.equal(headers.get('x-ratelimit-remaining'), '18')
  const readiness = await fetch(`${again.ready.origin}/readyz`)
  assert.deepEqual(await readiness.json(), { status: 'ok', store: 'ok', rateLimitStore: 'ok' })
  assert.deepEqual(await again.stop(), { code: 0, log: '' })
})

test('sqlite cli - --seed fills a new file and no other', async t => {
  const above = folder()
  const seed = join(above, 'seed.json')
  fs.writeFileSync(seed, '[{"name":"Ada","categoryId":1}]')
  for (const name of ['sqlite:pets', 'pets.db']) {
    const first = await serve(t, ['--store', name, '--seed', seed], above)
    assert.equal(first.ready.animals, 1)
    await create(first.ready.baseUrl)
    await first.stop()
    const again = await serve(t, ['--store', name, '--seed', seed], above)
    assert.equal(again.ready.animals, 2)
    assert.match((await again.stop()).log, /holds 2 animals, as stored/)
  }
  assert.deepEqual(fs.readdirSync(above).toSorted(), ['pets', 'pets.db', 'seed.json'])
})

test('sqlite cli - check reads a file, and fails when it is damaged', async () => {
  const above = folder()
  const path = join(above, 'pets.sqlite')
  const storage = sqliteStorage(path)
  const pets = Array.from({ length: 2_000 }, (_, at) => ({ id: at + 1, name: 'R', categoryId: 1 }))
  await storage.restore({ pets, nextId: 2_001 })
  await storage.close()
  const stdout = `${path}: 2000 animals, the next id is 2001\n`
  assert.deepEqual(await runInThread(['check', path]), { code: 0, stdout, stderr: '' })
  const bytes = fs.readFileSync(path)
  fs.writeFileSync(path, bytes.fill('damage', 8 * 4_096))
  const damaged = await runInThread(['check', path])
  assert.deepEqual([damaged.code, damaged.stdout], [1, ''])
  assert.match(damaged.stderr, /pets\.sqlite.*\n/)
  // The first page has the list of tables.
  fs.writeFileSync(path, bytes.fill('damage', 100))
  const fix = 'run animal-adoption-store check, and restore a backup'
  const stderr = `animal-adoption-store: ${path} is damaged; ${fix}\n`
  for (const words of [
    ['check', path],
    ['copy', path, join(above, 'b.json')],
  ]) {
    assert.deepEqual(await runInThread(words), { code: 1, stdout: '', stderr })
  }
})

test('sqlite cli - a file without a store is neither checked nor copied, and stays as it is', async () => {
  const above = folder()
  const path = join(above, 'pets.sqlite')
  const database = loadDriver(path)(path)
  database.exec('CREATE TABLE dogs (name TEXT); DROP TABLE dogs')
  database.close()
  const withoutTables = fs.readFileSync(path)
  assert.ok(withoutTables.length > 0)
  const isEmpty = / is an empty database; restore a backup, or name another file\n$/
  const isNone = / is not a SQLite database; name another file, this one was left as it is\n$/
  for (const [content, line] of [
    [Buffer.alloc(0), isEmpty],
    [withoutTables, isEmpty],
    [Buffer.from('xy'), isNone],
  ] as const) {
    fs.writeFileSync(path, content)
    for (const words of [
      ['check', path],
      ['copy', path, join(above, 'copy.json')],
    ]) {
      const { code, stdout, stderr } = await runInThread(words)
      assert.deepEqual([code, stdout], [1, ''], `${words}: ${stderr}`)
      assert.match(stderr, line)
      assert.match(stderr, /^animal-adoption-store: [^\n]+\n$/)
      assert.equal(fs.readFileSync(path).equals(content), true)
      assert.deepEqual(fs.readdirSync(above), ['pets.sqlite'])
    }
  }
})

function serve(t: TestContext, flags: readonly string[], cwd?: string) {
  return served(t, [...flags, '--log', 'silent'], cwd)
}

function create(baseUrl: string, key = 'demo-free'): Promise<Response> {
  return fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"name":"Rex","categoryId":1}',
  })
}
