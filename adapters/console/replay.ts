import { invalidRequest } from '../../src/errors.js'
import { utf8Length } from '../../src/lib/utf8.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import { REDACTED } from '../exchanges/redact.js'

/** What to change in a request before it is sent again. */
export interface Edit {
  readonly method?: string
  /** Path and query. */
  readonly target?: string
  /** All of them. A value with `REDACTED` stays as it was. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/**
 * The request with these changes.
 *
 * @param prefix what its path must begin with, so that nothing but the API can be called
 * @throws ApiError
 */
export function edited(request: ReadRequest, edit: unknown, prefix: string): ReadRequest {
  const { method, target, headers, body } = checked(edit)
  const [, path = request.path, query = ''] = /^([^?]*)\??(.*)$/s.exec(target ?? '') ?? []
  if (target !== undefined && !path.startsWith(prefix))
    throw invalidRequest(`\`target\` must begin with ${prefix}.`)
  return {
    ...request,
    ...(method !== undefined && { method }),
    ...(target !== undefined && { path, query }),
    headers: withLength(withHeaders(request.headers, headers), body),
    ...(body !== undefined && { body }),
  }
}

function withHeaders(
  original: ReadRequest['headers'],
  given: Edit['headers'],
): Readonly<Record<string, string | undefined>> {
  if (!given) return original
  return Object.fromEntries(
    given.map(([name, value]) => {
      const lower = name.toLowerCase()
      return [lower, value.includes(REDACTED) ? (original[lower] ?? value) : value]
    }),
  )
}

function withLength(headers: ReadRequest['headers'], body: string | undefined) {
  if (body === undefined) return headers
  const { 'transfer-encoding': _chunked, ...others } = headers
  return { ...others, 'content-length': String(utf8Length(body)) }
}

/** @throws ApiError */
function checked(edit: unknown): Edit {
  if (typeof edit !== 'object' || edit === null || Array.isArray(edit)) {
    throw invalidRequest('Send a JSON object with method, target, headers and body, each optional.')
  }
  for (const [name, value] of Object.entries(edit)) {
    const rule = RULES.get(name)
    if (!rule) throw invalidRequest(`Unknown field \`${name}\`; ${[...RULES.keys()].join(', ')}.`)
    if (!rule.accepts(value)) throw invalidRequest(`\`${name}\` must be ${rule.expected}.`)
  }
  return edit
}

const RULES = new Map<string, { expected: string; accepts(value: unknown): boolean }>([
  ['method', { expected: 'an HTTP method', accepts: isMethod }],
  ['target', { expected: 'a path and query without spaces', accepts: isTarget }],
  ['headers', { expected: 'a list of pairs of name and value', accepts: isHeaders }],
  ['body', { expected: 'a string', accepts: value => typeof value === 'string' }],
])

/** RFC 9110 §5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

function isMethod(value: unknown): boolean {
  return typeof value === 'string' && TOKEN.test(value)
}

/** What a client can put on the wire. */
function isTarget(value: unknown): boolean {
  return (
    typeof value === 'string' && /^\/[\x21-\x7e\x80-\xff]*$/.test(value) && !value.includes('#')
  )
}

function isHeaders(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  return value.every(
    pair =>
      Array.isArray(pair) &&
      pair.length === 2 &&
      TOKEN.test(String(pair[0])) &&
      /^[\t\x20-\x7e\x80-\xff]*$/.test(String(pair[1])),
  )
}
