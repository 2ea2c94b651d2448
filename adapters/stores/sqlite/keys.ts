import type { Once, UsedKey } from '../../../src/pets/used-key.js'
import type { InsertedOnce } from '../../../src/ports.js'
import type { Connection } from './connection.js'
import { fromRow, fromText, PET_COLUMNS, toText } from './rows.js'

export type Keys = ReturnType<typeof createKeys>

export function createKeys({ prepare, prepareInsert }: Connection) {
  const join = 'pet_keys JOIN pets ON pets.id = pet_id'
  const find = prepare(`SELECT fingerprint, ${PET_COLUMNS} FROM ${join}
    WHERE scope = ? AND key = ? AND expires_at > ?`)
  const use =
    prepareInsert(`INSERT OR REPLACE INTO pet_keys (scope, key, fingerprint, expires_at, pet_id)
    VALUES (?, ?, ?, ?, ?)`)
  const readPart = prepare(`SELECT place, scope, key, fingerprint, expires_at AS expiresAt,
    pet_id AS petId FROM ${join} WHERE place > ? ORDER BY place LIMIT ?`)
  const removeAll = prepare('DELETE FROM pet_keys')
  const dropExpired = prepare(`DELETE FROM pet_keys WHERE expires_at <= ? AND place IN
    (SELECT place FROM pet_keys ORDER BY place LIMIT 2)`)

  return {
    /** The key of a pet that somebody deleted is free. */
    find({ scope, idempotencyKey }: Once, now: number): InsertedOnce | undefined {
      const row = find.get(toText(scope), toText(idempotencyKey), now)
      return row && { pet: fromRow(row), fingerprint: row['fingerprint'], replayed: true }
    },
    use({ scope, idempotencyKey, fingerprint, expiresAt, petId }: UsedKey): void {
      use(toText(scope), toText(idempotencyKey), fingerprint, expiresAt, petId)
    },
    /** In order of use. */
    *readParts(size: number): Iterable<readonly UsedKey[]> {
      for (let rows = readPart.all(0, size); rows.length > 0; ) {
        yield rows.map(({ scope, key, fingerprint, expiresAt, petId }) => {
          const name = { scope: fromText(scope), idempotencyKey: fromText(key) }
          return { ...name, fingerprint, expiresAt, petId }
        })
        rows = readPart.all(rows.at(-1)?.['place'], size)
      }
    },
    removeAll: () => void removeAll.run(),
    /** Drops at most two: no insert waits for many, and more are dropped than added. */
    dropExpired: (now: number) => void dropExpired.run(now),
  }
}
