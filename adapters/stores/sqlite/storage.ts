import { isPromise } from '../../../src/lib/async.js'
import { toPet } from '../../../src/pets/pet.js'
import type { InsertedOnce } from '../../../src/ports.js'
import type { DurableStorage, OpenedStorage } from '../kit/durable-storage.js'
import type { Insert } from '../kit/keyed-inserts.js'
import type { Streamable } from '../kit/pet-stream.js'
import { createChanges } from './batch-changes.js'
import type { Connection } from './connection.js'
import { type ConnectAgain, createContent, transfer } from './content.js'
import type { Row } from './driver.js'
import { createKeys, type Keys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import { createStatements, type Statements } from './statements.js'

/** `ping` reads the file. `close` refuses calls that still wait for a lock. */
export interface SqliteStorage extends DurableStorage, Streamable {
  count(): Promise<number>
  /** Returns a line per problem. Reads the whole file. */
  check(): Promise<readonly string[]>
}

export function createStorage(
  connection: Connection,
  timeoutMs: number,
  connectAgain: ConnectAgain,
): OpenedStorage & Pick<SqliteStorage, 'stream' | 'count' | 'check'> {
  const { run, reading, look } = connection
  const statements = createStatements(connection)
  const keys = createKeys(connection)
  const content = createContent(connection)
  const insertAll = createInserts(connection, statements, keys)
  const inserts = createChanges(connection, { ...LIMITS, timeoutMs, apply: insertAll })

  return {
    async insert(pet, isGone) {
      const inserted = inserts.make({ pet, now: 0 }, isGone)
      return isPromise(inserted) ? (await inserted).pet : inserted.pet
    },
    insertOnce: async (pet, once, now, isGone) => inserts.make({ pet, once, now }, isGone),
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
    stream: read => transfer(connection, connectAgain, 'reading', all => read(all.stream())),
    replace: (content, options, wanted) =>
      transfer(connection, connectAgain, 'writing', async all => {
        if (!wanted(all.nextId())) return false
        await all.replace(content, options)
        return true
      }),
    count: async () => run(content.count),
    check: async () => run(() => statements.check.all().map(toProblem)),
    async ping() {
      look()
      await run(content.nextId)
    },
    close: inserts.close,
  }
}

function createInserts(connection: Connection, statements: Statements, keys: Keys) {
  return (inserts: readonly Insert[]): readonly InsertedOnce[] => {
    const [first] = inserts
    // A single statement is a transaction, which saves two statements.
    if (first && inserts.length === 1 && !first.once) {
      return [inserted(first, statements.insertNext(...toRow(first.pet)))]
    }
    return connection.writing(() => {
      let id = (statements.nextId.get() as Row)['next']
      const answers = inserts.map(insert => {
        const { pet, once, now } = insert
        const known = once && keys.find(once, now)
        if (known) return known
        statements.insert(id, ...toRow(pet))
        if (once) keys.use({ ...once, petId: id })
        return inserted(insert, id++)
      })
      for (const { once, now } of inserts) if (once) keys.dropExpired(now)
      return answers
    })
  }
}

function inserted({ pet, once }: Insert, id: number): InsertedOnce {
  return { pet: toPet(id, pet), fingerprint: once?.fingerprint ?? '', replayed: false }
}

function toProblem({ problem }: Row): string {
  return String(problem).replaceAll('\n', '; ')
}

/** A transaction blocks this process and the others. */
const LIMITS = {
  items: 500,
  size: 1_048_576,
  sizeOf: ({ pet }: Insert) => pet.name.length,
  name: 'sqlite.insert',
}
