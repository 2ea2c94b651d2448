import { ApiError, invalidRequest } from '../../src/api-error.js'
import type { ApiRequest } from '../../src/protocol/api-request.js'
import { warn } from '../warnings.js'

/** Splits a URL or request target for an `ApiRequest`, still percent-encoded. */
export function splitTarget(target: string): Pick<ApiRequest, 'path' | 'query' | 'hasQuery'> {
  const local = target.startsWith('/') ? target : withoutAuthority(target)
  const queryAt = local.indexOf('?')
  if (queryAt < 0) return { path: local, query: '', hasQuery: false }
  return { path: local.slice(0, queryAt), query: local.slice(queryAt + 1), hasQuery: true }
}

/** By name in lower case, which the `Headers` of happy-dom do not change. */
export function fieldsOf(headers: Headers): Record<string, string> {
  const fields: Record<string, string> = {}
  headers.forEach((value, name) => {
    fields[name.toLowerCase()] = value
  })
  return fields
}

/** Clients of a proxy send the whole URL, of which only the path matters here (RFC 9112 §3.2.2). */
function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/#.*/s, '')
}

/** The authority of a whole URL overrides `Host`, so both must agree (RFC 9112 §3.2.2). */
export function targetRefusal(target: string, host = ''): ApiError | undefined {
  const authority = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1]
  if (authority === undefined || authority.toLowerCase() === host.toLowerCase()) return undefined
  return invalidRequest('The URL in the request line must name the host of the Host header.')
}

/** Rejects anything but `host[:port]` with 400 (RFC 9112 §3.2). */
export function hostRefusal(host: string): ApiError | undefined {
  if (host === '' || HOST.test(host)) return undefined
  return invalidRequest('The Host header must be a host name or an address, and optionally a port.')
}

/** RFC 3986 §3.2.2, with ports up to 65535. A comma separates the values of a repeated header. */
const HOST =
  /^(?:(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+|\[[\da-f:.]+\])(?::(?:[0-5]?\d{0,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?$/i

const NO_BYTES: Uint8Array = new Uint8Array()

/** Collects a body in one growing buffer, as a list of tiny chunks would take far more memory. */
export function collectBody(limit: number) {
  let buffer = NO_BYTES
  let length = 0

  return {
    /** @returns true once the limit is reached, after which nothing is added */
    add(chunk: Uint8Array): boolean {
      if (length >= limit) return true
      if (length === 0) buffer = chunk
      else append(chunk)
      length += chunk.length
      return length >= limit
    },
    bytes: (): Uint8Array => (length === buffer.length ? buffer : buffer.subarray(0, length)),
  }

  function append(chunk: Uint8Array): void {
    const needed = length + chunk.length
    if (needed > buffer.length) {
      const larger = new Uint8Array(Math.max(2 * length, needed))
      larger.set(buffer.subarray(0, length))
      buffer = larger
    }
    buffer.set(chunk, length)
  }
}

/** The client disconnected, or its stream failed. */
export function bodyEnded(): ApiError {
  return invalidRequest('The body ended early.')
}

let hasWarned = false

/** A mistake of the surrounding app, whose own log says it once, too. */
export function bodyAlreadyRead(): ApiError {
  const message = 'The body was already read; mount this handler before any body parser.'
  if (!hasWarned) warn(message)
  hasWarned = true
  return new ApiError('internal_error', message)
}
