import type { ErrorCode } from '../../src/errors.js'
import type { Operation } from '../../src/pets/specification.js'
import type { ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import { bearerToken } from '../../src/protocol/api-keys.js'
import { hideSecrets, SHORTEST_SECRET } from '../exchanges/hide-secrets.js'
import type { ReadRequest } from '../shared/read-request.js'
import type { Call, FaultKind } from './faults/faults.js'

/** One request and its response. Times are the double's, in ms. Credentials are `REDACTED`. */
export interface Exchange {
  /** 1, 2, 3 … in the order of arrival. */
  readonly n: number
  readonly at: number
  /** Null while there is no response, and when there never was one. */
  readonly answeredAt: number | null
  /** The id of the API key, never the key; null without a valid one. */
  readonly key: string | null
  readonly operation: Operation | null
  readonly method: string
  readonly path: string
  /** The parameters that the specification knows, as sent. */
  readonly query: string
  /** Path and query as sent; parameters that the specification does not know have no value. */
  readonly url: string
  readonly status: number | null
  /** That of the Error body. */
  readonly code: ErrorCode | null
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Null for an empty body. */
  readonly requestBody: string | null
  readonly body: string | null
  /** Equal for equal requests: a hash of method, path, query and body. */
  readonly requestDigest: string
  /** Names of query parameters and body fields that the specification does not know. */
  readonly unknown: readonly string[]
  /** The fault that was injected. */
  readonly fault: FaultKind | null
  /** 1, 2, 3 … for the connections in use; each call of a double's `fetch` has its own. */
  readonly connection: number | null
  /**
   * Whether its sender could have read every earlier response to this caller: only then is the
   * sender to blame.
   */
  readonly sequential: boolean
  /**
   * Whether another request of its caller was in flight, as far as its connections show: none, one
   * with the same key, or one ahead of it on the same connection (pipelining).
   */
  readonly overlap: 'none' | 'key' | 'connection'
}

/** An exchange whose response is still to come. */
export type Draft = { -readonly [name in keyof Exchange]: Exchange[name] }

/** Replaces credentials in a text. */
export type Redact = (text: string) => string

/** Redacts the valid keys, and the token of the request, valid or not. */
export function createRedactor({ headers }: ApiRequest, keys: Iterable<string>): Redact {
  const token = bearerToken(headers['authorization'])
  const secrets = [...keys, token ?? ''].filter(({ length }) => length >= SHORTEST_SECRET)
  return text => hideSecrets(text, secrets, () => REDACTED)
}

/** What is known of an exchange before it is answered. */
export function draftOf(
  request: ReadRequest,
  { operation, key }: Call,
  { n, at, ...caller }: Pick<Exchange, 'n' | 'at' | 'connection' | 'sequential' | 'overlap'>,
  pagination: boolean,
  redact: Redact,
): Draft {
  const { method, path, query, headers, body } = request
  const known = operation === 'listPets' ? parameters(pagination) : NO_NAMES
  const isEmpty = body === undefined || body.length === 0
  const text = isEmpty ? '' : textOf(body)
  return {
    n,
    at,
    answeredAt: null,
    key: key ?? null,
    operation: operation ?? null,
    method: redact(method),
    path: redact(path),
    query: redact(knownQuery(query, parameters(pagination))),
    url: redact(query === '' ? path : `${path}?${withoutValues(query, known)}`),
    status: null,
    code: null,
    requestHeaders: requestHeadersOf(headers, redact),
    headers: {},
    requestBody: isEmpty ? null : redact(text),
    body: null,
    requestDigest: hashOf(`${method} ${path}?${query} ${text}`),
    unknown: operation ? unknownNames(operation, request, known).map(redact) : NO_NAMES,
    fault: null,
    ...caller,
  }
}

/** Adds the response. */
export function complete(draft: Draft, response: ApiResponse, now: number, redact: Redact): void {
  const { status, headers, body } = response
  draft.answeredAt = now
  draft.status = status
  draft.code = codeOf(response)
  draft.headers = redactedValues(headers, redact)
  draft.body = body === '' ? null : redact(body)
}

function codeOf({ status, body }: ApiResponse): ErrorCode | null {
  if (status < 400 || body === '') return null
  try {
    return (JSON.parse(body) as { code?: ErrorCode }).code ?? null
  } catch {
    // The body of a fault can be anything.
    return null
  }
}

const REDACTED = 'REDACTED'
const CREDENTIALS = ['cookie', 'proxy-authorization', 'x-api-key']
/** Everything but the scheme, if it is one: a client may have left it out. */
const CREDENTIAL = /^((?:Bearer|Basic|Token) +)?.*$/is

function requestHeadersOf(headers: ApiRequest['headers'], redact: Redact): Record<string, string> {
  const redacted: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (name === 'authorization') redacted[name] = value.replace(CREDENTIAL, `$1${REDACTED}`)
    else redacted[name] = CREDENTIALS.includes(name) ? REDACTED : redact(value)
  }
  return redacted
}

function redactedValues(headers: ApiResponse['headers'], redact: Redact): Record<string, string> {
  const redacted: Record<string, string> = {}
  for (const name in headers) redacted[name] = redact(String(headers[name]))
  return redacted
}

function textOf(body: Uint8Array | string): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}

/** Two FNV-1a hashes with different constants: 64 bits, synchronous in browsers too. */
function hashOf(text: string): string {
  let [one, other] = [0x811c9dc5, 0x9e3779b9]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x01000193)
    other = Math.imul(other ^ unit, 0x85ebca6b)
  }
  return [one, other].map(half => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

const NO_NAMES: readonly string[] = []
const PARAMETERS = ['limit', 'status']
const WITH_PAGES = [...PARAMETERS, 'after']
const FIELDS = ['name', 'categoryId', 'status']

/** The query parameters and body fields that the store ignores, by name. */
function unknownNames(
  operation: Operation,
  { query, body }: ReadRequest,
  known: readonly string[],
): readonly string[] {
  if (query === '' && operation !== 'createPet') return NO_NAMES
  const names = query === '' ? [] : query.split('&').map(nameOf)
  const fields = operation === 'createPet' ? fieldsOf(body) : []
  return [
    ...names.filter(name => name !== '' && !known.includes(name)),
    ...fields.filter(name => !FIELDS.includes(name)),
  ]
}

function knownQuery(query: string, known: readonly string[]): string {
  if (query === '') return query
  return query
    .split('&')
    .filter(pair => known.includes(nameOf(pair)))
    .join('&')
}

function withoutValues(query: string, known: readonly string[]): string {
  return query
    .split('&')
    .map(pair => (known.includes(nameOf(pair)) ? pair : pair.replace(/=.*$/s, `=${REDACTED}`)))
    .join('&')
}

function parameters(pagination: boolean): readonly string[] {
  return pagination ? WITH_PAGES : PARAMETERS
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1)
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

function fieldsOf(body: ReadRequest['body']): readonly string[] {
  try {
    const value: unknown = JSON.parse(textOf(body ?? ''))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value)
      : []
  } catch {
    // The store answers 400 to that.
    return []
  }
}
