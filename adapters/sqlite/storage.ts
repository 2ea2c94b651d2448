import { type Awaitable, isPromise } from '../../src/lib/async.js'
import { toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import type {
  InsertedOnce,
  IsGone,
  Once,
  PetFilter,
  PetSnapshot,
  PetStorage,
} from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import { isStream, type PetStream, type Streamable, streamOf } from '../storage/pet-stream.js'
import type { RestoreOptions } from '../storage/restore-options.js'
import { readNewPet, readOnce } from '../storage/stored.js'
import { createChanges } from './changes.js'
import type { Connection } from './connection.js'
import { createContent } from './content.js'
import type { Row } from './driver.js'
import { createKeys, type Keys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import { createStatements, type Statements } from './statements.js'
import { type ConnectAgain, inTransaction, replace, toStream } from './transfer.js'

export interface SqliteStorage extends PetStorage, Streamable, AsyncDisposable {
  /** Rejects invalid fields, which a JavaScript caller may pass. */
  insert(pet: NewPet, isGone?: IsGone): Promise<Pet>
  insertOnce(pet: NewPet, once: Once, now: number, isGone?: IsGone): Promise<InsertedOnce>
  find(id: number): Awaitable<Pet | undefined>
  list(filter: PetFilter): Awaitable<readonly Pet[]>
  dump(): Promise<PetSnapshot>
  restore(snapshot: PetSnapshot, options?: RestoreOptions): Promise<void>
  /** Restores a snapshot if the storage was never used; resolves with whether it did. */
  seed(content: PetSnapshot | PetStream, options?: RestoreOptions): Promise<boolean>
  count(): Promise<number>
  /** What is damaged, in one line each; empty if nothing is. Reads the whole file. */
  check(): Promise<readonly string[]>
  /**
   * Resolves if the file can be read.
   * @throws SqliteError
   */
  ping(): Promise<void>
  /**
   * Waits for the inserts in progress, then frees the file; what else waits for a lock is refused. May be
   * called again.
   */
  close(): Promise<void>
}

export function createStorage(
  connection: Connection,
  timeoutMs: number,
  connectAgain: ConnectAgain,
): SqliteStorage {
  const { path, run, reading, writing, look } = connection
  const statements = createStatements(connection)
  const keys = createKeys(connection)
  const content = createContent(statements, keys)
  const insertAll = createInserts(connection, statements, keys)
  const inserts = createChanges(connection, { ...LIMITS, timeoutMs, apply: insertAll })

  return {
    async insert(given, isGone) {
      const inserted = inserts.make({ pet: readNewPet(given), keyed: undefined }, isGone)
      return isPromise(inserted) ? (await inserted).pet : inserted.pet
    },
    async insertOnce(given, once, now, isGone) {
      const keyed = { once: readOnce(once), now }
      return inserts.make({ pet: readNewPet(given), keyed }, isGone)
    },
    find(id) {
      if (!Number.isSafeInteger(id)) return undefined
      return run(() => {
        const row = statements.find.get(id)
        return row && fromRow(row)
      })
    },
    list({ limit, status, after = 0 }) {
      const statement = status === undefined ? statements.list : statements.listByStatus[status]
      return run(() => statement.all(after, limit).map(fromRow))
    },
    dump: async () => run(() => reading(content.read)),
    async restore(snapshot, { onProgress } = {}) {
      const { pets, nextId, idempotencyKeys = [] } = readSnapshot(snapshot)
      await run(() =>
        writing(() => {
          content.clear()
          content.write(pets, idempotencyKeys)
          content.setNextId(nextId, pets.length)
        }),
      )
      onProgress?.(pets.length)
    },
    stream: read =>
      inTransaction(connection, connectAgain, 'reading', all => read(toStream(all, path))),
    async seed(given, options) {
      const stream = isStream(given) ? given : streamOf(readSnapshot(given))
      return inTransaction(connection, connectAgain, 'writing', async all => {
        if (all.nextId() > 1) return false
        await replace(all, stream, options)
        return true
      })
    },
    count: async () => run(content.count),
    check: async () => run(() => statements.check.all().map(toProblem)),
    async ping() {
      look()
      await run(content.nextId)
    },
    close: inserts.close,
    [Symbol.asyncDispose]: inserts.close,
  }
}

/** Stores some animals in one transaction. */
function createInserts(connection: Connection, statements: Statements, keys: Keys) {
  return (inserts: readonly Insert[]): readonly InsertedOnce[] => {
    const [first] = inserts
    // A transaction by itself, which saves two statements.
    if (first && inserts.length === 1 && !first.keyed) return [insertAlone(first)]
    return connection.writing(() => {
      let id = (statements.nextId.get() as Row)['next']
      const answers = inserts.map(insert => {
        const known = insert.keyed && keys.find(insert.keyed.once, insert.keyed.now)
        if (known) return known
        statements.insert.run(id, ...toRow(insert.pet))
        if (insert.keyed) keys.use({ ...insert.keyed.once, petId: id })
        return inserted(insert, id++)
      })
      for (const { keyed } of inserts) if (keyed) keys.dropExpired(keyed.now)
      return answers
    })
  }

  function insertAlone(insert: Insert): InsertedOnce {
    const { lastInsertRowid } = statements.insertNext.run(...toRow(insert.pet))
    return inserted(insert, Number(lastInsertRowid))
  }
}

interface Insert {
  readonly pet: NewPet
  readonly keyed: { readonly once: Once; readonly now: number } | undefined
}

function inserted({ pet, keyed }: Insert, id: number): InsertedOnce {
  const fingerprint = keyed?.once.fingerprint ?? ''
  return { pet: toPet(id, pet), fingerprint, replayed: false }
}

/** The ids of a snapshot are checked, and its pets copied. */
function readSnapshot(snapshot: PetSnapshot): PetSnapshot {
  for (const used of snapshot.idempotencyKeys ?? []) readOnce(used)
  const pets = snapshot.pets.map(pet => toPet(pet.id, readNewPet(pet)))
  return createPetIndex({ ...snapshot, pets }).dump()
}

function toProblem({ problem }: Row): string {
  return String(problem).replaceAll('\n', '; ')
}

/** Of one transaction: bounds the time for which it blocks this process and the others. */
const LIMITS = {
  items: 500,
  size: 1_048_576,
  sizeOf: ({ pet }: Insert) => pet.name.length,
  name: 'sqlite.insert',
}
