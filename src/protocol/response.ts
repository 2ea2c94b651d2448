import { toApiError } from '../api-error.js'
import { isPlain } from '../lib/json.js'
import { utf8Length } from '../lib/utf8.js'
import type { Limits } from '../limits/plans.js'
import type { Decision } from '../limits/windows-and-bans.js'
import type { Idempotency } from '../pets/operations.js'
import { petToJson } from '../pets/pet.js'
import type { Pet } from '../pets/schema.js'
import type { Operation } from '../pets/specification.js'
import type { PetFilter } from '../ports.js'
import type { Admission } from './authenticate-and-count.js'

/** A result or an error, without the headers that all responses carry. */
export interface Representation {
  readonly status: number
  readonly content?: Content
  readonly headers?: Headers | undefined
}

/** JSON text and its length in UTF-8 bytes. */
export interface Content {
  readonly text: string
  readonly bytes: number
  readonly pieces?: () => Iterable<string>
}

export function petRepresentation(status: 200 | 201, pet: Pet, headers?: Headers): Representation {
  const text = petToJson(pet)
  // Only the name can contain non-ASCII characters.
  const content = isPlain(pet.name) ? { text, bytes: text.length } : measured(text)
  return { status, content, headers }
}

/** Texts of frozen pages, which storages may return again. */
const keptPages = new WeakMap<readonly Pet[], { limit: number; written: Representation }>()

/** Renders the first `limit` pets of a page. */
export function pageRepresentation(page: readonly Pet[], limit: number): Representation {
  const kept = keptPages.get(page)
  if (kept?.limit === limit) return kept.written
  const written = { status: 200, content: pageContent(page.slice(0, limit)) }
  if (Object.isFrozen(page)) keptPages.set(page, { limit, written })
  return written
}

/** Renders anything thrown as the Error body of spec §2. */
export function errorRepresentation(thrown: unknown): Representation {
  const { code, message, status, headers } = toApiError(thrown)
  return { status, content: measured(JSON.stringify({ code, message, status })), headers }
}

/** In UTF-16 units of names. */
const LONG_PAGE = 262_144

function pageContent(page: readonly Pet[]): Content {
  let length = 0
  for (const pet of page) length += pet.name.length
  if (length > LONG_PAGE) return longPageContent(page)
  const text = `[${page.map(petToJson).join(',')}]`
  // As above, and much faster than counting.
  return page.every(({ name }) => isPlain(name)) ? { text, bytes: text.length } : measured(text)
}

/** Keeps the pets rather than their text, which would pile up for slow clients. */
function longPageContent(pets: readonly Pet[]): Content {
  let bytes = 0
  for (const piece of pieces()) bytes += utf8Length(piece)
  return {
    bytes,
    pieces,
    get text() {
      return [...pieces()].join('')
    },
  }

  function* pieces(): Generator<string> {
    for (const [index, pet] of pets.entries()) yield (index === 0 ? '[' : ',') + petToJson(pet)
    yield ']'
  }
}

function measured(text: string): Content {
  return { text, bytes: utf8Length(text) }
}

export type Headers = Readonly<Record<string, string>>

interface HeaderContext {
  /** ms since the epoch; NaN if the clock failed */
  readonly now: number
  /** Length of the content; undefined if there is none. */
  readonly bytes: number | undefined
  readonly admission: Admission
  readonly operation: Operation | undefined
  /** Headers of this response alone, such as `Allow`. */
  readonly own: Headers | undefined
  readonly hasCors: boolean
  /** True for requests with an `Origin`: only they need the names of exposed headers. */
  readonly hasOrigin: boolean
}

/** Versions of draft-ietf-httpapi-ratelimit-headers; both write the two fields alike. */
export const DRAFTS = ['draft-10', 'draft-11'] as const

export interface HeaderOptions {
  /** Undefined only for requests over HTTP, which have a Host. */
  readonly cors: boolean | undefined
  readonly standardHeaders: (typeof DRAFTS)[number] | null
  readonly sunsetAt: number | null
  readonly deprecatedAt: number | null
  readonly idempotency: Idempotency | null
}

const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Deprecation, Sunset, Link, WWW-Authenticate, Allow, Location, Date'

export type ResponseHeaders = ReturnType<typeof responseHeaders>

/** All response headers, in the order they are sent. */
export function responseHeaders(options: HeaderOptions) {
  const { standardHeaders, sunsetAt, deprecatedAt, idempotency } = options
  const dateOf = createDateHeader()
  const deprecation = deprecatedAt === null ? undefined : `@${Math.floor(deprecatedAt / 1000)}`
  let sunsetDate: string | undefined
  const exposed = [
    EXPOSED,
    ...(standardHeaders ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(idempotency ? ['Idempotent-Replayed'] : []),
  ].join(', ')

  return {
    /** Links the next page (RFC 8288), relative to the list. */
    next({ limit, status, after }: PetFilter): Headers {
      const filter = status === undefined ? '' : `&status=${status}`
      return { Link: `<pets?limit=${limit}${filter}&after=${after}>; rel="next"` }
    },

    /** Relative (RFC 9110 §10.2.2), as a proxy or an app may have stripped a prefix from the path. */
    created(id: number): Headers {
      return { Location: `pets/${id}` }
    },

    all(context: HeaderContext): Headers {
      const { now, bytes, admission, operation, own, hasCors, hasOrigin } = context
      const { decision, limits } = admission
      const date = dateOf(now)
      const headers: Record<string, string> = {}
      if (date !== undefined) headers['Date'] = date
      if (bytes !== undefined) {
        headers['Content-Type'] = 'application/json'
        headers['Content-Length'] = String(bytes)
        headers['X-Content-Type-Options'] = 'nosniff'
      }
      if (decision) {
        headers['X-RateLimit-Limit'] = String(decision.limit)
        headers['X-RateLimit-Remaining'] = String(decision.remaining)
        headers['X-RateLimit-Reset'] = String(decision.reset)
      }
      if (decision && limits && standardHeaders) {
        Object.assign(headers, draftHeaders(decision, limits, now))
      }
      if (hasCors) {
        headers['Access-Control-Allow-Origin'] = '*'
        headers['Vary'] = 'Origin'
        if (hasOrigin) headers['Access-Control-Expose-Headers'] = exposed
      }
      if (operation === 'getPet') {
        // Start, end and replacement: RFC 9745, RFC 8594, RFC 5829.
        if (deprecation !== undefined) headers['Deprecation'] = deprecation
        if (sunsetAt !== null) headers['Sunset'] = sunsetDate ??= new Date(sunsetAt).toUTCString()
        headers['Link'] = '<../pets>; rel="successor-version"'
      }
      return own ? Object.assign(headers, own) : headers
    },
  }
}

/** Both windows as policies, the reported one as limit (§3 and §4 of the draft). */
function draftHeaders({ window, remaining, reset }: Decision, limits: Limits, now: number) {
  const seconds = Math.max(0, Math.ceil(reset - now / 1000))
  return {
    'RateLimit-Policy': `"minute";q=${limits.perMinute};w=60, "day";q=${limits.perDay};w=86400`,
    RateLimit: `"${window}";r=${remaining};t=${seconds}`,
  }
}

/** Formats `Date` once per second (RFC 9110 §6.6.1). Undefined if the clock is out of range. */
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
