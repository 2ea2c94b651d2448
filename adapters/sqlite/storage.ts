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
import { isStream, type PetStream, type Streamable } from '../storage/pet-stream.js'
import type { RestoreOptions } from '../storage/restore-options.js'
import { readNewPet } from '../storage/stored-pet.js'
import { readOnce } from '../storage/used-keys.js'
import { createChanges } from './changes.js'
import type { Connection } from './connection.js'
import type { Row } from './driver.js'
import { createKeys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import { createStatements } from './statements.js'
import { type ConnectAgain, inTransaction } from './transfer.js'

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
  path: string,
  timeoutMs: number,
  /** Opens another connection to the same file. */
  connectAgain: ConnectAgain,
): SqliteStorage {
  const { run, reading, writing, refuseUnusable } = connection
  const statements = createStatements(connection)
  const keys = createKeys(connection)
  const inserts = createChanges({ ...LIMITS, connection, path, timeoutMs, apply: insertAll })
  const close = () => connection.close(inserts.idle)

  return {
    async insert(given, isGone) {
      refuseUnusable()
      const inserted = inserts.make({ pet: readNewPet(given), keyed: undefined }, isGone)
      return isPromise(inserted) ? (await inserted).pet : inserted.pet
    },
    async insertOnce(given, once, now, isGone) {
      refuseUnusable()
      const keyed = { once: readOnce(once), now }
      return inserts.make({ pet: readNewPet(given), keyed }, isGone)
    },
    find(id) {
      refuseUnusable()
      if (!Number.isSafeInteger(id)) return undefined
      return run(() => {
        const row = statements.find.get(id)
        return row && fromRow(row)
      })
    },
    list({ limit, status, after = 0 }) {
      refuseUnusable()
      const statement = status === undefined ? statements.list : statements.listByStatus[status]
      return run(() => statement.all(after, limit).map(fromRow))
    },
    async dump() {
      refuseUnusable()
      return run(() =>
        reading(() => {
          const pets = statements.all.all().map(fromRow)
          const idempotencyKeys = keys.readAll()
          return { pets, nextId: nextId(), ...(idempotencyKeys.length > 0 && { idempotencyKeys }) }
        }),
      )
    },
    async restore(snapshot, options) {
      refuseUnusable()
      const restored = readSnapshot(snapshot)
      await run(() => writing(() => replaceAll(restored, options)))
    },
    async stream(read) {
      refuseUnusable()
      return inTransaction(connectAgain, 'reading', transfer => read(transfer.content()))
    },
    async seed(content, options) {
      refuseUnusable()
      if (isStream(content)) {
        return inTransaction(connectAgain, 'writing', transfer => transfer.seed(content, options))
      }
      const restored = readSnapshot(content)
      return run(() =>
        writing(() => {
          if (nextId() > 1) return false
          replaceAll(restored, options)
          return true
        }),
      )
    },
    async count() {
      refuseUnusable()
      return run(count)
    },
    async check() {
      refuseUnusable()
      return run(() => reading(() => [...statements.check.all().flatMap(problem), ...strayRows()]))
    },
    async ping() {
      refuseUnusable(true)
      await run(nextId)
    },
    close,
    [Symbol.asyncDispose]: close,
  }

  function insertAll(inserts: readonly Insert[]): readonly InsertedOnce[] {
    const [first] = inserts
    // A transaction by itself, which saves two statements.
    if (first && inserts.length === 1 && !first.keyed) return [inserted(first, insertNext(first))]
    return writing(() => {
      let id = nextId()
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

  function insertNext({ pet }: Insert): number {
    return Number(statements.insertNext.run(...toRow(pet)).lastInsertRowid)
  }

  function replaceAll(snapshot: PetSnapshot, { onProgress }: RestoreOptions = {}): void {
    const { pets, nextId, idempotencyKeys = [] } = snapshot
    keys.removeAll()
    statements.deleteAll.run()
    for (const [at, pet] of pets.entries()) {
      statements.insert.run(pet.id, ...toRow(pet))
      if ((at + 1) % PROGRESS === 0) onProgress?.(at + 1)
    }
    onProgress?.(pets.length)
    statements.setNextId.run(nextId, nextId - 1 - pets.length)
    for (const used of idempotencyKeys) keys.use(used)
  }

  function nextId(): number {
    return (statements.nextId.get() as Row)['next']
  }

  function count(): number {
    return (statements.count.get() as Row)['count']
  }

  function strayRows(): readonly string[] {
    const [counted, rows] = [count(), (statements.countRows.get() as Row)['count']]
    const stray = statements.strayName.get()
    return [
      ...(counted === rows ? [] : [`${rows} animals are stored, and ${counted} are counted`]),
      ...(stray ? [`the name of animal ${stray['id']} is not a JSON string`] : []),
    ]
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

function problem({ integrity_check: line }: Row): readonly string[] {
  return line === 'ok' ? [] : [String(line).replaceAll('\n', '; ')]
}

/** Of one transaction: bounds the time for which it blocks this process and the others. */
const LIMITS = {
  items: 500,
  size: 1_048_576,
  sizeOf: ({ pet }: Insert) => pet.name.length,
  name: 'sqlite.insert',
}
/** Reports progress each time this many pets are written. */
const PROGRESS = 1_000
