import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../../src/errors.js'
import type { ApiRequest, ApiResponse } from '../../src/protocol/api.js'

/**
 * Admits whoever has the token: from the query `token` of the printed address, which `GET /` turns
 * into a cookie and takes out of the address bar, or from that cookie.
 *
 * @returns the redirect that sets the cookie; undefined for a request that may go on
 * @throws ApiError 403
 */
export function admit(request: ApiRequest, token: string): ApiResponse | undefined {
  const { path, query, mount = '', headers } = request
  const name = cookieName(headers['host'])
  const given = new URLSearchParams(query).get('token')
  if (given !== null && isSame(given, token)) {
    return path === '/' ? redirect(mount, `${name}=${token}`) : undefined
  }
  if (cookiesOf(headers['cookie'], name).some(cookie => isSame(cookie, token))) return undefined
  throw new ApiError(
    'invalid_request',
    'Open the console at the address that the server printed: it ends in `?token=…`.',
    { status: 403 },
  )
}

/** Cookies are shared by all ports of a host, and each may serve a console. */
function cookieName(host = ''): string {
  return `adoption-console-${/:(\d+)$/.exec(host)?.[1] ?? 'default'}`
}

function cookiesOf(header = '', name: string): readonly string[] {
  return header
    .split(';')
    .map(cookie => cookie.trim())
    .filter(cookie => cookie.startsWith(`${name}=`))
    .map(cookie => cookie.slice(name.length + 1))
}

/** Lax: a link in a chat may open the console, and no other page can use it. */
function redirect(mount: string, cookie: string): ApiResponse {
  return {
    status: 303,
    headers: {
      Location: `${mount}/`,
      'Set-Cookie': `${cookie}; Path=${mount}/; HttpOnly; SameSite=Lax`,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Length': '0',
    },
    body: '',
  }
}

/** In constant time, whatever their lengths. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token))
}

function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest()
}
