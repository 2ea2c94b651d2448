import { randomUUID } from 'node:crypto'
import { storageOverloaded } from '../../src/errors.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type {
  InsertedOnce,
  IsGone,
  Once,
  PetFilter,
  PetSnapshot,
  PetStorage,
  UsedKey,
} from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import {
  answerAll,
  createBatches,
  type Patience,
  stillWaited,
  type Waiting,
} from '../storage/batches.js'
import { type KeyedInsert, onceEach } from '../storage/once-each.js'
import {
  checked,
  isStream,
  PART,
  type PetStream,
  type Streamable,
  streamOf,
} from '../storage/pet-stream.js'
import type { RestoreOptions } from '../storage/restore-options.js'
import { readNewPet, readOnce } from '../storage/stored.js'
import { createCleaning } from './cleaning.js'
import { isDuplicate, isReadOnly, noAnswer, PostgresError } from './failures.js'
import { readPages } from './pages.js'
import type { Database, Row, Run } from './pool.js'
import { fromKeyRow, fromRow, type PetRow, toKey, toRow } from './rows.js'
import { PET_COLUMNS, type Statements } from './statements.js'

export interface PostgresStorage extends PetStorage, Streamable, AsyncDisposable {
  insert(pet: NewPet, isGone?: IsGone): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number, isGone?: IsGone): Promise<InsertedOnce>
  find(id: number): Promise<Pet | undefined>
  list(filter: PetFilter): Promise<readonly Pet[]>
  dump(): Promise<PetSnapshot>
  restore(snapshot: PetSnapshot, options?: RestoreOptions): Promise<void>
  /** Restores a snapshot if the storage was never used; resolves with whether it did. */
  seed(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  count(): Promise<number>
  /**
   * Resolves if a write commits, and so if an insert would: not on a read-only server, not while a
   * synchronous standby is away, and not on a primary that another has replaced.
   */
  ping(): Promise<void>
  /** The connections of the pool at this moment. */
  connections(): Connections
  /** Waits for operations in progress, then closes the pool unless it is the host's. */
  close(): Promise<void>
}

export interface Connections {
  readonly open: number
  readonly idle: number
  /** Calls that wait for one. */
  readonly waiting: number
}

export interface StorageParts {
  readonly database: Database
  /** How long a call may take, from its arrival on. */
  readonly timeoutMs: number
  /** Quoted. */
  readonly schema: string
  readonly statements: Statements
  /** A UUID unique to this storage. */
  readonly writer: string
  readonly connections: () => Connections
  readonly closePool: () => Promise<void>
}

export function createStorage(parts: StorageParts): PostgresStorage {
  const { database, timeoutMs, schema, statements, writer, connections, closePool } = parts
  const patience: Patience = {
    ms: timeoutMs,
    items: QUEUE,
    late: () => noAnswer(timeoutMs),
    full: storageOverloaded,
  }
  const inserts = createBatches(insertBatch, {
    ...LIMITS,
    name: 'postgres.insert',
    patience,
    sizeOf: ({ name }) => name.length,
  })
  const keyed = createBatches(onceEach(insertOnce), {
    ...LIMITS,
    name: 'postgres.insert-once',
    patience,
    sizeOf: ({ pet }) => pet.name.length,
  })
  const keysInOrder = `SELECT * FROM ${schema}.pet_keys ORDER BY pet, key`
  const clean = createCleaning(database, statements)
  const finds = createBatches(answerAll(findAll), {
    ...LIMITS,
    name: 'postgres.find',
    patience,
    sizeOf: () => 0,
  })
  const lists = createBatches(
    answerAll((filters: readonly PetFilter[]) => readPages(database, statements, filters)),
    { ...LISTS, patience },
  )
  let lastBatch = 0
  let latestTimeline = 0
  let closing: Promise<void> | undefined

  return {
    async insert(pet, isGone) {
      refuseWhenClosed()
      const row = toRow(pet)
      return fromRow({ ...row, id: await inserts.add(row, isGone), category_id: row.categoryId })
    },
    async insertOnce(pet, once, now, isGone) {
      refuseWhenClosed()
      return keyed.add({ pet: readNewPet(pet), once: readOnce(once), now }, isGone)
    },
    async find(id) {
      refuseWhenClosed()
      return Number.isSafeInteger(id) ? finds.add(id) : undefined
    },
    async list(filter) {
      refuseWhenClosed()
      return lists.add(filter)
    },
    async dump() {
      refuseWhenClosed()
      const [rows, keys] = await database.transaction(async run => {
        // One snapshot for both statements.
        await run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        const rows = await run(`SELECT next::text AS next, ${PET_COLUMNS} FROM ${schema}.pet_ids
          LEFT JOIN ${schema}.pets ON true WHERE one = 1 ORDER BY pets.id`)
        return [rows, await run(keysInOrder)] as const
      })
      const pets = rows[0].id === null ? [] : rows.map(fromRow)
      const nextId = Number(rows[0].next)
      return keys.length === 0
        ? { pets, nextId }
        : { pets, nextId, idempotencyKeys: keys.map(fromKeyRow) }
    },
    async stream(read) {
      refuseWhenClosed()
      return database.transaction(async run => {
        await run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        const [row] = await run(
          `SELECT next::text AS next, (SELECT count(*)::text FROM ${schema}.pets) AS count
            FROM ${schema}.pet_ids WHERE one = 1`,
        )
        return read({
          nextId: Number(row.next),
          count: Number(row.count),
          pets: rowsOf(run, `SELECT ${PET_COLUMNS} FROM ${schema}.pets ORDER BY pets.id`, fromRow),
          idempotencyKeys: rowsOf(run, keysInOrder, fromKeyRow),
        })
      })
    },
    async restore(snapshot, options = {}) {
      refuseWhenClosed()
      const restored = streamOf(createPetIndex(snapshot).dump())
      await database.transaction(async run => {
        await lockedNextId(run)
        await replaceAll(run, restored, options)
      })
    },
    async seed(content, options = {}) {
      refuseWhenClosed()
      const restored = isStream(content)
        ? checked(content)
        : streamOf(createPetIndex(content).dump())
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
      const [row] = await database.queryOnce(statements.ping, [writer]).catch(error => {
        throw isReadOnly(error) ? new PostgresError('The database is read-only') : error
      })
      const timeline = Number.parseInt(row.timeline, 16)
      if (timeline < latestTimeline) {
        throw new PostgresError(
          `This is an old primary: it is on timeline ${timeline}, and the database was on ${latestTimeline} already`,
        )
      }
      latestTimeline = timeline
    },
    connections,
    close,
    [Symbol.asyncDispose]: close,
  }

  async function insertBatch(batch: readonly Waiting<PetRow, number>[]): Promise<void> {
    const number = ++lastBatch
    let fixed: readonly Waiting<PetRow, number>[] | undefined
    // Fixed when there is a connection: from then on the batch may be stored, and is sent again as it was.
    const left = () => (fixed ??= stillWaited(batch))
    const values = () => {
      const rows = left().map(({ item }) => item)
      if (rows.length === 0) return undefined
      const names = rows.map(row => row.name)
      const categories = rows.map(row => row.categoryId)
      const statuses = rows.map(row => row.status)
      return [names, categories, statuses, writer, number]
    }
    let stored = await database.query(statements.insertBatch, values)
    if (left().length === 0) return
    if (stored.length === 0) stored = await database.query(statements.insertBatch, values)
    if (stored.length === 0) throw new PostgresError('The outcome of the insert is unknown')
    const first = Number(stored[0].first)
    for (const [at, { resolve }] of left().entries()) resolve(first + at)
  }

  async function insertOnce(left: () => readonly KeyedInsert[]): Promise<readonly InsertedOnce[]> {
    const batch = randomUUID()
    const keyColumns = () => {
      const keys = left().map(({ once }) => toKey(once))
      return [keys.map(({ scope }) => scope), keys.map(({ key }) => key)]
    }
    const times = () => left().map(({ now }) => now)
    const values = () => {
      const inserts = left()
      if (inserts.length === 0) return undefined
      const rows = inserts.map(({ pet }) => toRow(pet))
      return [
        rows.map(row => row.name),
        rows.map(row => row.categoryId),
        rows.map(row => row.status),
        ...keyColumns(),
        inserts.map(({ once }) => once.fingerprint),
        inserts.map(({ once }) => once.expiresAt),
        times(),
        batch,
      ]
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await database.query(statements.insertOnce, values)
        if (left().length === 0) return []
        const answers: InsertedOnce[] = []
        for (const { n, fingerprint, replayed, ...row } of rows) {
          answers[n - 1] = { pet: fromRow(row), fingerprint, replayed }
        }
        clean(Math.max(...times()))
        return answers
      } catch (error) {
        if (!isDuplicate(error) || attempt === ATTEMPTS) throw error
        await database.query(statements.forget, [...keyColumns(), times()])
      }
    }
  }

  async function findAll(ids: readonly number[]): Promise<readonly (Pet | undefined)[]> {
    const rows = await database.query(statements.find, [ids])
    const found = new Map(rows.map(row => [Number(row.id), fromRow(row)]))
    return ids.map(id => found.get(id))
  }

  /** Blocks inserts until the transaction ends. */
  async function lockedNextId(run: Run): Promise<number> {
    await run(`SET LOCAL lock_timeout = ${timeoutMs}`)
    const [row] = await run(`SELECT next::text AS next FROM ${schema}.pet_ids FOR UPDATE`)
    await run('SET LOCAL lock_timeout = 0')
    return Number(row.next)
  }

  async function replaceAll(run: Run, content: PetStream, { onProgress }: RestoreOptions) {
    await run(`DELETE FROM ${schema}.pet_keys`)
    await run(`DELETE FROM ${schema}.pets`)
    let written = 0
    for await (const pets of content.pets) {
      await insertPets(run, pets)
      written += pets.length
      onProgress?.(written)
    }
    for await (const keys of content.idempotencyKeys) await insertKeys(run, keys)
    await run(`UPDATE ${schema}.pet_ids SET next = $1`, [content.nextId])
  }

  async function insertPets(run: Run, pets: readonly Pet[]): Promise<void> {
    const rows = pets.map(toRow)
    await run(
      `INSERT INTO ${schema}.pets (id, name, category_id, status)
        SELECT id, name::json, category_id, status
        FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])
          AS pet (id, name, category_id, status)`,
      [
        pets.map(pet => pet.id),
        rows.map(row => row.name),
        rows.map(row => row.categoryId),
        rows.map(row => row.status),
      ],
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

  function close(): Promise<void> {
    closing ??= Promise.all([inserts, keyed, finds, lists].map(({ idle }) => idle()))
      // The last insert may start it.
      .then(() => clean.idle())
      .then(closePool)
    return closing
  }

  function refuseWhenClosed(): void {
    if (closing) throw new PostgresError('The storage is closed')
  }
}

/** The rows of a statement in parts, within a transaction. */
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

/** How often to send a batch whose keys another process uses at the same time. */
const ATTEMPTS = 5

/** How many calls may wait for each kind of statement: about a second of work. */
const QUEUE = 10_000

/** Of one batch of lists, in rows, so that no list waits long for those before it. */
const LISTS = {
  name: 'postgres.list',
  items: 64,
  size: 5_000,
  sizeOf: ({ limit }: PetFilter) => limit,
}

/** Of one batch, so that other processes get their turn. */
const LIMITS = { items: 500, size: 1_048_576 }
