import type { ApiRequest } from '../../src/protocol/api-request.js'

/** The token for the console and the control tree: at least 16 letters, digits, - and _. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{16,}$/.test(value)
}

/** True if a request carries the token as a bearer, or in this part of its address. */
export function hasToken({ headers }: ApiRequest, token: string, inAddress = ''): boolean {
  const bearer = (headers['authorization'] ?? '').replace(/^bearer +/i, '')
  return [inAddress, bearer].some(given => isSame(given, token))
}

/** Compares in constant time. */
function isSame(given: string, token: string): boolean {
  let difference = given.length ^ token.length
  for (let at = 0; at < token.length; at++)
    difference |= given.charCodeAt(at) ^ token.charCodeAt(at)
  return difference === 0
}
