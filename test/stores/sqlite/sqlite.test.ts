import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { storageSuite } from '../../../adapters/stores/kit/suite.js'
import { type Database, loadDriver } from '../../../adapters/stores/sqlite/driver.js'
import {
  type SqliteStorage,
  sqliteRateLimitStore,
  sqliteStorage,
} from '../../../adapters/stores/sqlite/index.js'
import type { Pet } from '../../../src/index.js'
import type { PetStorage } from '../../../src/ports.js'
import { limitsOf, T0 } from '../../limits/rate-limit-vectors.js'
import { assertGrowth } from '../../support/memory.js'
import { testUnless } from '../../support/test-unless.js'
import { gate } from '../../support/waiting.js'
import { movedOf, temporaryFolders } from '../json-file/json-files.js'
import { rejectsInvalidPets } from '../kit/invalid-pets.js'
import { once } from '../kit/once.js'
import { withoutSqlite } from './availability.js'

const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const
const test = testUnless(withoutSqlite)
const folder = temporaryFolders()
const opened = new Map<PetStorage, string>()
after(async () => {
  for (const storage of opened.keys()) await (storage as SqliteStorage).close()
})

storageSuite((name, run) => test(`sqlite - ${name}`, run), {
  create: unopened,
  async reopen(storage) {
    await (storage as SqliteStorage).close()
    return unopened(opened.get(storage))
  },
  idempotency: true,
})

test('sqlite - an invalid animal is rejected without failing its batch', async () => {
  await rejectsInvalidPets(await openHere())
})

test('sqlite - an id is not reused after somebody deleted its animal by hand', async () => {
  const path = newPath()
  const storage = await openHere(path)
  for (let n = 0; n < 5; n++) await storage.insert(REX)
  await byHand(path, database => database.exec('DELETE FROM pets WHERE id IN (2, 5)'))
  assert.equal(await storage.count(), 3)
  assert.equal((await storage.insert(REX)).id, 6)
  assert.deepEqual(await storage.check(), [])
  await byHand(path, database => database.exec('DELETE FROM pets'))
  assert.equal(await storage.count(), 0)
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 7 })
  assert.equal((await storage.insert(REX)).id, 7)
})

test('sqlite - the key of an animal that somebody deleted is free', async () => {
  const path = newPath()
  const storage = await openHere(path)
  await storage.insertOnce(REX, once('k'), 0)
  await byHand(path, database => database.exec('DELETE FROM pets'))
  const { pet, replayed } = await storage.insertOnce(REX, once('k'), 0)
  assert.deepEqual([pet.id, replayed], [2, false])
})

test('sqlite - expired keys are dropped while others come', async () => {
  const path = newPath()
  const storage = await openHere(path)
  for (let now = 0; now < 100; now++) {
    await storage.insertOnce(REX, once(`k${now}`, now + 10), now)
  }
  assert.equal((await storage.dump()).idempotencyKeys?.length, 10)
})

test('sqlite - the count is exact after a restore with gaps', async () => {
  const storage = await openHere()
  await storage.restore({ pets: [2, 5, 9].map(id => ({ id, ...REX })), nextId: 12 })
  assert.equal(await storage.count(), 3)
  await storage.insert(REX)
  await Promise.all([storage.insert(REX), storage.insert(REX)])
  assert.equal(await storage.count(), 6)
  assert.deepEqual(await storage.check(), [])
})

test('sqlite - seed restores into a storage that was never used, and into no other', async () => {
  const storage = await openHere()
  const written: number[] = []
  const pets = Array.from({ length: 2_500 }, (_, at): Pet => ({ id: at + 1, ...REX }))
  const onProgress = (count: number) => void written.push(count)
  assert.equal(await storage.restoreIfNew({ pets, nextId: 3_000 }, { onProgress }), true)
  assert.deepEqual(written, [500, 1_000, 1_500, 2_000, 2_500])
  assert.equal(await storage.restoreIfNew({ pets: [], nextId: 1 }), false)
  await storage.restore({ pets: [], nextId: 2 })
  assert.equal(await storage.restoreIfNew({ pets, nextId: 3_000 }), false)
  assert.equal(await storage.count(), 0)
})

test('sqlite - a rare status is found by its index', async () => {
  const path = newPath()
  await (await openHere(path)).close()
  await byHand(path, database => {
    const plan = database
      .prepare(
        `EXPLAIN QUERY PLAN SELECT id FROM pets INDEXED BY pets_sold
         WHERE status = 'sold' AND id > ? ORDER BY id LIMIT ?`,
      )
      .all(0, 20)
    const details = plan.map(row => row['detail'])
    assert.deepEqual(details, ['SEARCH pets USING COVERING INDEX pets_sold (id>?)'])
  })
})

test('sqlite - commits are synced, to a write-ahead log', async () => {
  const path = newPath()
  const storage = await openHere(path)
  await storage.insert(REX)
  assert.ok(fs.statSync(`${path}-wal`).size > 0)
  await storage.close()
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])
})

test('sqlite - check finds rows that this package did not write', async () => {
  const path = newPath()
  const storage = await openHere(path)
  for (let n = 0; n < 3; n++) await storage.insert(REX)
  await byHand(path, database => database.exec("UPDATE pets SET name = 'Rex' WHERE id = 2"))
  assert.deepEqual(await storage.check(), ['the name of animal 2 is not a JSON string'])
  await byHand(path, database => database.exec('INSERT INTO pets VALUES (10, \'"Tom"\', 1, NULL)'))
  assert.deepEqual(await storage.check(), [
    '4 animals are stored, and 10 are counted',
    'the name of animal 2 is not a JSON string',
  ])
})

test('sqlite - inserts wait for the lock of another process, and are refused in time', async () => {
  const path = newPath()
  const storage = await openHere(path, 300)
  await storage.insert(REX)
  await byHand(path, async other => {
    other.exec('BEGIN IMMEDIATE')
    const refused = await Promise.allSettled([storage.insert(REX), storage.insert(REX)])
    const messages = refused.map(result => result.status === 'rejected' && result.reason.message)
    assert.deepEqual(messages, Array(2).fill(`${path} ${LOCKED}`))
    // Reads do not wait.
    assert.deepEqual(storage.list({ limit: 20 }), [{ id: 1, ...REX }])
    await assert.rejects(storage.restore({ pets: [], nextId: 1 }), { message: `${path} ${LOCKED}` })
    const waiting = storage.insert(REX)
    other.exec('COMMIT')
    assert.equal((await waiting).id, 2)
  })
})

test('sqlite - a closed storage refuses everything, and closes once', async () => {
  const path = newPath()
  const storage = await openHere(path)
  const last = storage.insert(REX)
  const closing = storage.close()
  assert.equal(storage.close(), closing)
  await closing
  assert.equal((await last).id, 1)
  const closed = { name: 'SqliteError', message: `${path} is closed` }
  await assert.rejects(storage.insert(REX), closed)
  await assert.rejects(storage.dump(), closed)
  await assert.rejects(storage.ping(), closed)
  await assert.rejects(async () => storage.find(1), closed)
  await assert.rejects(async () => storage.list({ limit: 1 }), closed)
})

test('sqlite - what waits for a lock when its storage closes is refused', async () => {
  const path = newPath()
  const storage = await openHere(path, 60_000)
  const limits = sqliteRateLimitStore(path, { timeout: 60_000 })
  await limits.ready()
  await storage.insert(REX)
  await byHand(path, async other => {
    other.exec('BEGIN IMMEDIATE')
    const waiting = [
      storage.restore({ pets: [], nextId: 1 }),
      storage.restoreIfNew({ pets: [], nextId: 1 }),
      limits.restore([]),
      limits.reset(),
    ].map(one => assert.rejects(one, { name: 'SqliteError', message: `${path} is closed` }))
    await Promise.all([storage.close(), limits.close(), ...waiting])
  })
  const again = await openHere(path)
  assert.deepEqual(await again.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 })
})

test('sqlite - what waits for a lock is refused even if its file was replaced a moment ago', async () => {
  const path = newPath()
  const storage = await openHere(path, 60_000)
  await byHand(path, async other => {
    other.exec('BEGIN IMMEDIATE')
    const waiting = storage.insert(REX)
    // Until it has found the lock taken.
    await new Promise(setImmediate)
    replace(path)
    other.exec('ROLLBACK')
    await assert.rejects(async () => waiting, { name: 'SqliteError', message: /was moved/ })
  })
})

test('sqlite - memory does not grow with the number of animals', async () => {
  const path = newPath()
  const storage = await openHere(path)
  const pets = Array.from({ length: 50_000 }, (_, at): Pet => ({ id: at + 1, ...REX }))
  await storage.restore({ pets, nextId: pets.length + 1 })
  await storage.close()
  await assertGrowth(1_048_576, async measure => {
    const again = await openHere(path)
    assert.equal(await again.count(), 50_000)
    assert.equal((await again.find(40_000))?.name, 'Rex')
    measure()
    await again.close()
  })
})

const LOCKED = 'is locked by another process, which did not finish in time; try again later'

async function openHere(path = newPath(), timeoutMs = 2_500): Promise<SqliteStorage> {
  const storage = sqliteStorage(path, { timeout: timeoutMs })
  await storage.ready()
  opened.set(storage, path)
  return storage
}

function newPath(): string {
  return join(folder(), 'pets.sqlite')
}

/** Puts a copy in its place, which is another file. */
function replace(path: string): void {
  fs.copyFileSync(path, `${path}.backup`)
  fs.renameSync(`${path}.backup`, path)
}

async function byHand(path: string, act: (database: Database) => unknown): Promise<void> {
  const database = loadDriver(path)(path)
  try {
    await act(database)
  } finally {
    database.close()
  }
}

for (const end of ['', '-wal', '-shm']) {
  for (const what of ['removed', 'replaced']) {
    test(`sqlite - a file ${end} that is ${what} while open is an error, until it is put back`, async () => {
      const path = newPath()
      const message = movedOf(path + end)
      const storage = await openHere(path)
      const limits = sqliteRateLimitStore(path)
      await storage.insert(REX)
      await storage.ping()
      await limits.ping()
      fs.renameSync(path + end, `${path}.away`)
      if (what === 'replaced') fs.copyFileSync(`${path}.away`, path + end)
      await assert.rejects(storage.ping(), { name: 'SqliteError', message })
      await assert.rejects(storage.insert(REX), { message })
      assert.throws(() => storage.list({ limit: 20 }), { message })
      await assert.rejects(limits.ping(), { message })
      fs.renameSync(`${path}.away`, path + end)
      await storage.ping()
      assert.equal((await storage.insert(REX)).id, 2)
      await limits.close()
      await storage.close()
    })
  }
}

test('sqlite - a file that is replaced while its opening waits for the lock is an error', async t => {
  const path = newPath()
  await (await openHere(path)).close()
  const message = movedOf(path)
  const other = loadDriver(path)(path)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; DELETE FROM pets')
  const located = gate()
  const { statSync } = fs
  t.mock.method(fs, 'statSync', ((name: string, options: fs.StatSyncOptions) => {
    if (name === path) located.open()
    return statSync(name, options)
  }) as typeof fs.statSync)
  const opening = sqliteStorage(path, { timeout: 60_000 }).ready()
  const refused = assert.rejects(opening, { name: 'SqliteError', message })
  await located.passed
  // Until then it has opened the file.
  await new Promise(setImmediate)
  replace(path)
  other.exec('COMMIT')
  other.close()
  await refused
})

for (const isBusy of [false, true]) {
  test(`sqlite - a checkpoint by a backup script that empties the WAL is no outage${isBusy ? ', with inserts right after it' : ''}`, async () => {
    const path = newPath()
    const storage = await openHere(path)
    const limits = await sqliteRateLimitStore(path)
    for (let id = 1; id <= 60; id += 20) {
      for (let n = 0; n < 18; n++) await storage.insert(REX)
      await storage.ping()
      await byHand(path, other => {
        const checkpoint = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
        assert.deepEqual({ ...checkpoint }, { busy: 0, log: 0, checkpointed: 0 })
      })
      // It is not looked at again, so that this WAL is another one, and shorter.
      if (isBusy) assert.equal((await storage.insert(REX)).id, id + 18)
      await storage.ping()
      await limits.ping()
      if (!isBusy) assert.equal((await storage.insert(REX)).id, id + 18)
      assert.equal((await storage.insert(REX)).id, id + 19)
    }
    assert.deepEqual(await storage.check(), [])
    await limits.close()
    await storage.close()
  })
}

for (const left of [0, 20, 0.5, 0.9999]) {
  test(`sqlite - a WAL that is cut to ${left < 1 ? `${left * 100} %` : `${left} bytes`} is an error, until it is put back`, async () => {
    const path = newPath()
    const storage = await openHere(path)
    for (let n = 0; n < 20; n++) await storage.insert({ ...REX, name: 'x'.repeat(5_000) })
    await storage.ping()
    const content = fs.readFileSync(`${path}-wal`)
    fs.truncateSync(`${path}-wal`, left < 1 ? Math.floor(content.length * left) : left)
    const message = movedOf(`${path}-wal`)
    for (let n = 0; n < 2; n++) await assert.rejects(storage.ping(), { message })
    await assert.rejects(storage.insert(REX), { message })
    fs.writeFileSync(`${path}-wal`, content)
    await storage.ping()
    assert.equal((await storage.insert(REX)).id, 21)
  })
}

const IGNORING = {
  pets: 'an animal',
  pet_keys: 'an idempotency key',
  usage: 'a count',
}
for (const [table, what] of Object.entries(IGNORING)) {
  test(`sqlite - a trigger that ignores ${what} is an error, and nothing is stored`, async () => {
    const path = newPath()
    const storage = await openHere(path)
    const limits = await sqliteRateLimitStore(path)
    await storage.insert(REX)
    await byHand(path, other =>
      other.exec(
        `CREATE TRIGGER ignoring BEFORE INSERT ON ${table} BEGIN SELECT RAISE(IGNORE); END`,
      ),
    )
    const fix = 'a trigger of its tables ignores inserts; remove it'
    const refused = { name: 'SqliteError', message: `${path} did not store a row: ${fix}` }
    const inserts = [
      () => storage.insert(REX),
      () => Promise.all([storage.insert(REX), storage.insert(REX)]),
      () => storage.restore({ pets: [{ id: 1, ...REX }], nextId: 2 }),
    ]
    const own = {
      pets: inserts,
      pet_keys: [() => storage.insertOnce(REX, once('k'), 0)],
      usage: [async () => limits.consume('key:web', limitsOf('2/9'), T0)],
    }
    for (const insert of own[table as keyof typeof own]) await assert.rejects(insert, refused)
    assert.deepEqual(await storage.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 })
    await limits.close()
  })
}

test('sqlite - closing a file that was replaced keeps the WAL of the new one', async () => {
  const path = newPath()
  const storage = await openHere(path)
  await storage.insert(REX)
  for (const end of ['', '-wal', '-shm']) fs.rmSync(path + end)
  const other = await openHere(path)
  await other.insert(REX)
  await storage.close()
  assert.ok(fs.statSync(`${path}-wal`).size > 0)
  assert.equal(await other.count(), 1)
  await other.close()
})

function unopened(path = newPath()): SqliteStorage {
  const storage = sqliteStorage(path)
  opened.set(storage, path)
  return storage
}
