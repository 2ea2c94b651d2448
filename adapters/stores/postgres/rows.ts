import { type Int64, readInt64 } from '../../../src/lib/int64.js'
import { toPet } from '../../../src/pets/pet.js'
import type { NewPet, Pet } from '../../../src/pets/schema.js'
import type { PetStatus } from '../../../src/pets/specification.js'
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

/** Frozen, because callers may share the result. */
export function fromRow({ id, name, category_id, status }: Row): Pet {
  return petOf([Number(id), JSON.parse(name), category_id, status])
}

export function fromPage(text: string | null): Pet[] {
  return text === null ? [] : JSON.parse(text).map(petOf)
}

type PetFields = [id: number, name: string, categoryId: string, status: PetStatus | null]

function petOf([id, name, category, status]: PetFields): Pet {
  const categoryId = readInt64(category) as Int64
  return Object.freeze(toPet(id, { name, categoryId, status: status ?? undefined }))
}
