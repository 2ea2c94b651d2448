import type { NewPet, Pet } from '../../../src/index.js'
import type { SeenPet } from './pet-history.js'

/** An animal as JSON, without what precedes the name: written once more, and exact to the byte. */
export function textOf({ name, categoryId, status }: NewPet): string {
  const end = status === undefined ? '}' : `,"status":"${status}"}`
  return `"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}`
}

/** The whole animal. */
export function jsonOf({ id, text }: Pick<SeenPet, 'id' | 'text'>): string {
  return `{"id":${id},${text}`
}

export function seen(pet: Pet): SeenPet {
  return { id: pet.id, name: pet.name, text: textOf(pet), status: pet.status }
}
