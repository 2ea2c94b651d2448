import type { Decision } from './rate-limit.js'
import type { Operation } from './specification.js'

export type Headers = Readonly<Record<string, string>>

export interface HeaderOptions {
  readonly basePath: string
  readonly cors: boolean
  readonly pagination: boolean
  readonly standardHeaders: 'draft-10' | null
  readonly sunset: number | null
  readonly deprecatedAt: number | null
}

/** What the headers of one response depend on. */
export interface HeaderFacts {
  readonly now: number
  readonly bytes: number | undefined
  readonly decision: Decision | undefined
  readonly operation: Operation | undefined
  /** Those of this answer alone, such as `Allow`. */
  readonly own: Headers | undefined
}

const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Deprecation, Sunset, WWW-Authenticate'

/** Every header of every response, in the order they are sent. */
export function responseHeaders(options: HeaderOptions) {
  const { basePath, cors, pagination, standardHeaders } = options
  const dateOf = createDateHeader()
  const deprecation = deprecationHeaders(options)
  const shared: Headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': pagination ? `${EXPOSED}, Link` : EXPOSED,
  }

  return {
    /** The preflight's own (Fetch standard, "CORS protocol"); it counts against no budget. */
    preflight: {
      'Access-Control-Allow-Methods': 'GET, HEAD, POST',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type',
      'Access-Control-Max-Age': '86400',
    } as Headers,

    /** RFC 8288: where the page after this one is. */
    next({
      limit,
      status,
      after,
    }: {
      limit: number
      status?: string | undefined
      after: number
    }): Headers {
      const filter = status === undefined ? '' : `&status=${status}`
      return { Link: `<${basePath}/pets?limit=${limit}${filter}&after=${after}>; rel="next"` }
    },

    of({ now, bytes, decision, operation, own }: HeaderFacts): Headers {
      const headers: Record<string, string> = {}
      const date = dateOf(now)
      if (date !== undefined) headers['Date'] = date
      if (bytes !== undefined) {
        headers['Content-Type'] = 'application/json'
        headers['Content-Length'] = String(bytes)
      }
      if (decision) {
        headers['X-RateLimit-Limit'] = String(decision.limit)
        headers['X-RateLimit-Remaining'] = String(decision.remaining)
        headers['X-RateLimit-Reset'] = String(decision.reset)
        if (standardHeaders) Object.assign(headers, draftHeaders(decision, now))
      }
      if (cors) Object.assign(headers, shared)
      if (operation === 'getPet') Object.assign(headers, deprecation)
      return own ? Object.assign(headers, own) : headers
    },
  }
}

/** RFC 8594 Sunset, RFC 9745 Deprecation, RFC 5829 successor-version. */
function deprecationHeaders({ basePath, sunset, deprecatedAt }: HeaderOptions): Headers {
  return {
    ...(deprecatedAt === null ? {} : { Deprecation: `@${Math.floor(deprecatedAt / 1000)}` }),
    ...(sunset === null ? {} : { Sunset: new Date(sunset).toUTCString() }),
    Link: `<${basePath}/pets>; rel="successor-version"`,
  }
}

/**
 * draft-ietf-httpapi-ratelimit-headers-10: both windows as policies, and what is left of the
 * reported one.
 */
function draftHeaders({ window, remaining, reset, policy }: Decision, now: number): Headers {
  const seconds = Math.max(0, Math.ceil(reset - now / 1000))
  return {
    'RateLimit-Policy': `"minute";q=${policy.perMinute};w=60, "day";q=${policy.perDay};w=86400`,
    RateLimit: `"${window}";r=${remaining};t=${seconds}`,
  }
}

/** RFC 9110 §6.6.1, written once a second. Undefined when the clock tells no time. */
function createDateHeader(): (now: number) => string | undefined {
  let second = Number.NaN
  let text: string | undefined
  return now => {
    const current = Math.floor(now / 1000)
    if (current === second) return text
    const date = new Date(current * 1000)
    second = current
    text = Number.isNaN(date.getTime()) ? undefined : date.toUTCString()
    return text
  }
}
