import type { ApiHandler } from '../../src/protocol/api.js'
import { withPages } from '../http/pages.js'

/** Also answers `GET /` with links to everything that is served. */
export function withIndex(handler: ApiHandler, { control }: { control: boolean }): ApiHandler {
  const index = {
    name: 'animal-adoption-store',
    api: handler.basePath,
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/healthz',
    ...(control && { control: '/_control' }),
  }
  const text = JSON.stringify(index, null, 2)
  return withPages(handler, new Map([['/', () => ({ text: `${text}\n` })]]))
}
