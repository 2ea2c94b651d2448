import { invalidRequest } from '../api-error.js'
import type { PetFilter } from '../ports.js'
import { PAGE_SIZE, PET_STATUSES, type PetStatus } from './specification.js'

/** Parameters of `listPets` (spec §4.1). */
export interface ListPetsQuery {
  /** Maximum number of animals, from 1 to 100. @default 20 */
  readonly limit?: number | undefined
  /** Only animals with this status. @default no filter */
  readonly status?: PetStatus | undefined
  /** Only ids above this one. Ignored unless the store option `pagination` is on. */
  readonly after?: number | undefined
}

const KEPT_QUERIES = 256

/** Reads the query of a URL. Clients repeat a few, so results are cached. @throws ApiError */
export function createQueryReader(pagination: boolean): (query: string) => PetFilter {
  const kept = new Map<string, PetFilter>()

  return query => {
    let filter = kept.get(query)
    if (filter === undefined) {
      filter = checkListPetsQuery(parseListPetsQuery(query, pagination), pagination)
      if (kept.size === KEPT_QUERIES) kept.clear()
      kept.set(query, filter)
    }
    // A storage may change its filter, so it gets a copy.
    return { ...filter }
  }
}

/** See the decisions `list.limit`, `list.status` and `query.unknown`. */
function parseListPetsQuery(query: string, pagination: boolean): ListPetsQuery {
  const values: { -readonly [name in keyof ListPetsQuery]: string } = {}
  // URLSearchParams drops one leading `?`, and the query may begin with one.
  for (const [name, value] of new URLSearchParams(`?${query}`)) {
    if (name !== 'limit' && name !== 'status' && !(name === 'after' && pagination)) continue
    if (values[name] !== undefined) throw invalidRequest(`\`${name}\` must be given once`)
    values[name] = value
  }
  return {
    limit: digits(values.limit),
    status: values.status as PetStatus | undefined,
    after: digits(values.after),
  }
}

/** Checks a query from a URL or a direct call, and fills in defaults. @throws ApiError */
export function checkListPetsQuery(query: ListPetsQuery, pagination: boolean): PetFilter {
  const { limit = PAGE_SIZE.default, status } = query
  const after = pagination ? query.after : undefined
  const { minimum, maximum } = PAGE_SIZE
  if (!Number.isInteger(limit) || limit < minimum || limit > maximum) {
    throw invalidRequest(`\`limit\` must be an integer from ${minimum} to ${maximum}`)
  }
  if (status !== undefined && !PET_STATUSES.includes(status)) {
    throw invalidRequest(`\`status\` must be one of ${PET_STATUSES.join(', ')}`)
  }
  if (after !== undefined && !(Number.isInteger(after) && after >= 0)) {
    throw invalidRequest('`after` must be an integer of at least 0')
  }
  // No id is larger, and databases refuse integers beyond their range.
  return { limit, status, after: after && Math.min(after, Number.MAX_SAFE_INTEGER) }
}

/** `Number` alone would read '' as 0 and '0x7' as 7. NaN fails every check. */
function digits(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

/** Available in every JavaScript runtime, though not part of the language. */
declare class URLSearchParams {
  constructor(query: string)
  [Symbol.iterator](): Iterator<[name: string, value: string]>
}
