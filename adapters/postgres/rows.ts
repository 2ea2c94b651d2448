import { type Int64, isInt64, readInt64 } from '../../src/lib/int64.js'
import { toPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import { PET_STATUSES } from '../../src/pets/specification.js'
import type { Row } from './pool.js'

/** A new pet as statement parameters. */
export interface PetRow {
  /** A JSON string. */
  readonly name: string
  readonly categoryId: string
  readonly status: string | null
}

/**
 * Copies the fields at once, so that later changes to the pet have no effect. Rejects what the
 * database would reject, since that would fail the whole batch.
 *
 * @throws RangeError naming the field
 */
export function toRow({ name, categoryId, status }: NewPet): PetRow {
  if (typeof name !== 'string') throw new RangeError('Expected `name` to be a string')
  if (!isInt64(categoryId)) throw new RangeError('Expected `categoryId` to be an int64')
  if (status !== undefined && !PET_STATUSES.includes(status)) {
    throw new RangeError(`Expected \`status\` to be one of ${PET_STATUSES.join(', ')}`)
  }
  return { name: JSON.stringify(name), categoryId: String(categoryId), status: status ?? null }
}

/** Frozen, because callers may share the result. */
export function fromRow({ id, name, category_id, status }: Row): Pet {
  const categoryId = readInt64(category_id) as Int64
  const given = { name: JSON.parse(name), categoryId, status: status ?? undefined }
  return Object.freeze(toPet(Number(id), given))
}
