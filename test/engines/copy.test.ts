import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after } from 'node:test'
import pg from 'pg'
import { jsonFileStorage } from '../../adapters/stores/json-file/index.js'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import { type SqliteStorage, sqliteStorage } from '../../adapters/stores/sqlite/index.js'
import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { temporaryFolders } from '../stores/json-file/json-files.js'
import { withoutSqlite } from '../stores/sqlite/availability.js'
import { MAIN } from '../support/paths.js'
import { testUnless } from '../support/test-unless.js'
import { createDatabase, type Engine, PATIENT, startPostgres, withoutPostgres } from './engines.js'

const skip = withoutPostgres || withoutSqlite
const test = testUnless(skip)
const postgres = skip ? undefined : await startPostgres()
after(() => postgres?.stop())
const folder = temporaryFolders()
const database = (name: string) => createDatabase(postgres as Engine, name)

/** More than one part of everything, gaps, and each kind of value. */
const ORIGINAL: PetSnapshot = {
  pets: [
    { id: 2, name: '\ud800\0 Ada', categoryId: 2n ** 63n - 1n, status: 'sold' },
    { id: 9, name: 'Stray', categoryId: -(2n ** 63n) },
    ...Array.from({ length: 1_200 }, (_, at) => ({
      id: at + 20,
      name: `Pet ${at}`,
      categoryId: at,
    })),
  ],
  nextId: 1_500,
  idempotencyKeys: Array.from({ length: 700 }, (_, at) => ({
    scope: 'web \ud800',
    idempotencyKey: `key-${String(at).padStart(4, '0')}`,
    fingerprint: `f${at}`,
    expiresAt: 1_893_456_000_000 + at,
    petId: at + 20,
  })),
}

const KINDS = {
  'a JSON file': async (name: string) => `${name}.json`,
  SQLite: async (name: string) => `${name}.sqlite`,
  PostgreSQL: (name: string) => database(name),
}
const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[]

for (const [at, from] of kinds.entries()) {
  for (const to of kinds) {
    test(`copy - from ${from} to ${to} keeps every id, value and key`, async () => {
      const cwd = folder()
      const [source, target] = [
        await KINDS[from](`source_${at}_${kinds.indexOf(to)}`),
        await KINDS[to](`target_${at}_${kinds.indexOf(to)}`),
      ]
      await using full = await open(cwd, source)
      await full.restore(ORIGINAL)
      await full.close()
      const { status, stdout, stderr } = copy(cwd, [source, target])
      assert.equal(stderr, '')
      assert.equal(status, 0)
      assert.match(stdout, /^Copied 1202 animals from .* the next id is 1500\n$/)
      await using copied = await open(cwd, target)
      assert.deepEqual(await copied.dump(), ORIGINAL)
      await copied.close()
      const twice = copy(cwd, [source, target])
      assert.equal(twice.status, 1)
      assert.match(twice.stderr, /already has animals; copy into an empty store, nothing changed/)
    })
  }
}

for (const [name, from, to] of [
  ['PostgreSQL to SQLite', 'postgres', 'pets.sqlite'],
  ['SQLite to PostgreSQL', 'pets.sqlite', 'postgres'],
] as const) {
  test(`copy - 300,000 animals from ${name} need no memory for them`, async () => {
    const cwd = folder()
    const url = await database(`large_${from === 'postgres' ? 'from' : 'to'}`)
    await fill(cwd, url, from === 'postgres' ? undefined : from)
    const words = [from, to].map(word => (word === 'postgres' ? url : word))
    // As one array, they need more than 60 MB.
    const { status, stdout, stderr } = copy(cwd, words, ['--max-old-space-size=24'])
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /^Copied 300000 animals /)
  })
}

test('copy - a stream that fails leaves an empty target', async () => {
  const cwd = folder()
  for (const name of [`pets.sqlite`, await database('failing'), 'pets.json']) {
    await using target = await open(cwd, name)
    async function* pets() {
      yield [{ id: 1, name: 'Ada', categoryId: 1 }]
      yield [{ id: 1, name: 'Bo', categoryId: 1 }]
    }
    async function* idempotencyKeys() {}
    const content = { nextId: 3, count: 2, pets: pets(), idempotencyKeys: idempotencyKeys() }
    await assert.rejects(target.restoreIfNew(content), {
      name: 'RangeError',
      message: 'Expected an ascending id below 3, got 1 after 1',
    })
    assert.deepEqual(await target.dump(), { pets: [], nextId: 1 })
    assert.equal((await target.insert({ name: 'Ada', categoryId: 1 })).id, 1)
    await target.close()
  }
})

test('copy - inserts go on while a stream is read, which does not see them', async () => {
  const cwd = folder()
  for (const name of [`pets.sqlite`, await database('during')]) {
    const storage = (await open(cwd, name)) as SqliteStorage
    await storage.restore(ORIGINAL)
    const ids = await storage.stream(async content => {
      const seen: number[] = []
      for await (const part of content.pets) {
        seen.push(...part.map(({ id }) => id))
        await storage.insert({ name: 'Late', categoryId: 1 })
      }
      return seen
    })
    assert.deepEqual(
      ids,
      ORIGINAL.pets.map(({ id }) => id),
    )
    await storage.close()
  }
})

function open(cwd: string, name: string) {
  if (name.endsWith('.json')) return jsonFileStorage(join(cwd, name))
  if (name.endsWith('.sqlite')) return sqliteStorage(join(cwd, name))
  return postgresStorage({ url: name, ...PATIENT })
}

function copy(cwd: string, words: readonly string[], flags: readonly string[] = []) {
  return spawnSync(process.execPath, [...flags, MAIN, 'copy', ...words], { cwd, encoding: 'utf8' })
}

async function fill(cwd: string, url: string, path: string | undefined): Promise<void> {
  if (path === undefined) {
    const storage = postgresStorage({ url, ...PATIENT })
    await storage.ready()
    await storage.close()
    const client = new pg.Client(url)
    await client.connect()
    await client.query(`INSERT INTO adoption_store.pets
      SELECT id, to_json('Animal ' || id), id % 10, 'available' FROM generate_series(1, ${LARGE}) AS id`)
    await client.query(`UPDATE adoption_store.pet_ids SET next = ${LARGE + 1}`)
    await client.end()
    return
  }
  const storage: PetStorage & AsyncDisposable = sqliteStorage(join(cwd, path))
  const pets = Array.from({ length: LARGE }, (_, at) => ({
    id: at + 1,
    name: `Animal ${at}`,
    categoryId: at % 10,
  }))
  await storage.restore({ pets, nextId: LARGE + 1 })
  await storage[Symbol.asyncDispose]()
}

const LARGE = 300_000
