import type { ApiHandler } from '../../src/protocol/api.js'
import { type Page, withPages } from '../http/pages.js'
import type { Notes } from './notes.js'

/** Checks that reject while a backend does not answer. */
export interface Backends {
  /** Without it nothing can be served. */
  readonly store?: (() => Promise<void>) | undefined
  /** Without it this process counts by itself. */
  readonly limits?: (() => Promise<void>) | undefined
  /** Aborted once this process wants no new requests: a load balancer should use another. */
  readonly draining?: AbortSignal
}

/**
 * Also answers outside the API, without key, quota or log line: `GET /healthz` while the process
 * lives, and `GET /readyz` while its storage answers, for load balancers.
 *
 * @param notes receive the reason when a backend does not answer; responses do not expose it
 */
export function withHealth(
  handler: ApiHandler,
  backends: Backends = {},
  notes?: Notes,
): ApiHandler {
  const pages = new Map([
    ['/healthz', health],
    ['/readyz', readiness],
  ])
  return withPages(handler, pages)

  async function readiness(): Promise<Page> {
    const [store, limits] = await Promise.all([
      state('store', backends.store, 'unavailable'),
      state('limits', backends.limits, 'degraded'),
    ])
    const reachable = store === 'ok' ? 'ok' : 'unavailable'
    const status = backends.draining?.aborted ? 'draining' : reachable
    return {
      status: status === 'ok' ? 200 : 503,
      text: JSON.stringify({ status, store, limits }),
    }
  }

  async function state(name: string, ping: Backends['store'], otherwise: string): Promise<string> {
    try {
      await ping?.()
      return 'ok'
    } catch (error) {
      notes?.repeat(`${name}.${otherwise}`, `${name}: ${(error as Error).message}`)
      return otherwise
    }
  }
}

async function health(): Promise<Page> {
  const { version } = await import('./version.js')
  return { text: JSON.stringify({ status: 'ok', version: version() }) }
}
