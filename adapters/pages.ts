import type { ApiHandler, ApiRequest, ApiResponse } from '../src/api.js'
import { type Awaitable, chain } from '../src/awaitable.js'
import { utf8Length } from '../src/utf8.js'

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
      const page = isRead ? pages.get(request.path) : undefined
      if (!page) return handler.handle(request)
      return chain(page(request), found => toAnswer(request.method, found))
    },
  }
}

/** The page as an answer to this method. It is not cached unless its headers say so. */
export function toAnswer(method: string, page: Page): ApiResponse {
  const { status = 200, type = 'application/json', text, headers } = page
  const content =
    status === 204 ? {} : { 'Content-Type': type, 'Content-Length': String(utf8Length(text)) }
  return {
    status,
    headers: { ...content, 'Cache-Control': 'no-store', ...headers },
    body: method === 'HEAD' ? '' : text,
  }
}
