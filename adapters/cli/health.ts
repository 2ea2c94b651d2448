import type { StoreEmitter } from '../../src/events.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import { type Page, withPages } from '../http/pages.js'
import { messageOf, type Notes } from './log.js'
import { version } from './version.js'

export interface Backends {
  /** Rejects while nothing can be stored. */
  readonly store?: (() => Promise<void>) | undefined
  /** What the latest requests say. */
  readonly seen?: Seen | undefined
}

interface Seen {
  /** Why creates fail, once several in a row did. */
  failure(): unknown
  /** Whether this process decided the latest requests by itself. */
  isDegraded(): boolean
}

/** So many creates have to fail in a row: one may have met a moment that is over. */
const FAILURES = 3
/** Later, a create may try again, in ms. */
const MEMORY = 5_000

/** @param degraded whether the limits were so at the start */
export function watchRequests(events: StoreEmitter, degraded = false): Seen {
  let failures = 0
  let latest: { readonly error: unknown; readonly at: number } | undefined
  events.on('pet.created', () => {
    failures = 0
  })
  events.on('storage.failed', ({ operation, error }) => {
    if (operation !== 'createPet') return
    failures++
    latest = { error, at: performance.now() }
  })
  events.on('ratelimit.degraded', () => {
    degraded = true
  })
  events.on('ratelimit.recovered', () => {
    degraded = false
  })
  return {
    failure: () =>
      latest && failures >= FAILURES && performance.now() - latest.at < MEMORY
        ? latest.error
        : undefined,
    isDegraded: () => degraded,
  }
}

export interface PagesOptions extends Backends {
  /** Aborted once this process wants no new requests: a load balancer should use another. */
  readonly draining: AbortSignal
  readonly control: boolean
  /** Receive why the storage is unavailable; responses do not expose it. */
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
    ['/readyz', createReadiness(options)],
  ])
  return withPages(handler, pages)
}

/** The limits are as the latest requests found them; the storage is checked, and unavailable too while creates fail. */
function createReadiness({ draining, notes, store, seen }: PagesOptions) {
  let isAvailable = true
  return async (): Promise<Page> => {
    const problem = await problemOfStore()
    if (isAvailable !== (problem === undefined)) {
      isAvailable = problem === undefined
      if (isAvailable) notes.say('store.available', 'store: available again')
      else notes.say('store.unavailable', `store: ${messageOf(problem)}`)
    }
    const state = isAvailable ? 'ok' : 'unavailable'
    const status = draining.aborted ? 'draining' : state
    const limits = seen?.isDegraded() ? 'degraded' : 'ok'
    const text = JSON.stringify({ status, store: state, limits })
    return { status: status === 'ok' ? 200 : 503, text }
  }

  async function problemOfStore(): Promise<unknown> {
    try {
      await store?.()
      return seen?.failure()
    } catch (error) {
      return error
    }
  }
}
