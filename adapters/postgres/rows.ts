import type { Int64, NewPet, Pet } from '../../src/model.js'
import { PET_STATUSES } from '../../src/specification.js'
import type { Row } from './pool.js'

/** A pet to insert, as the parameters of a lot take it. */
export interface PetRow {
  /** A JSON string. */
  readonly name: string
  readonly categoryId: string
  readonly status: string | null
}

/**
 * Reads every field now, so that a later change to the pet changes nothing. One pet that the database
 * refuses would fail the whole lot, so it is refused here.
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

/** Frozen, as several callers may get the same one. */
export function toPet({ id, name, category_id, status }: Row): Pet {
  const pet = { id: Number(id), name: JSON.parse(name), categoryId: toInt64(category_id) }
  return Object.freeze(status === null ? pet : { ...pet, status })
}

function isInt64(value: Int64): boolean {
  return typeof value === 'bigint'
    ? BigInt.asIntN(64, value) === value
    : Number.isSafeInteger(value)
}

function toInt64(digits: string): Int64 {
  const near = Number(digits)
  return Number.isSafeInteger(near) ? near : BigInt(digits)
}
