import Database from 'better-sqlite3'

export function open(animals) {
  const database = new Database(':memory:')
  database.exec(`
    CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT);
    CREATE INDEX byStatus ON pets (status, id);
  `)
  const columns = '(@name, @categoryId, @status)'
  const insert = database.prepare(`INSERT INTO pets (name, categoryId, status) VALUES ${columns}`)
  database.transaction(() => {
    for (const pet of animals) insert.run(pet)
  })()
  const list = database.prepare('SELECT * FROM pets WHERE status = ? ORDER BY id LIMIT 20')
  const get = database.prepare('SELECT * FROM pets WHERE id = ?')
  return {
    list: status => list.all(status),
    get: id => get.get(id),
    create: animal => ({ id: Number(insert.run(animal).lastInsertRowid), ...animal }),
  }
}
