import { type Int64, readInt64 } from '../../../src/lib/int64.js'
import { toPet } from '../../../src/pets/pet.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { Once, UsedKey } from '../../../src/pets/used-key.js'
import type { Row } from './pool.js'

export interface PetRow {
  /** A JSON string. */
  readonly name: string
  readonly category_id: string
  readonly status: string | null
}

export function toRow({ name, categoryId, status }: NewPet): PetRow {
  return { name: JSON.stringify(name), category_id: String(categoryId), status: status ?? null }
}

export function columnsOf(rows: readonly PetRow[]) {
  return [
    rows.map(row => row.name),
    rows.map(row => row.category_id),
    rows.map(row => row.status),
  ] as const
}

/** JSON strings hold every character. */
export function toKey({ scope, idempotencyKey }: Pick<Once, 'scope' | 'idempotencyKey'>) {
  return { scope: JSON.stringify(scope), key: JSON.stringify(idempotencyKey) }
}

export function fromKeyRow({ scope, key, fingerprint, expires, pet }: Row): UsedKey {
  return {
    scope: JSON.parse(scope),
    idempotencyKey: JSON.parse(key),
    fingerprint,
    expiresAt: Number(expires),
    petId: Number(pet),
  }
}

/** Frozen, because callers may share the result. @param text the fields of all animals; null for none */
export function readPets(text: string | null): Pet[] {
  const fields = JSON.parse(`[${text ?? ''}]`)
  const pets: Pet[] = []
  for (let at = 0; at < fields.length; at += 4) {
    const pet = {
      name: fields[at + 1],
      categoryId: readInt64(fields[at + 2]) as Int64,
      status: fields[at + 3] || undefined,
    }
    pets.push(Object.freeze(toPet(fields[at], pet)))
  }
  return pets
}

export function readPet({ pet }: Row): Pet {
  return readPets(pet)[0] as Pet
}
