import { checked, PART, type PetStream } from '../storage/pet-stream.js'
import type { RestoreOptions } from '../storage/restore-options.js'
import type { Connection } from './connection.js'
import type { Row } from './driver.js'
import { explain } from './failures.js'
import { createKeys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import { createStatements } from './statements.js'

/** Reads or writes everything within one transaction, in parts. */
export interface Transfer {
  /** What this transaction sees. */
  content(): PetStream
  /** Stores a stream in a file that was never used; resolves with whether it did. */
  seed(content: PetStream, options?: RestoreOptions): Promise<boolean>
}

export type ConnectAgain = <T>(use: (connection: Connection) => T) => Promise<T>

/** Uses a connection of its own, so that others can go on between two parts. */
export async function inTransaction<T>(
  connectAgain: ConnectAgain,
  kind: 'reading' | 'writing',
  task: (transfer: Transfer) => Promise<T>,
): Promise<T> {
  const [connection, transfer] = await connectAgain(own => [own, createTransfer(own)] as const)
  try {
    return await connection.during(kind, () => task(transfer))
  } finally {
    await connection.close()
  }
}

function createTransfer(connection: Connection): Transfer {
  const statements = createStatements(connection)
  const keys = createKeys(connection)
  return {
    content: () => ({
      nextId: nextId(),
      count: count(),
      pets: explained(pets()),
      idempotencyKeys: explained(keys.readParts(PART)),
    }),
    async seed(given, { onProgress } = {}) {
      if (nextId() > 1) return false
      const content = checked(given)
      let written = 0
      for await (const pets of content.pets) {
        for (const pet of pets) statements.insert.run(pet.id, ...toRow(pet))
        written += pets.length
        onProgress?.(written)
      }
      for await (const some of content.idempotencyKeys) for (const one of some) keys.use(one)
      statements.setNextId.run(content.nextId, content.nextId - 1 - written)
      return true
    },
  }

  function nextId(): number {
    return (statements.nextId.get() as Row)['next']
  }

  function count(): number {
    return (statements.count.get() as Row)['count']
  }

  function* pets() {
    for (let after = 0; ; ) {
      const page = statements.list.all(after, PART).map(fromRow)
      const last = page.at(-1)
      if (!last) return
      yield page
      after = last.id
    }
  }

  /** Who reads the parts would take an error for one of a file that it writes. */
  async function* explained<T>(parts: Iterable<T>) {
    try {
      yield* parts
    } catch (error) {
      throw explain(error, connection.path)
    }
  }
}
