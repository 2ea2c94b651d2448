import { invalidRequest } from '../../src/api-error.js'
import { INT64_RANGE, type Int64, isInt64, shortestForm } from '../../src/lib/int64.js'
import { toNewPet } from '../../src/pets/pet.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import { PET_STATUSES, type PetStatus } from '../../src/pets/specification.js'
import { ContractError } from './errors.js'

/*
 * The schemas of the specification (§2), checked without zod, which would dominate a browser
 * bundle. A test compares the rules and messages with the store's.
 */

/** `rule` continues a sentence that begins with the name of the field. */
interface Field {
  readonly rule: string
  readonly accepts: (value: unknown) => boolean
  readonly optional?: true
}

const NEW_PET: Readonly<Record<string, Field>> = {
  name: { rule: 'must be a string', accepts: value => typeof value === 'string' },
  categoryId: {
    rule: `must be an integer from ${INT64_RANGE.minimum} to ${INT64_RANGE.maximum}`,
    accepts: isInt64,
  },
  status: {
    rule: `must be one of ${PET_STATUSES.join(', ')}`,
    accepts: value => PET_STATUSES.includes(value as PetStatus),
    optional: true,
  },
}

const PET: Readonly<Record<string, Field>> = {
  id: { rule: 'must be a positive integer', accepts: value => isInt64(value) && value > 0 },
  ...NEW_PET,
}

/** Before sending, as an unsafe integer would become another number. @throws ApiError */
export function checkNewPet(input: NewPet): NewPet {
  const issues = issuesOf(input, NEW_PET)
  if (issues.length > 0) throw invalidRequest(issues.join('; '))
  return toNewPet({ ...input, categoryId: shortestForm(input.categoryId) })
}

/** Drops unknown fields, which a newer server may send. @throws ContractError */
export function readPet(value: unknown, request: string): Pet {
  return accepted(issuesOf(value, PET), request, () => exactPet(value as Pet))
}

/** @throws ContractError */
export function readPets(value: unknown, request: string): readonly Pet[] {
  if (!Array.isArray(value)) throw broken(request, 'The body must be a JSON array')
  const issues = value.flatMap((pet: unknown, at) => issuesOf(pet, PET, at))
  return accepted(issues, request, () => value.map(exactPet))
}

function issuesOf(value: unknown, fields: typeof PET, at?: number): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [`${at === undefined ? 'The body' : `\`${at}\``} must be a JSON object`]
  }
  const issues: string[] = []
  for (const name in fields) {
    const { rule, accepts, optional } = fields[name] as Field
    const field = (value as Readonly<Record<string, unknown>>)[name]
    if (accepts(field) || (optional && field === undefined)) continue
    const path = at === undefined ? name : `${at}.${name}`
    issues.push(field === undefined ? `\`${path}\` is required` : `\`${path}\` ${rule}`)
  }
  return issues
}

function accepted<T>(issues: readonly string[], request: string, value: () => T): T {
  if (issues.length > 0) throw broken(request, issues.join('; '))
  return value()
}

function broken(request: string, issues: string): ContractError {
  return new ContractError(`The response to ${request} breaks the contract: ${issues}.`)
}

/** Ids beyond 2^53 stay bigints, contrary to `Pet`; no server of this package assigns them. */
function exactPet({ id, name, categoryId, status }: Pet): Pet {
  const exactId = shortestForm(id as Int64) as number
  const category = shortestForm(categoryId)
  return status === undefined
    ? { id: exactId, name, categoryId: category }
    : { id: exactId, name, categoryId: category, status }
}
