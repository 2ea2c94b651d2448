import { createHash } from 'node:crypto'
import type { ApiRequest, ApiResponse } from '../../src/api.js'
import type { ErrorCode } from '../../src/errors.js'
import type { Operation } from '../../src/specification.js'
import type { FaultKind } from './faults.js'

/** One request and what was answered; times are those of the double's clock, in ms. */
export interface Exchange {
  /** 1, 2, 3 … in the order of arrival. */
  readonly n: number
  readonly at: number
  /** Null while there is no answer, and when there never was one. */
  readonly answeredAt: number | null
  /** The id of the API key, never the key; null without a valid one. */
  readonly key: string | null
  readonly operation: Operation | null
  readonly method: string
  readonly path: string
  /** The parameters that the specification knows, as sent. */
  readonly query: string
  readonly status: number | null
  /** That of the Error body. */
  readonly code: ErrorCode | null
  /** Those of the request and of the answer that say something about the client. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the bodies, in hex; null for an empty one. */
  readonly bodyDigest: string | null
  readonly answerDigest: string | null
  /** The same for requests that are the same: method, path, query and body. */
  readonly requestDigest: string
  /** Query parameters and body fields that the specification does not know: names, no values. */
  readonly unknown: readonly string[]
  /** What was done to it on purpose. */
  readonly fault: FaultKind | null
  /** 1, 2, 3 … for the connections it came on; each call of a double's `fetch` is its own. */
  readonly connection: number | null
  /**
   * Whether its sender could have read every answer to this caller before: only then is it to
   * blame.
   */
  readonly sequential: boolean
}

/** Who asks, and for what: found out before a request is handled. */
export interface Look {
  readonly operation: Operation | undefined
  readonly key: string | undefined
}

/** What is known of an exchange before it is answered. */
export function requestOf(
  request: ApiRequest,
  { operation, key }: Look,
  pagination: boolean,
): Omit<Exchange, 'n' | 'at' | 'connection' | 'sequential'> {
  const { method, path, query, headers, body } = request
  const bodyDigest = body === undefined || body.length === 0 ? null : digestOf(body)
  return {
    answeredAt: null,
    key: key ?? null,
    operation: operation ?? null,
    method,
    path,
    query: knownQuery(query, pagination),
    status: null,
    code: null,
    requestHeaders: pick(headers, REQUEST_HEADERS),
    headers: {},
    bodyDigest,
    answerDigest: null,
    requestDigest: digestOf(`${method} ${path}?${query} ${bodyDigest}`),
    unknown: operation ? unknownNames(operation, request, pagination) : [],
    fault: null,
  }
}

/** What the answer adds to it. */
export function answerOf(response: ApiResponse) {
  return {
    status: response.status,
    code: codeOf(response),
    headers: pick(response.headers, ANSWER_HEADERS),
    answerDigest: response.body === '' ? null : digestOf(response.body),
  } satisfies Partial<Exchange>
}

function codeOf({ status, body }: ApiResponse): ErrorCode | null {
  if (status < 400 || body === '') return null
  try {
    return (JSON.parse(body) as { code: ErrorCode }).code
  } catch {
    // A body that a fault has spoilt.
    return null
  }
}

function pick(
  headers: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

const REQUEST_HEADERS = ['content-type', 'origin', 'user-agent']
const ANSWER_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'Allow',
  'Deprecation',
  'Sunset',
]

/** SHA-256 in hex. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

const PARAMETERS = ['limit', 'status']
const FIELDS = ['name', 'categoryId', 'status']

/**
 * The query parameters and body fields that the store ignores, by name; never their values, which
 * may be anything.
 */
function unknownNames(
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
function knownQuery(query: string, pagination: boolean): string {
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
