import type { NewPet, Pet } from '../../src/pets/schema.js'
import type { PetFilter, PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import { answerAll, createBatches } from '../shared/batches.js'
import { PostgresError } from './failures.js'
import type { Database, Run } from './pool.js'
import { fromRow, type PetRow, toRow } from './rows.js'
import { createSharedQueries } from './shared-queries.js'
import { PET_COLUMNS, type Statements } from './statements.js'

export interface PostgresStorage extends PetStorage, AsyncDisposable {
  insert(pet: NewPet): Promise<Pet>
  find(id: number): Promise<Pet | undefined>
  list(filter: PetFilter): Promise<readonly Pet[]>
  dump(): Promise<PetSnapshot>
  restore(snapshot: PetSnapshot, options?: RestoreOptions): Promise<void>
  /** Restores a snapshot if the storage was never used; resolves with whether it did. */
  seed(snapshot: PetSnapshot, options?: RestoreOptions): Promise<boolean>
  count(): Promise<number>
  /**
   * Resolves if the database is reachable and writable.
   * @throws PostgresError
   */
  ping(): Promise<void>
  /** Waits for operations in progress, then closes the pool unless it is the host's. */
  close(): Promise<void>
}

export interface RestoreOptions {
  /** Receives the number of pets written so far; none is visible before the end. */
  readonly onProgress?: ((written: number) => void) | undefined
}

export interface StorageParts {
  readonly database: Database
  /** Quoted. */
  readonly schema: string
  readonly statements: Statements
  /** A UUID unique to this storage. */
  readonly writer: string
  readonly closePool: () => Promise<void>
}

export function createStorage(parts: StorageParts): PostgresStorage {
  const { database, schema, statements, writer, closePool } = parts
  const inserts = createBatches(answerAll(insertBatch), {
    ...LIMITS,
    sizeOf: ({ name }) => name.length,
  })
  const finds = createBatches(answerAll(findAll), { ...LIMITS, sizeOf: () => 0 })
  const shareList = createSharedQueries<readonly Pet[]>()
  let lastBatch = 0
  let closing: Promise<void> | undefined

  return {
    async insert(pet) {
      refuseWhenClosed()
      const row = toRow(pet)
      return fromRow({ ...row, id: await inserts.add(row), category_id: row.categoryId })
    },
    async find(id) {
      refuseWhenClosed()
      return Number.isSafeInteger(id) ? finds.add(id) : undefined
    },
    async list({ limit, status, after = 0 }) {
      refuseWhenClosed()
      const statement = status === undefined ? statements.list : statements.listByStatus[status]
      return shareList(`${status} ${limit} ${after}`, async () => {
        const rows = await database.query(statement, [after, limit])
        return Object.freeze(rows.map(fromRow))
      })
    },
    async dump() {
      refuseWhenClosed()
      // A single statement sees one snapshot.
      const rows = await database.transaction(run =>
        run(`SELECT next::text AS next, ${PET_COLUMNS} FROM ${schema}.pet_ids
          LEFT JOIN ${schema}.pets ON true WHERE one = 1 ORDER BY pets.id`),
      )
      const pets = rows[0].id === null ? [] : rows.map(fromRow)
      return { pets, nextId: Number(rows[0].next) }
    },
    async restore(snapshot, options = {}) {
      refuseWhenClosed()
      const restored = createPetIndex(snapshot).dump()
      await database.transaction(async run => {
        await lockedNextId(run)
        await replaceAll(run, restored, options)
      })
    },
    async seed(snapshot, options = {}) {
      refuseWhenClosed()
      const restored = createPetIndex(snapshot).dump()
      return database.transaction(async run => {
        if ((await lockedNextId(run)) > 1) return false
        await replaceAll(run, restored, options)
        return true
      })
    },
    async count() {
      refuseWhenClosed()
      const text = `SELECT count(*)::text AS count FROM ${schema}.pets`
      const [row] = await database.transaction(run => run(text))
      return Number(row.count)
    },
    async ping() {
      refuseWhenClosed()
      const [row] = await database.query(statements.ping, [])
      if (row?.replica !== false) throw new PostgresError('The database is a read-only replica')
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  async function insertBatch(rows: readonly PetRow[]): Promise<readonly number[]> {
    const names = rows.map(row => row.name)
    const categories = rows.map(row => row.categoryId)
    const statuses = rows.map(row => row.status)
    const values = [names, categories, statuses, writer, ++lastBatch]
    let stored = await database.query(statements.insertBatch, values)
    if (stored.length === 0) stored = await database.query(statements.insertBatch, values)
    if (stored.length === 0) throw new PostgresError('The outcome of the insert is unknown')
    const first = Number(stored[0].first)
    return rows.map((_, at) => first + at)
  }

  async function findAll(ids: readonly number[]): Promise<readonly (Pet | undefined)[]> {
    const rows = await database.query(statements.find, [ids])
    const found = new Map(rows.map(row => [Number(row.id), fromRow(row)]))
    return ids.map(id => found.get(id))
  }

  /** Blocks inserts until the transaction ends. */
  async function lockedNextId(run: Run): Promise<number> {
    const [row] = await run(`SELECT next::text AS next FROM ${schema}.pet_ids FOR UPDATE`)
    return Number(row.next)
  }

  async function replaceAll(run: Run, snapshot: PetSnapshot, { onProgress }: RestoreOptions) {
    const { pets, nextId } = snapshot
    await run(`DELETE FROM ${schema}.pets`)
    for (let start = 0; start < pets.length; start += LIMITS.items) {
      const some = pets.slice(start, start + LIMITS.items)
      const rows = some.map(toRow)
      await run(
        `INSERT INTO ${schema}.pets (id, name, category_id, status)
          SELECT id, name::json, category_id, status
          FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])
            AS pet (id, name, category_id, status)`,
        [
          some.map(pet => pet.id),
          rows.map(row => row.name),
          rows.map(row => row.categoryId),
          rows.map(row => row.status),
        ],
      )
      onProgress?.(start + some.length)
    }
    await run(`UPDATE ${schema}.pet_ids SET next = $1`, [nextId])
  }

  function close(): Promise<void> {
    closing ??= inserts.idle().then(finds.idle).then(closePool)
    return closing
  }

  function refuseWhenClosed(): void {
    if (closing) throw new PostgresError('The storage is closed')
  }
}

/** Of one batch, so that other processes get their turn. */
const LIMITS = { items: 500, size: 1_048_576 }
