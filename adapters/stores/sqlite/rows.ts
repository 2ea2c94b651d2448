import { isPlain } from '../../../src/lib/json.js'
import { toPet } from '../../../src/pets/pet.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Row, Value } from './driver.js'

/** Drivers round or refuse integers beyond 2 ** 53; as text they are exact. */
export const PET_COLUMNS = `id, name, CASE
  WHEN category_id BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} THEN category_id
  ELSE CAST(category_id AS TEXT) END AS category_id, status`

export function toRow({ name, categoryId, status }: NewPet): [Value, Value, Value] {
  return [toText(name), categoryId, status ?? null]
}

export function fromRow({ id, name, category_id, status }: Row): Pet {
  const categoryId = typeof category_id === 'string' ? BigInt(category_id) : category_id
  return toPet(id, { name: fromText(name), categoryId, status: status ?? undefined })
}

/** A string as JSON, because UTF-8 has no lone surrogates. */
export function toText(string: string): string {
  return isPlain(string) ? `"${string}"` : JSON.stringify(string)
}

export function fromText(text: string): string {
  return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
}
