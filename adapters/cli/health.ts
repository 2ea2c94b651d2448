import type { ApiHandler } from '../../src/protocol/api.js'
import { type Page, withPages } from '../http/pages.js'
import type { Notes } from './log.js'
import { version } from './version.js'

/** Checks that reject while a backend does not answer. */
export interface Backends {
  /** Without it nothing can be served. */
  readonly store?: (() => Promise<void>) | undefined
  /** Without it this process counts by itself. */
  readonly limits?: (() => Promise<void>) | undefined
}

export interface PagesOptions extends Backends {
  /** Aborted once this process wants no new requests: a load balancer should use another. */
  readonly draining: AbortSignal
  readonly control: boolean
  /** Receive the reason when a backend does not answer; responses do not expose it. */
  readonly notes: Notes
}

/**
 * Also answers outside the API, without key, quota or log line: `GET /` with links to everything that
 * is served, and for load balancers `GET /healthz` while the process lives, and `GET /readyz` while its
 * storage answers.
 */
export function withServerPages(handler: ApiHandler, options: PagesOptions): ApiHandler {
  const index = {
    name: 'animal-adoption-store',
    api: handler.basePath,
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/healthz',
    ...(options.control && { control: '/_control' }),
  }
  const pages = new Map<string, () => Page | Promise<Page>>([
    ['/', () => ({ text: `${JSON.stringify(index, null, 2)}\n` })],
    ['/healthz', () => ({ text: JSON.stringify({ status: 'ok', version: version() }) })],
    ['/readyz', () => readiness(options)],
  ])
  return withPages(handler, pages)
}

async function readiness({ draining, notes, ...backends }: PagesOptions): Promise<Page> {
  const [store, limits] = await Promise.all([
    stateOf('store', 'unavailable'),
    stateOf('limits', 'degraded'),
  ])
  const status = draining.aborted ? 'draining' : store
  return { status: status === 'ok' ? 200 : 503, text: JSON.stringify({ status, store, limits }) }

  async function stateOf(name: 'store' | 'limits', otherwise: string): Promise<string> {
    try {
      await backends[name]?.()
      return 'ok'
    } catch (error) {
      notes.repeat(`${name}.${otherwise}`, `${name}: ${(error as Error).message}`)
      return otherwise
    }
  }
}
