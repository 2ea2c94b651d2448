import type { ApiRequest } from '../../src/api.js'
import type { Operation } from '../../src/specification.js'

const PARAMETERS = ['limit', 'status']
const FIELDS = ['name', 'categoryId', 'status']

/**
 * The query parameters and body fields that the store ignores, by name; never their values, which
 * may be anything.
 */
export function unknownNames(
  operation: Operation,
  { query, body }: ApiRequest,
  pagination: boolean,
): readonly string[] {
  const known = operation === 'listPets' ? parameters(pagination) : []
  const names = query === '' ? [] : query.split('&').map(nameOf)
  const fields = operation === 'createPet' ? fieldsOf(body) : []
  return [
    ...names.filter(name => name !== '' && !known.includes(name)),
    ...fields.filter(name => !FIELDS.includes(name)),
  ]
}

/** What is left of a query without the parameters that nobody knows. */
export function knownQuery(query: string, pagination: boolean): string {
  if (query === '') return query
  const known = parameters(pagination)
  return query
    .split('&')
    .filter(pair => known.includes(nameOf(pair)))
    .join('&')
}

function parameters(pagination: boolean): readonly string[] {
  return pagination ? [...PARAMETERS, 'after'] : PARAMETERS
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1)
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

function fieldsOf(body: ApiRequest['body']): readonly string[] {
  try {
    const value: unknown = JSON.parse(
      typeof body === 'string' ? body : String(Buffer.from(body ?? [])),
    )
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value)
      : []
  } catch {
    // No JSON has no fields; the store has its own answer to that.
    return []
  }
}
