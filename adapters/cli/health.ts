import type { ApiHandler } from '../../src/api.js'
import { withPages } from '../pages.js'

/** Also answers `GET /healthz`, outside the API: no key, no quota, no log line. */
export function withHealth(handler: ApiHandler): ApiHandler {
  return withPages(handler, new Map([['/healthz', health]]))
}

async function health() {
  const { version } = await import('./version.js')
  return { text: JSON.stringify({ status: 'ok', version: version() }) }
}
