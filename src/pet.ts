import type { NewPet, Pet } from './model.js'
import type { PetStatus } from './specification.js'

/**
 * The known fields, in the order of the specification.
 *
 * @param defaultStatus the status where none is given; null leaves the field out
 */
export function toNewPet(
  { name, categoryId, status }: NewPet,
  defaultStatus: PetStatus | null = null,
): NewPet {
  const stored = status ?? defaultStatus
  return stored === null ? { name, categoryId } : { name, categoryId, status: stored }
}

/** The same with an id. */
export function toPet(id: number, { name, categoryId, status }: NewPet): Pet {
  return status === undefined ? { id, name, categoryId } : { id, name, categoryId, status }
}
