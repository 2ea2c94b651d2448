import { PET_STATUSES, type PetStatus } from '../../../src/pets/specification.js'
import type { Connection } from './connection.js'
import type { Statement } from './driver.js'
import { PET_COLUMNS } from './rows.js'

export type Statements = ReturnType<typeof createStatements>

export function createStatements({ prepare, prepareInsert }: Connection) {
  const next = `(SELECT max(next, (SELECT coalesce(max(id), 0) FROM pets) + 1) FROM pet_ids)`
  const count = `(${next} - 1 - gaps)`
  const insert = (id: string) =>
    prepareInsert(`INSERT INTO pets (id, name, category_id, status) VALUES (${id}, ?, ?, ?)`)
  // Without the hint, a rare status is looked for in the whole table.
  const byStatus = PET_STATUSES.map(status => [
    status,
    prepare(`SELECT ${PET_COLUMNS} FROM pets INDEXED BY pets_${status}
      WHERE status = '${status}' AND id > ? ORDER BY id LIMIT ?`),
  ])
  return {
    /** ?1 name as JSON, ?2 category, ?3 status. */
    insertNext: insert(next),
    insert: insert('?'),
    find: prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`),
    list: prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ?`),
    listByStatus: Object.fromEntries(byStatus) as Record<PetStatus, Statement>,
    nextId: prepare(`SELECT ${next} AS next`),
    count: prepare(`SELECT ${count} AS count FROM pet_ids`),
    deleteAll: prepare('DELETE FROM pets'),
    /** ?1 next id, ?2 gaps below it. */
    setNextId: prepare('UPDATE pet_ids SET next = ?, gaps = ?'),
    check: prepare(`SELECT integrity_check AS problem FROM pragma_integrity_check
        WHERE integrity_check <> 'ok'
      UNION ALL SELECT stored || ' animals are stored, and ' || ${count} || ' are counted'
        FROM pet_ids, (SELECT count(*) AS stored FROM pets) WHERE stored <> ${count}
      UNION ALL SELECT * FROM (SELECT 'the name of animal ' || id || ' is not a JSON string' FROM pets
        WHERE NOT json_valid(name) OR json_type(name) <> 'text' LIMIT 1)`),
  }
}
