import { isPlain } from '../lib/json.js'
import type { NewPet, Pet } from './schema.js'
import type { PetStatus } from './specification.js'

/** Keeps the known fields, in order. @param defaultStatus for a missing status; null adds none */
export function toNewPet(
  { name, categoryId, status }: NewPet,
  defaultStatus: PetStatus | null = null,
): NewPet {
  const stored = status ?? defaultStatus
  return stored === null ? { name, categoryId } : { name, categoryId, status: stored }
}

export function toPet(id: number, { name, categoryId, status }: NewPet): Pet {
  return status === undefined ? { id, name, categoryId } : { id, name, categoryId, status }
}

/** Serializes like `toJson`, with the fields in the order of the specification. */
export function petToJson({ id, name, categoryId, status }: Pet): string {
  const quoted = isPlain(name) ? `"${name}"` : JSON.stringify(name)
  const start = `{"id":${id},"name":${quoted},"categoryId":${categoryId}`
  return status === undefined ? `${start}}` : `${start},"status":"${status}"}`
}
