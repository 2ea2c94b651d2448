import { checked, type PetStream } from '../storage/pet-stream.js'
import type { RestoreOptions } from '../storage/restore-options.js'
import type { Connection } from './connection.js'
import { type Content, createContent } from './content.js'
import { explain } from './failures.js'
import { createKeys } from './keys.js'
import { createStatements } from './statements.js'

/** Opens another connection to the same file. */
export type ConnectAgain = <T>(use: (connection: Connection) => T) => Promise<T>

/**
 * Reads or writes everything in one transaction that takes its time, over another connection than the
 * storage, which can go on meanwhile.
 */
export async function inTransaction<T>(
  { look }: Connection,
  connectAgain: ConnectAgain,
  kind: 'reading' | 'writing',
  task: (content: Content) => Promise<T>,
): Promise<T> {
  look()
  const [connection, content] = await connectAgain(
    own => [own, createContent(createStatements(own), createKeys(own))] as const,
  )
  try {
    return await connection.during(kind, look, () => task(content))
  } finally {
    connection.close()
  }
}

export function toStream(content: Content, path: string): PetStream {
  return {
    nextId: content.nextId(),
    count: content.count(),
    pets: explained(content.readPets()),
    idempotencyKeys: explained(content.readKeys()),
  }

  /** Who reads the parts would take an error for one of a file that it writes. */
  async function* explained<T>(parts: Iterable<T>) {
    try {
      yield* parts
    } catch (error) {
      throw explain(error, path)
    }
  }
}

/** Stores a stream in place of everything. */
export async function replace(
  content: Content,
  given: PetStream,
  { onProgress }: RestoreOptions = {},
): Promise<void> {
  const { pets, idempotencyKeys, nextId } = checked(given)
  content.clear()
  let written = 0
  for await (const part of pets) {
    content.write(part, [])
    written += part.length
    onProgress?.(written)
  }
  for await (const part of idempotencyKeys) content.write([], part)
  content.setNextId(nextId, written)
}
