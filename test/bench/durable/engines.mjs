import { jsonFileStorage } from '../../../dist/adapters/stores/json-file/index.js'
import { sqliteStorage } from '../../../dist/adapters/stores/sqlite/index.js'

export async function ours(path, animals) {
  const storage = jsonFileStorage(path)
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  return { create: storage.insert, close: storage.close }
}

async function oursSqlite(path, animals) {
  const storage = sqliteStorage(path)
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  return { create: storage.insert, close: storage.close }
}

export { oursSqlite as 'ours-sqlite' }

/** By hand with node:sqlite; more than one caller share a transaction. */
export function sqlite(path, animals, callers) {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(path)
  // With the index that a list by status needs: ours keeps one as well.
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT);
    CREATE INDEX byStatus ON pets (status, id);
  `)
  const insert = database.prepare('INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)')
  insertAll(animals)
  let waiting = []
  return { create: callers > 1 ? createTogether : createOne, close: () => database.close() }

  async function createOne(animal) {
    return { id: insertOne(animal), ...animal }
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
    for (const [at, { animal, resolve }] of batch.entries()) resolve({ id: ids[at], ...animal })
  }

  function insertAll(all) {
    database.exec('BEGIN')
    const ids = all.map(insertOne)
    database.exec('COMMIT')
    return ids
  }

  function insertOne({ name, categoryId, status }) {
    return Number(insert.run(name, categoryId, status).lastInsertRowid)
  }
}
