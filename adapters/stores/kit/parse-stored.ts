import type * as z from '../../../src/lib/zod.js'
import { toPet } from '../../../src/pets/pet.js'
import { describeIssues, type NewPet, newPetSchema, type Pet } from '../../../src/pets/schema.js'
import { type Once, onceSchema, type UsedKey } from '../../../src/pets/used-key.js'
import type { PetSnapshot } from '../../../src/ports.js'
import { checkShape, createPetIndex } from './pet-index.js'
import { isStream, type Parts, type PetStream, streamOf } from './pet-stream.js'

/** Copies a pet, as one that cannot be read again would fail its whole batch. @throws TypeError */
export function readNewPet(pet: NewPet): NewPet {
  return read(newPetSchema, pet, 'The pet')
}

export function readOnce(once: Once | UsedKey): Once {
  return read(onceSchema, once, 'The idempotency key')
}

export function readSnapshot(snapshot: PetSnapshot): PetSnapshot {
  for (const used of snapshot.idempotencyKeys ?? []) readOnce(used)
  const pets = snapshot.pets.map(pet => toPet(pet.id, readNewPet(pet)))
  return createPetIndex({ ...snapshot, pets }).dump()
}

/** Checks content while it is read in parts. @throws TypeError, RangeError */
export function readContent(content: PetSnapshot | PetStream): PetStream {
  checkShape(content)
  if (!isStream(content)) return streamOf(readSnapshot(content))
  const { nextId } = content
  let last = 0
  return {
    ...content,
    pets: mapParts(content.pets, readPet),
    idempotencyKeys: mapParts(content.idempotencyKeys, used => ({ ...used, ...readOnce(used) })),
  }

  function readPet(pet: Pet): Pet {
    const { id } = pet
    if (!(Number.isSafeInteger(id) && id > last && id < nextId)) {
      throw new RangeError(`Expected an ascending id below ${nextId}, got ${id} after ${last}`)
    }
    last = id
    return toPet(id, readNewPet(pet))
  }
}

async function* mapParts<T>(parts: Parts<T>, map: (one: T) => T): Parts<T> {
  for await (const part of parts) yield part.map(map)
}

function read<T>(schema: z.ZodMiniType<T>, value: unknown, subject: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new TypeError(describeIssues(parsed.error, value, subject))
}
