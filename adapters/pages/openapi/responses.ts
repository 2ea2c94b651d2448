import {
  type ApiError,
  ERROR_STATUS,
  type ErrorCode,
  gone,
  idempotencyKeyReused,
  invalidRequest,
  methodNotAllowed,
  notFound,
  payloadTooLarge,
  rateLimited,
  storageUnavailable,
  toApiError,
  unauthorized,
  unsupportedMediaType,
} from '../../../src/api-error.js'
import type { RateLimitMode } from '../../../src/limits/mode.js'
import { SUNSET } from '../../../src/pets/specification.js'
import { MAX_BODY_BYTES } from '../../../src/protocol/body.js'
import { schemaRef } from './schemas.js'

export interface Features {
  readonly rateLimiting: RateLimitMode
  readonly idempotency: boolean
}

export interface Success {
  readonly schema: 'Pet' | 'Pets'
  readonly description: string
  readonly example: unknown
  /** Names of headers beyond those of every response. */
  readonly headers?: readonly (keyof typeof HEADERS)[]
}

export function responsesOf(
  status: 200 | 201,
  { schema, description, example, headers = [] }: Success,
  ownCodes: readonly ErrorCode[],
  features: Features,
): Readonly<Record<string, object>> {
  const codes = [...ownCodes, ...SHARED_CODES].filter(code => isServed(code, features))
  return {
    [status]: {
      description,
      headers: headerRefs([...everyAnswer(features), ...headers]),
      content: { 'application/json': { schema: { $ref: schemaRef(schema) }, example } },
    },
    ...Object.fromEntries(
      codes.map(code => [ERROR_STATUS[code], { $ref: `#/components/responses/${nameOf(code)}` }]),
    ),
  }
}

export function responseComponents(features: Features) {
  const described = FAILURES.filter(([, { code }]) => isServed(code, features))
  const failures = described.map(([description, ...examples]) => [
    nameOf(examples[0].code),
    { description, headers: headersOf(examples[0], features), content: errorContent(examples) },
  ])
  const unused: readonly string[] = [
    ...(features.rateLimiting ? [] : LIMIT_HEADERS),
    ...(features.rateLimiting === true ? [] : ['Cache-Control']),
    ...(features.idempotency ? [] : ['Idempotent-Replayed']),
  ]
  const headers = Object.entries(HEADERS).filter(([name]) => !unused.includes(name))
  return { responses: Object.fromEntries(failures), headers: Object.fromEntries(headers) }
}

const SHARED_CODES: readonly ErrorCode[] = [
  'unauthorized',
  'method_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'storage_unavailable',
]

const RESET = Date.UTC(2030, 0, 1, 0, 1) / 1000
const EXHAUSTED = {
  window: 'minute',
  limit: 60,
  remaining: 0,
  reset: RESET,
  retryAfter: 60,
} as const
const BANNED = {
  ...EXHAUSTED,
  code: 'api_key_banned',
  reset: RESET + 240,
  retryAfter: 300,
} as const

const FAILURES: readonly (readonly [description: string, ApiError, ...ApiError[]])[] = [
  [
    'The query or the body is invalid. The message names the field and the rule.',
    invalidRequest('`name` is required'),
  ],
  ['The API key is missing or not valid.', unauthorized('invalid')],
  ['No animal has this id.', notFound('There is no pet with this id.')],
  [
    'The path does not support the method. Every method not described here gets this response.',
    methodNotAllowed('DELETE', 'GET, HEAD, POST'),
  ],
  ['The operation was removed.', gone(SUNSET)],
  ['The body is larger than the server accepts.', payloadTooLarge(MAX_BODY_BYTES)],
  [
    'The Content-Type is not application/json, or the body is compressed.',
    unsupportedMediaType("The Content-Type must be application/json, got 'text/plain'."),
  ],
  ['The Idempotency-Key was used for another animal.', idempotencyKeyReused()],
  [
    'The limit is exhausted, or the API key is temporarily banned for too many requests after a 429.',
    rateLimited(EXHAUSTED),
    rateLimited(BANNED),
  ],
  ['An unexpected error occurred; the request is not at fault.', toApiError(undefined)],
  [
    'The storage is temporarily unavailable; nothing was acknowledged.',
    storageUnavailable(undefined),
  ],
]

const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

function everyAnswer({ rateLimiting }: Features): readonly (typeof LIMIT_HEADERS)[number][] {
  return rateLimiting ? LIMIT_HEADERS : []
}

function isServed(code: ErrorCode, { rateLimiting, idempotency }: Features): boolean {
  if (code === 'idempotency_key_reused') return idempotency
  return rateLimiting === true || ERROR_STATUS[code] !== 429
}

const HEADERS = {
  'X-RateLimit-Limit': header('The limit that applies.', { type: 'integer', minimum: 1 }),
  'X-RateLimit-Remaining': header('Requests left in the current window.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-RateLimit-Reset': header('Unix timestamp, in seconds, at which the limit resets.', {
    type: 'integer',
  }),
  'Retry-After': header('Seconds to wait before the next request.', {
    type: 'integer',
    minimum: 1,
  }),
  'Cache-Control': header('The response must not be cached.', { const: 'no-store' }),
  'WWW-Authenticate': header('How to authenticate (RFC 6750).', { type: 'string' }),
  Location: header('The URL of the animal.', { type: 'string' }),
  'Idempotent-Replayed': {
    ...optionalHeader('An earlier request with the same Idempotency-Key stored the animal.'),
    schema: { const: 'true' },
  },
  Allow: header('The methods that this path supports.', { type: 'string' }),
  Link: optionalHeader('The next page, or what replaces a deprecated operation (RFC 8288).'),
  Sunset: optionalHeader('When the operation is removed, as an HTTP date (RFC 8594).'),
}

function header(description: string, schema: object) {
  return { description, required: true, schema }
}

function optionalHeader(description: string) {
  return { description, schema: { type: 'string' } }
}

/** A request that fails before it is counted has no limit to report. */
function headersOf({ code, headers }: ApiError, features: Features) {
  const shared = everyAnswer(features)
  if (code !== 'internal_error') return headerRefs([...shared, ...Object.keys(headers)])
  return Object.fromEntries(shared.map(name => [name, { ...HEADERS[name], required: false }]))
}

function headerRefs(names: readonly string[]): Readonly<Record<string, object>> {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

function errorContent(errors: readonly ApiError[]) {
  const examples = errors.map(({ code, message, status }) => [
    code,
    { value: { code, message, status } },
  ])
  const schema = { $ref: schemaRef('Error') }
  return { 'application/json': { schema, examples: Object.fromEntries(examples) } }
}

/** Names a response, such as `NotFound` for `not_found`. */
function nameOf(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}
