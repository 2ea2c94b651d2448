import type { ApiError } from '../../src/api-error.js'
import { type Awaitable, chain } from '../../src/lib/async.js'
import { utf8Length } from '../../src/lib/utf8.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api-request.js'

/** A response outside the base path: equal for every caller, without key or quota. */
export interface Page {
  /** @default 200 */
  readonly status?: number
  /** @default 'application/json' */
  readonly type?: string
  readonly text: string
  /** Added to the default headers, or replacing them. */
  readonly headers?: Readonly<Record<string, string>>
}

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

/** Uncached, unless the headers of the page say otherwise. */
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

/** Keeps pages of other origins from loading a resource. */
export const NOT_SHARED = { 'Cross-Origin-Resource-Policy': 'same-origin' }

export function toErrorAnswer(method: string, error: ApiError): ApiResponse {
  const { code, message, status, headers } = error
  const text = JSON.stringify({ code, message, status })
  return toAnswer(method, { status, text, headers: { ...headers, ...NOT_SHARED } })
}

/** Answers 304 if the client has the page already (RFC 9110 §13.1.2). */
function negotiate({ method, headers }: ApiRequest, page: Page): ApiResponse {
  const tag = page.headers?.['ETag']
  const known = headers['if-none-match']?.split(',').map(one => one.trim())
  if (tag === undefined || !known?.includes(tag)) return toAnswer(method, page)
  return { status: 304, headers: { ...page.headers }, body: '' }
}

/** @param styles more sources of styles @param origins to which the page may send requests */
export function contentSecurityPolicy(
  styles: readonly string[] = [],
  origins: readonly string[] = [],
): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    ["style-src 'self'", ...styles].join(' '),
    ["connect-src 'self'", ...origins].join(' '),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
