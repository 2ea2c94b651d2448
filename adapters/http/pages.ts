import { type Awaitable, chain } from '../../src/lib/async.js'
import { utf8Length } from '../../src/lib/utf8.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api-request.js'

/** An answer outside the base path: the same for every caller, without key or quota. */
export interface Page {
  /** @default 200 */
  readonly status?: number
  /** @default 'application/json' */
  readonly type?: string
  readonly text: string
  /** Added to the usual ones, or in their place. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Also answers GET and HEAD at these paths. */
export function withPages(
  handler: ApiHandler,
  pages: ReadonlyMap<string, (request: ApiRequest) => Awaitable<Page>>,
): ApiHandler {
  return {
    ...handler,
    handle(request) {
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      const page = isRead && !request.refusal ? pages.get(request.path) : undefined
      if (!page) return handler.handle(request)
      return chain(page(request), found => negotiate(request, found))
    },
  }
}

/** The page as an answer to this method. It is not cached unless its headers say so. */
export function toAnswer(method: string, page: Page): ApiResponse {
  const { status = 200, type = 'application/json', text, headers } = page
  const content =
    status === 204
      ? {}
      : {
          'Content-Type': type,
          'Content-Length': String(utf8Length(text)),
          'X-Content-Type-Options': 'nosniff',
        }
  const later = status === 503 ? { 'Retry-After': '1' } : {}
  return {
    status,
    headers: { ...content, 'Cache-Control': 'no-store', ...later, ...headers },
    body: method === 'HEAD' ? '' : text,
  }
}

/** Headers of what no page of another origin may even load. */
export const NOT_SHARED = { 'Cross-Origin-Resource-Policy': 'same-origin' }

/** 304 to a client that has it already (RFC 9110 §13.1.2). */
function negotiate({ method, headers }: ApiRequest, page: Page): ApiResponse {
  const tag = page.headers?.['ETag']
  const known = headers['if-none-match']?.split(',').map(one => one.trim())
  if (tag === undefined || !known?.includes(tag)) return toAnswer(method, page)
  return { status: 304, headers: { ...page.headers }, body: '' }
}

interface Sources {
  /** More than the style sheets of this server. */
  readonly style?: string
  /** Other origins that the page may send requests to. */
  readonly connect?: readonly string[]
}

/** A page loads and runs only files of this server, and nobody embeds it or sends its forms. */
export function contentSecurityPolicy({ style, connect = [] }: Sources = {}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    ["style-src 'self'", ...(style === undefined ? [] : [style])].join(' '),
    ["connect-src 'self'", ...connect].join(' '),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
