/** node:sqlite by hand; needs Node 22.13 or newer. */
export function open(animals) {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(':memory:')
  database.exec(`
    CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, categoryId INTEGER, status TEXT);
    CREATE INDEX byStatus ON pets (status, id);
    BEGIN
  `)
  const insert = database.prepare(
    'INSERT INTO pets (name, categoryId, status) VALUES (:name, :categoryId, :status)',
  )
  for (const { name, categoryId, status } of animals) insert.run({ name, categoryId, status })
  database.exec('COMMIT')
  const list = database.prepare('SELECT * FROM pets WHERE status = ? ORDER BY id LIMIT 20')
  const get = database.prepare('SELECT * FROM pets WHERE id = ?')
  return {
    list: status => list.all(status),
    get: id => get.get(id),
    create: animal => ({ id: Number(insert.run(animal).lastInsertRowid), ...animal }),
  }
}
