import type { ApiRequest } from '../../src/protocol/api-request.js'

/** What opens the console and the control tree: at least 16 letters, digits, - and _. */
export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{16,}$/.test(value)
}

/**
 * Whether a request shows the token: as a bearer, in the cookie of this origin, or in its address.
 *
 * @param inAddress what stands in its place there
 */
export function hasToken({ headers }: ApiRequest, token: string, inAddress = ''): boolean {
  const { authorization = '', cookie = '' } = headers
  const inCookie = new RegExp(`(?:^|;) *${tokenCookie(headers)}=([^;]*)`).exec(cookie)?.[1] ?? ''
  const bearer = authorization.replace(/^bearer +/i, '')
  return [inAddress, bearer, inCookie].some(given => isSame(given, token))
}

/** The name of the cookie: a browser sends it to all ports of a host, and each may have a token. */
export function tokenCookie({ host = '' }: ApiRequest['headers']): string {
  return `adoption-store-${/:(\d+)$/.exec(host)?.[1] ?? 'default'}`
}

/** In constant time. */
function isSame(given: string, token: string): boolean {
  let difference = given.length ^ token.length
  for (let at = 0; at < token.length; at++)
    difference |= given.charCodeAt(at) ^ token.charCodeAt(at)
  return difference === 0
}
