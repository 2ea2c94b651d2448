import { isPlain } from '../lib/json.js'
import type { NewPet, Pet } from './schema.js'
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

/** `toJson` of a pet, with the fields in the order of the specification. */
export function petToJson({ id, name, categoryId, status }: Pet): string {
  const quoted = isPlain(name) ? `"${name}"` : JSON.stringify(name)
  const start = `{"id":${id},"name":${quoted},"categoryId":${categoryId}`
  return status === undefined ? `${start}}` : `${start},"status":"${status}"}`
}
