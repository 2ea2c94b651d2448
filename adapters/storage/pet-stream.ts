import { toPet } from '../../src/pets/pet.js'
import type { Pet } from '../../src/pets/schema.js'
import type { PetSnapshot, UsedKey } from '../../src/ports.js'
import { readNewPet, readOnce } from './stored.js'

/** The content of a storage at one instant, in parts, so that it need not fit into memory. */
export interface PetStream {
  readonly nextId: number
  /** How many pets there are. */
  readonly count: number
  /** By ascending id. Read once, and before the keys. */
  readonly pets: Parts<Pet>
  /** Those of each scope in the order in which they were used. */
  readonly idempotencyKeys: Parts<UsedKey>
}

type Parts<T> = AsyncIterable<readonly T[]>

/** What can be read in parts. */
export interface Streamable {
  /** The content can be read until the promise that `read` returns has ended. */
  stream<T>(read: (content: PetStream) => Promise<T>): Promise<T>
}

export function isStream(content: PetSnapshot | PetStream): content is PetStream {
  return Symbol.asyncIterator in content.pets
}

/** The parts of a snapshot. */
export function streamOf({ pets, nextId, idempotencyKeys = [] }: PetSnapshot): PetStream {
  return {
    nextId,
    count: pets.length,
    pets: partsOf(pets),
    idempotencyKeys: partsOf(idempotencyKeys),
  }
}

/** All of a stream, in memory. */
export async function snapshotOf(stream: PetStream): Promise<PetSnapshot> {
  const [pets, idempotencyKeys]: [Pet[], UsedKey[]] = [[], []]
  for await (const part of stream.pets) pets.push(...part)
  for await (const part of stream.idempotencyKeys) idempotencyKeys.push(...part)
  return { pets, nextId: stream.nextId, ...(idempotencyKeys.length > 0 && { idempotencyKeys }) }
}

/**
 * The same stream, whose parts are checked as they are read: what cannot be read again must not be written.
 *
 * @throws RangeError, TypeError
 */
export function checked(stream: PetStream): PetStream {
  const { nextId } = stream
  let last = 0
  return { ...stream, pets: mapParts(stream.pets, checkPet), idempotencyKeys: keys() }

  function checkPet(pet: Pet): Pet {
    const { id } = pet
    if (!(Number.isSafeInteger(id) && id > last && id < nextId)) {
      throw new RangeError(`Expected an ascending id below ${nextId}, got ${id} after ${last}`)
    }
    last = id
    return toPet(id, readNewPet(pet))
  }

  function keys(): Parts<UsedKey> {
    return mapParts(stream.idempotencyKeys, used => {
      readOnce(used)
      return used
    })
  }
}

async function* partsOf<T>(all: readonly T[]): Parts<T> {
  for (let start = 0; start < all.length; start += PART) yield all.slice(start, start + PART)
}

async function* mapParts<T>(parts: Parts<T>, map: (one: T) => T): Parts<T> {
  for await (const part of parts) yield part.map(map)
}

/** How many pets or keys to read at a time. */
export const PART = 500
