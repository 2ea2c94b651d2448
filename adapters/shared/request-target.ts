import { type ApiError, invalidRequest } from '../../src/errors.js'

/** A request target or URL as the path and the query of an `ApiRequest`, percent-encoding kept. */
export function splitTarget(target: string): { path: string; query: string } {
  const local = target.startsWith('/') ? target : withoutAuthority(target)
  const queryAt = local.indexOf('?')
  if (queryAt < 0) return { path: local, query: '' }
  return { path: local.slice(0, queryAt), query: local.slice(queryAt + 1) }
}

/** RFC 9112 §3.2.2: a client of a proxy sends the whole URL, which means its path here. */
function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/#.*$/s, '')
}

/** RFC 9112 §3.2: anything but `host[:port]` gets 400. */
export function hostRefusal(host: string): ApiError | undefined {
  if (host === '' || HOST.test(host)) return undefined
  return invalidRequest('The Host header must be a host name or an address, and optionally a port.')
}

/**
 * RFC 3986 §3.2.2, with a port up to 65535. Without the comma: it separates the values of a header
 * that was sent twice.
 */
const HOST =
  /^(?:(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+|\[[\da-f:.]+\])(?::(?:[0-5]?\d{0,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?$/i
