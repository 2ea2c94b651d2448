import { INT64_RANGE, isInt64, shortestForm } from '../../src/lib/int64.js'
import type { NewPet } from '../../src/pets/schema.js'
import { PET_STATUSES } from '../../src/pets/specification.js'

/**
 * A copy of what a JavaScript caller passes to a storage, checked without loading zod: a pet that
 * cannot be read again must not be written, and would fail the batch it shares.
 *
 * @throws TypeError naming the field
 */
export function readNewPet({ name, categoryId, status }: NewPet): NewPet {
  if (typeof name !== 'string') throw invalid('name', 'a string', name)
  if (!isInt64(categoryId)) throw invalid('categoryId', INTEGER, categoryId)
  if (status !== undefined && !PET_STATUSES.includes(status)) {
    throw invalid('status', `one of ${PET_STATUSES.join(', ')}`, status)
  }
  return { name, categoryId: shortestForm(categoryId), status }
}

const INTEGER = `an integer from ${INT64_RANGE.minimum} to ${INT64_RANGE.maximum}`

function invalid(field: keyof NewPet, rule: string, value: unknown): TypeError {
  return new TypeError(`Expected \`${field}\` to be ${rule}, got ${String(value)}`)
}
