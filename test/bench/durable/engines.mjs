import { writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Low } from 'lowdb'
import { JSONFile } from 'lowdb/node'
import { jsonFileStorage } from '../../../dist/adapters/json-file/index.js'
import { sqliteStorage } from '../../../dist/adapters/sqlite/index.js'

export async function ours(path, animals) {
  const storage = await jsonFileStorage(path)
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  return { create: storage.insert, close: storage.close }
}

async function oursSqlite(path, animals) {
  const storage = await sqliteStorage(path)
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  return { create: storage.insert, close: storage.close }
}

export { oursSqlite as 'ours-sqlite' }

export async function lowdb(path, animals) {
  writeFileSync(path, JSON.stringify({ pets: animals }))
  const database = new Low(new JSONFile(path), { pets: [] })
  await database.read()
  return {
    create(animal) {
      database.data.pets.push({ id: database.data.pets.length + 1, ...animal })
      return database.write()
    },
    close() {},
  }
}

export function sqlite(path, animals, callers) {
  return handwritten(path, animals, callers > 1)
}

/** As most programs do it: every create is a transaction. */
function sqliteEach(path, animals) {
  return handwritten(path, animals, false)
}

export { sqliteEach as 'sqlite-each', sqliteEach as 'sqlite-each-again' }

function handwritten(path, animals, together) {
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  // With the index that a list by status needs: ours keeps one as well.
  database.exec(`
    CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT);
    CREATE INDEX byStatus ON pets (status, id);
  `)
  const statement =
    'INSERT INTO pets (name, categoryId, status) VALUES (@name, @categoryId, @status)'
  const insert = database.prepare(statement)
  const insertAll = database.transaction(all => all.map(pet => insert.run(pet).lastInsertRowid))
  insertAll(animals)
  let waiting = []
  return { create: together ? createTogether : createOne, close: () => database.close() }

  async function createOne(animal) {
    return { id: Number(insert.run(animal).lastInsertRowid), ...animal }
  }

  function createTogether(animal) {
    return new Promise(resolve => {
      if (waiting.push({ animal, resolve }) === 1) setImmediate(commit)
    })
  }

  function commit() {
    const batch = waiting
    waiting = []
    const ids = insertAll(batch.map(({ animal }) => animal))
    for (const [at, { animal, resolve }] of batch.entries()) {
      resolve({ id: Number(ids[at]), ...animal })
    }
  }
}
