import { listen } from 'animal-adoption-store/http'
import Database from 'better-sqlite3'
import { exercise, openStore } from './support.mjs'

/** A minimal custom storage; the page of the store says what the suite requires beyond it. */
function sqliteStorage(file) {
  const db = new Database(file).defaultSafeIntegers()
  db.exec(
    'CREATE TABLE IF NOT EXISTS pet (id INTEGER PRIMARY KEY AUTOINCREMENT, json TEXT, status TEXT)',
  )
  const read = row => ({
    id: Number(row.id),
    ...JSON.parse(row.json),
    categoryId: short(row.category),
  })
  const columns = "id, json, json ->> '$.categoryId' AS category"
  return {
    insert({ name, categoryId, status }) {
      const json = `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${status ? `,"status":"${status}"` : ''}}`
      const insert = db.prepare(`INSERT INTO pet (json, status) VALUES (?, ?) RETURNING ${columns}`)
      return read(insert.get(json, status ?? null))
    },
    find(id) {
      const row = db.prepare(`SELECT ${columns} FROM pet WHERE id = ?`).get(id)
      return row && read(row)
    },
    list({ limit, status = null, after = 0 }) {
      const where = 'id > ? AND (? IS NULL OR status = ?) ORDER BY id LIMIT ?'
      return db
        .prepare(`SELECT ${columns} FROM pet WHERE ${where}`)
        .all(after, status, status, limit)
        .map(read)
    },
    dump: () => ({ pets: db.prepare(`SELECT ${columns} FROM pet`).all().map(read), nextId: 1 }),
    restore() {
      throw new Error('Not needed here')
    },
  }
}

const short = value => (Number.isSafeInteger(Number(value)) ? Number(value) : value)

const server = await listen(openStore({ storage: sqliteStorage(':memory:') }), { port: 0 })
await exercise(server.origin)
await server.close()
