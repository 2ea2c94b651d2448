import { randomUUID } from 'node:crypto'
import type { Pet } from '../../../src/pets/schema.js'
import type { UsedKey } from '../../../src/pets/used-key.js'
import { notify } from '../../warnings.js'
import { PART, type PetStream, type RestoreOptions } from '../kit/pet-stream.js'
import { inconsistent } from './failures.js'
import type { Database, Row, Run } from './pool.js'
import { columnsOf, fromKeyRow, readPet, toKey, toRow } from './rows.js'
import { PET_FIELDS } from './statements.js'

/** Reads and writes all content, in one long transaction per call. @param schema quoted */
export function createContent(database: Database, schema: string, timeoutMs: number) {
  return {
    read: <T>(use: (stream: PetStream) => Promise<T>): Promise<T> =>
      database.transaction(async run => {
        // One snapshot for all statements.
        await run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        const [row] = await run(
          `SELECT next::text AS next, (SELECT count(*)::text FROM ${schema}.pets) AS count
            FROM ${schema}.pet_ids WHERE one = 1`,
        )
        const keys = `SELECT * FROM ${schema}.pet_keys ORDER BY pet, key`
        return use({
          nextId: Number(row.next),
          count: Number(row.count),
          pets: rowsOf(run, `SELECT ${PET_FIELDS} AS pet FROM ${schema}.pets ORDER BY id`, readPet),
          idempotencyKeys: rowsOf(run, keys, fromKeyRow),
        })
      }),
    replace: (
      stream: PetStream,
      { onProgress }: RestoreOptions,
      isFit: (nextId: number) => boolean,
    ): Promise<boolean> =>
      database.transaction(async run => {
        if (!isFit(await lockedNextId(run))) return false
        await run(`DELETE FROM ${schema}.pet_keys`)
        await run(`DELETE FROM ${schema}.pets`)
        let written = 0
        for await (const pets of stream.pets) {
          await insertPets(run, pets)
          written += pets.length
          notify('onProgress', onProgress, written)
        }
        for await (const keys of stream.idempotencyKeys) await insertKeys(run, keys)
        await run(`UPDATE ${schema}.pet_ids SET next = $1`, [stream.nextId])
        return true
      }),
    async count(): Promise<number> {
      const text = `SELECT count(*)::text AS count FROM ${schema}.pets`
      const [row] = await database.transaction(run => run(text))
      return Number(row.count)
    },
    async check(): Promise<readonly string[]> {
      const text = `SELECT count(*) FILTER (WHERE json_typeof(name) <> 'string')::int AS names,
          (SELECT next FROM ${schema}.pet_ids WHERE one = 1)::text AS next, max(id)::text AS last
        FROM ${schema}.pets`
      const [{ names, next, last }] = await database.transaction(run => run(text))
      const isLow = next !== null && Number(next) <= Number(last)
      const problems = [
        next === null &&
          `pet_ids is empty, so nothing can be created; run: INSERT INTO ${schema}.pet_ids (next) SELECT coalesce(max(id), 0) + 1 FROM ${schema}.pets`,
        isLow &&
          `next in pet_ids is ${next}, but the largest id is ${last}, so creates fail; run: UPDATE ${schema}.pet_ids SET next = (SELECT max(id) + 1 FROM ${schema}.pets)`,
        names > 0 &&
          `${names} names are not JSON strings; run: UPDATE ${schema}.pets SET name = to_json(name #>> '{}') WHERE json_typeof(name) <> 'string'`,
      ]
      return problems.filter(problem => problem !== false)
    },
  }

  /** Blocks inserts until the transaction ends. */
  async function lockedNextId(run: Run): Promise<number> {
    await run(`SET LOCAL lock_timeout = ${timeoutMs}`)
    const [row] = await run(`SELECT next::text AS next FROM ${schema}.pet_ids FOR UPDATE`)
    await run('SET LOCAL lock_timeout = 0')
    if (!row) throw inconsistent()
    return Number(row.next)
  }

  async function insertPets(run: Run, pets: readonly Pet[]): Promise<void> {
    await run(
      `INSERT INTO ${schema}.pets (name, category_id, status, id)
        SELECT name::json, category_id, status, id
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[])
          AS pet (name, category_id, status, id)`,
      [...columnsOf(pets.map(toRow)), pets.map(({ id }) => id)],
    )
  }

  async function insertKeys(run: Run, used: readonly UsedKey[]): Promise<void> {
    const keys = used.map(toKey)
    await run(
      `INSERT INTO ${schema}.pet_keys (scope, key, fingerprint, expires, pet, batch)
        SELECT *, $6::uuid
        FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::bigint[]) AS used`,
      [
        keys.map(({ scope }) => scope),
        keys.map(({ key }) => key),
        used.map(({ fingerprint }) => fingerprint),
        used.map(({ expiresAt }) => expiresAt),
        used.map(({ petId }) => petId),
        randomUUID(),
      ],
    )
  }
}

async function* rowsOf<T>(run: Run, text: string, read: (row: Row) => T) {
  const cursor = `rows_${randomUUID().replaceAll('-', '')}`
  await run(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${text}`)
  for (;;) {
    const rows = await run(`FETCH ${PART} FROM ${cursor}`)
    if (rows.length === 0) break
    yield rows.map(read)
  }
  await run(`CLOSE ${cursor}`)
}
