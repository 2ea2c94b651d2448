import { invalidRequest } from './errors.js'
import type { PetFilter } from './ports.js'
import { PAGE_SIZE, PET_STATUSES, type PetStatus } from './specification.js'

/** What `listPets` can be asked for (spec §4.1). */
export interface ListPetsQuery {
  /**
   * At most this many, an integer from 1 to 100.
   * @default 20
   */
  readonly limit?: number | undefined
  /** @default no filter */
  readonly status?: PetStatus | undefined
  /** Only ids above this one; read only where `pagination` is on. */
  readonly after?: number | undefined
}

/**
 * The query of the URL as `listPets` takes it. `limit` and `after` are digits and nothing else,
 * each known name stands once, unknown names are ignored (README, `list.limit`, `query.unknown`).
 *
 * @throws ApiError `invalid_request`
 */
export function parseListPetsQuery(query: string, pagination: boolean): ListPetsQuery {
  const values: { -readonly [name in keyof ListPetsQuery]: string } = {}
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    if (name !== 'limit' && name !== 'status' && !(name === 'after' && pagination)) continue
    if (values[name] !== undefined) throw invalidRequest(`\`${name}\` must be given once`)
    values[name] = decode(equals < 0 ? '' : pair.slice(equals + 1)) ?? '%'
  }
  return {
    limit: digits(values.limit),
    status: values.status as PetStatus | undefined,
    after: digits(values.after),
  }
}

/**
 * Checks a query, from the URL or from a direct call, by the same rules, and gives it its defaults.
 *
 * @throws ApiError `invalid_request`
 */
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
  return { limit, status, after }
}

/** Not `Number(text)` alone: '' would be 0 and '0x7' would be 7. NaN fails every check. */
function digits(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

/** Undefined where the percent-encoding is broken. */
function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
