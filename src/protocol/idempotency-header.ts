import { invalidRequest } from '../api-error.js'
import type { ApiRequest } from './api-request.js'

/**
 * Reads a String of Structured Fields (RFC 9651 §3.3.3, draft-ietf-httpapi-idempotency-key-header-07
 * §2.1), or the same characters without quotes, as many clients send them.
 */
export function readIdempotencyKey(headers: ApiRequest['headers']): string {
  const given = (headers['idempotency-key'] ?? '').trim()
  const key = TOKEN.test(given) ? given : quoted(given)
  if (key === undefined) {
    throw invalidRequest(
      'Idempotency-Key must be one string of printable ASCII in double quotes, such as "8e03978e-40d5".',
    )
  }
  if (key.length < 1 || key.length > LONGEST) {
    throw invalidRequest(`Idempotency-Key must have 1 to ${LONGEST} characters, got ${key.length}.`)
  }
  return key
}

const LONGEST = 255

/** A token of RFC 9110 §5.6.2, and the two more characters of RFC 9651 §3.3.4. */
const TOKEN = /^[\w!#$%&'*+.^`|~:/-]+$/
const STRING = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

function quoted(text: string): string | undefined {
  const inner = STRING.exec(text)?.[1]
  return inner?.includes('\\') ? inner.replace(/\\(.)/g, '$1') : inner
}
