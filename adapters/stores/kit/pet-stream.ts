import type { Pet } from '../../../src/pets/schema.js'
import type { UsedKey } from '../../../src/pets/used-key.js'
import type { PetSnapshot } from '../../../src/ports.js'
import { notify } from '../../warnings.js'

/** All content at one instant, in parts, so that it need not fit into memory. */
export interface PetStream {
  readonly nextId: number
  readonly count: number
  /** By ascending id. Read once, and before the keys. */
  readonly pets: Parts<Pet>
  /** Per scope, in order of first use. */
  readonly idempotencyKeys: Parts<UsedKey>
}

export type Parts<T> = AsyncIterable<readonly T[]>

/**
 * @example
 * import { sqliteStorage } from 'animal-adoption-store/sqlite'
 *
 * const storage = sqliteStorage('pets.db')
 * await storage.restoreIfNew({ pets: [], nextId: 1 }, { onProgress: read => console.log(read) })
 * await storage.close()
 */
export interface RestoreOptions {
  /** Receives the number of pets read so far; none is visible before the end. */
  readonly onProgress?: ((read: number) => void) | undefined
}

export interface Streamable {
  /** The content can be read until `read` has ended. */
  stream<T>(read: (content: PetStream) => Promise<T>): Promise<T>
}

export function streamOf({ pets, nextId, idempotencyKeys = [] }: PetSnapshot): PetStream {
  return {
    nextId,
    count: pets.length,
    pets: partsOf(pets),
    idempotencyKeys: partsOf(idempotencyKeys),
  }
}

export function isStream(content: PetSnapshot | PetStream): content is PetStream {
  return Symbol.asyncIterator in content.pets
}

export async function snapshotOf(
  stream: PetStream,
  { onProgress }: RestoreOptions = {},
): Promise<PetSnapshot> {
  const [pets, idempotencyKeys]: [Pet[], UsedKey[]] = [[], []]
  for await (const part of stream.pets) {
    pets.push(...part)
    notify('onProgress', onProgress, pets.length)
  }
  for await (const part of stream.idempotencyKeys) idempotencyKeys.push(...part)
  return { pets, nextId: stream.nextId, ...(idempotencyKeys.length > 0 && { idempotencyKeys }) }
}

async function* partsOf<T>(all: readonly T[]): Parts<T> {
  for (let start = 0; start < all.length; start += PART) yield all.slice(start, start + PART)
}

export const PART = 500
