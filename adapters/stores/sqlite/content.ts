import type { PetSnapshot } from '../../../src/ports.js'
import { notify } from '../../warnings.js'
import { PART, type PetStream, type RestoreOptions } from '../kit/pet-stream.js'
import type { Connection, TransactionKind } from './connection.js'
import type { Row } from './driver.js'
import { explain } from './failures.js'
import { createKeys } from './keys.js'
import { fromRow, toRow } from './rows.js'
import { createStatements } from './statements.js'

export type Content = ReturnType<typeof createContent>

/** Reads and writes the whole content. Every method is part of a transaction. */
export function createContent(connection: Connection) {
  const statements = createStatements(connection)
  const keys = createKeys(connection)
  const nextId = (): number => (statements.nextId.get() as Row)['next']
  const count = (): number => (statements.count.get() as Row)['count']
  return {
    nextId,
    count,
    read(): PetSnapshot {
      const idempotencyKeys = [...keys.readParts(PART)].flat()
      return {
        pets: [...readPets()].flat(),
        nextId: nextId(),
        ...(idempotencyKeys.length > 0 && { idempotencyKeys }),
      }
    },
    stream: (): PetStream => ({
      nextId: nextId(),
      count: count(),
      pets: explained(readPets(), connection),
      idempotencyKeys: explained(keys.readParts(PART), connection),
    }),
    async replace(
      { nextId: next, pets, idempotencyKeys }: PetStream,
      { onProgress }: RestoreOptions = {},
    ): Promise<void> {
      keys.removeAll()
      statements.deleteAll.run()
      let written = 0
      for await (const part of pets) {
        for (const pet of part) statements.insert(pet.id, ...toRow(pet))
        written += part.length
        notify('onProgress', onProgress, written)
      }
      for await (const part of idempotencyKeys) for (const used of part) keys.use(used)
      statements.setNextId.run(next, next - 1 - written)
    },
  }

  function* readPets() {
    for (let page = readAfter(0); page.length > 0; page = readAfter(page.at(-1)?.id ?? 0)) {
      yield page
    }
  }

  function readAfter(id: number) {
    return statements.list.all(id, PART).map(fromRow)
  }
}

/** Names the file, because a reader of the parts may write another one. */
async function* explained<T>(parts: Iterable<T>, { path }: Connection) {
  try {
    yield* parts
  } catch (error) {
    throw explain(error, path)
  }
}

export type ConnectAgain = <T>(use: (connection: Connection) => T) => Promise<T>

/** In one long transaction, over a second connection. */
export async function transfer<T>(
  { look }: Connection,
  connectAgain: ConnectAgain,
  kind: TransactionKind,
  task: (content: Content) => Promise<T>,
): Promise<T> {
  look()
  const [connection, content] = await connectAgain(own => [own, createContent(own)] as const)
  try {
    return await connection.during(kind, look, () => task(content))
  } finally {
    connection.close()
  }
}
