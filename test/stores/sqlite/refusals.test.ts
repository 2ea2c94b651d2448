import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { test as anywhere } from 'node:test'
import { loadDriver } from '../../../adapters/stores/sqlite/driver.js'
import { sqliteRateLimitStore, sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import { testUnless } from '../../support/test-unless.js'
import { openElsewhere, temporaryFolders } from '../json-file/json-files.js'
import { withoutSqlite } from './availability.js'

const REX = { name: 'Rex', categoryId: 1 }
const test = testUnless(withoutSqlite)
const folder = temporaryFolders()

test(`sqlite - a file that is no database is refused, and left as it is`, async () => {
  for (const content of ['hello', 'x'.repeat(10_000), '{"pets":[]}']) {
    const path = newPath()
    fs.writeFileSync(path, content)
    await refuses(path, 'is not a SQLite database; name another file, this one was left as it is')
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])
    assert.equal(fs.readFileSync(path, 'utf8'), content)
  }
})

test(`sqlite - damaged pages are an error, and check names it`, async () => {
  const path = await filled(2_000)
  const bytes = fs.readFileSync(path)
  fs.writeFileSync(path, bytes.fill('damage', 12 * 4_096))
  const storage = sqliteStorage(path)
  const damaged = `${path} is damaged; run animal-adoption-store check, and restore a backup`
  await assert.rejects(async () => storage.dump(), { name: 'SqliteError', message: damaged })
  const problems = await storage.check().catch(error => [error.message])
  assert.ok(problems.length > 0)
  for (const problem of problems) assert.ok(!problem.includes('\n'), problem)
  await storage.close()
})

test('sqlite - a database of another program is refused, and left as it is', async () => {
  for (const sql of ['CREATE TABLE dogs (name TEXT)', 'PRAGMA user_version = 1']) {
    const path = newPath()
    await byHand(path, sql)
    const before = fs.readFileSync(path)
    await refuses(
      path,
      'is a database of another program; name another file, this one was left as it is',
    )
    assert.deepEqual(fs.readFileSync(path), before)
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])
  }
})

test('sqlite - a file of a newer version is refused', async () => {
  const path = await filled(1)
  await byHand(path, 'PRAGMA user_version = 7')
  await refuses(path, 'has version 7, and this package knows 1; update animal-adoption-store')
})

const CHANGED = {
  'DROP INDEX pets_sold': 'no such index: pets_sold',
  'DROP TABLE pet_keys': 'no such table: pet_keys',
  'DROP TABLE usage': 'no such table: usage',
}
for (const [sql, problem] of Object.entries(CHANGED)) {
  test(`sqlite - a file is refused after ${sql}, and closed`, async () => {
    const path = await filled(1)
    await byHand(path, sql)
    const open = sql.includes('usage') ? sqliteRateLimitStore : sqliteStorage
    const fix = 'if somebody has changed its tables, undo that or restore a backup'
    const message = `${path} cannot be used: ${problem}; ${fix}`
    await assert.rejects(open(path).ready(), { name: 'SqliteError', message, path })
    // The last connection to close removes the WAL.
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])
  })
}

test('sqlite - a WAL without its database is refused, and kept', async () => {
  for (const rest of [undefined, '']) {
    const path = newPath()
    fs.writeFileSync(`${path}-wal`, 'the last animals')
    if (rest !== undefined) fs.writeFileSync(path, rest)
    await refuses(
      path,
      `is missing, but ${path}-wal has its last animals; restore it beside that file`,
    )
    assert.equal(fs.readFileSync(`${path}-wal`, 'utf8'), 'the last animals')
  }
})

test('sqlite - a link that replaced the database does not hide the WAL beside it', async () => {
  const moved = await filled(1)
  const path = newPath()
  fs.symlinkSync(moved, path)
  fs.writeFileSync(`${path}-wal`, 'the last animals')
  const fix = 'move that beside the file, or remove it to lose its animals'
  await refuses(path, `is a link to ${moved}, but ${path}-wal is beside the link; ${fix}`)
  assert.equal(fs.readFileSync(`${path}-wal`, 'utf8'), 'the last animals')
})

test('sqlite - an empty file becomes a database', async () => {
  const path = newPath()
  fs.writeFileSync(path, '')
  const storage = sqliteStorage(path)
  assert.equal((await storage.insert(REX)).id, 1)
  await storage.close()
})

test('sqlite - a path that is not a file is refused', async () => {
  const inMemory = 'is not a file; for animals in memory use memoryStorage()'
  await refuses(':memory:', inMemory)
  const missing = join(folder(), 'missing', 'pets.sqlite')
  const first = 'does not exist; create that folder first'
  await refuses(missing, `cannot be created: ${join(missing, '..')} ${first}`)
  await refuses(folder(), 'is a folder; name a file in it')
  const linked = await filled(1)
  fs.linkSync(linked, `${linked}-2`)
  await refuses(linked, 'has 2 hard links, of which only one could be updated; use a copy of it')
  const dangling = newPath()
  fs.symlinkSync('missing.sqlite', dangling)
  await refuses(dangling, 'is a symbolic link to a missing file; remove the link')
})

test('sqlite - a copy of a damaged file names that one, and not its target', async () => {
  const path = newPath()
  const filling = sqliteStorage(path)
  const pets = Array.from({ length: 3_000 }, (_, at) => ({ id: at + 1, ...REX }))
  await filling.restore({ pets, nextId: 3_001 })
  await filling.close()
  const bytes = fs.readFileSync(path)
  const middle = Math.floor(bytes.length / 8_192) * 4_096
  fs.writeFileSync(path, bytes.fill('damage', middle, middle + 8_192))
  const damaged = sqliteStorage(path)
  const target = sqliteStorage(newPath())
  const message = `${path} is damaged; run animal-adoption-store check, and restore a backup`
  await assert.rejects(
    damaged.stream(content => target.restoreIfNew(content)),
    { name: 'SqliteError', message, path },
  )
  assert.equal(await target.count(), 0)
  await damaged.close()
  await target.close()
})

test('sqlite - a symbolic link leads to the same file and WAL', async () => {
  const path = await filled(1)
  const link = newPath()
  fs.symlinkSync(path, link)
  const [one, two] = [sqliteStorage(path), sqliteStorage(link)]
  assert.equal((await one.insert(REX)).id, 2)
  assert.equal((await two.insert(REX)).id, 3)
  assert.deepEqual(fs.readdirSync(join(link, '..')), ['pets.sqlite'])
  await one.close()
  await two.close()
})

test('sqlite - a file or folder that this process may not write is refused', async t => {
  const path = await filled(1)
  const above = join(path, '..')
  for (const parent of [join(above, '..'), join(above, '..', '..')]) fs.chmodSync(parent, 0o755)
  fs.chmodSync(path, 0o666)
  fs.chmodSync(above, 0o555)
  const folderRefused = openElsewhere(path, INDEX, 'sqliteStorage')
  if (folderRefused === undefined) return t.skip('another user may not run these tests')
  assert.equal(folderRefused, `${path} is read-only; make the file and its folder writable`)
  fs.chmodSync(above, 0o777)
  fs.chmodSync(path, 0o444)
  assert.equal(
    openElsewhere(path, INDEX, 'sqliteStorage'),
    `${path} must be readable and writable; change its permissions`,
  )
  assert.deepEqual(fs.readdirSync(above), ['pets.sqlite'])
})

test('sqlite - a full disk rejects the insert, and the next ones work once there is space', t => {
  const mounted = spawnSync('unshare', ['--mount', 'true']).status === 0
  if (!mounted) return t.skip('only root can mount a small disk')
  const program = `
    import fs from 'node:fs'
    const { sqliteStorage } = await import('${INDEX}')
    const storage = sqliteStorage('small/pets.sqlite')
    const seen = new Set()
    for (let n = 0; n < 3 && !seen.size; ) {
      await storage.insert({ name: 'x'.repeat(20_000), categoryId: 1 }).catch(error => seen.add(error.message))
    }
    const { pets } = await storage.dump()
    fs.rmSync('small/ballast')
    const { id } = await storage.insert({ name: 'Rex', categoryId: 1 })
    console.log(JSON.stringify({ seen: [...seen], gaps: id - pets.length - 1, problems: await storage.check() }))
    await storage.close()
  `
  const above = folder()
  fs.mkdirSync(join(above, 'small'))
  fs.writeFileSync(join(above, 'program.mjs'), program)
  const script =
    'mount -t tmpfs -o size=2m none small && head -c 1000000 /dev/zero >small/ballast && exec "$0" program.mjs'
  const { stdout, stderr } = spawnSync(
    'unshare',
    ['--mount', '/bin/sh', '-c', script, process.execPath],
    { cwd: above, encoding: 'utf8' },
  )
  assert.deepEqual(JSON.parse(stdout || JSON.stringify(stderr)), {
    seen: ['small/pets.sqlite cannot grow, because the disk is full; free some space'],
    gaps: 0,
    problems: [],
  })
})

anywhere('sqlite - a Node without SQLite is an error that names the JSON file', async t => {
  t.mock.method(process, 'getBuiltinModule', () => undefined)
  const message = /needs Node 22\.13 or newer for node:sqlite, .*; update Node, or use a JSON file$/
  await assert.rejects(sqliteStorage(newPath()).ready(), { name: 'SqliteError', message })
})

const INDEX = new URL('../../../adapters/stores/sqlite/index.js', import.meta.url)

async function refuses(path: string, reason: string): Promise<void> {
  const error = { name: 'SqliteError', message: `${path} ${reason}`, path }
  await assert.rejects(sqliteStorage(path).ready(), error)
}

async function filled(count: number): Promise<string> {
  const path = newPath()
  const storage = sqliteStorage(path)
  await Promise.all(Array.from({ length: count }, () => storage.insert(REX)))
  await storage.close()
  return path
}

async function byHand(path: string, sql: string): Promise<void> {
  const database = loadDriver(path)(path)
  database.exec(sql)
  database.close()
}

function newPath(): string {
  return join(folder(), 'pets.sqlite')
}
