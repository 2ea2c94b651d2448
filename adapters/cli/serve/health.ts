import type { StoreEmitter } from '../../../src/events.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { type Page, withPages } from '../../http/pages.js'
import { version } from '../version.js'
import { messageOf, type Notes } from './request-log.js'

/** How the backends of a store are. */
export type Health = ReturnType<typeof watchHealth>

export interface WatchedStore {
  readonly events: StoreEmitter
  /** Rejects while nothing can be stored. */
  readonly ping: (() => Promise<void>) | undefined
  /** Whether the limits were degraded at the start. */
  readonly degraded?: boolean | undefined
}

/** So many creates have to fail in a row: one may have met a moment that is over. */
const FAILURES = 3
/** Later, a create may try again, in ms. */
const MEMORY = 5_000

/**
 * Watches what fails behind the API, where a client sees a 503, or nothing at all.
 *
 * @param notes receive the reasons, which responses do not expose
 */
export function watchHealth({ events, ping, degraded }: WatchedStore, notes: Notes) {
  const degradation = createSpell(degraded)
  const outage = createSpell()
  let failures = 0
  let latest: { readonly error: unknown; readonly at: number } | undefined
  let checking: Promise<boolean> | undefined
  /** From 0 to 2, by checks that took too long: unavailable from 2 on, until it is 0 again. */
  let slow = 0
  events.on('pet.created', () => {
    failures = 0
  })
  events.on('storage.failed', ({ operation, error }) => {
    notes.repeat('storage.failed', `store: ${operation} failed: ${messageOf(error)}`)
    if (operation !== 'createPet') return
    failures++
    latest = { error, at: performance.now() }
  })
  events.on('ratelimit.degraded', ({ error }) => {
    degradation.begin()
    notes.repeat('ratelimit.degraded', `limits: ${messageOf(error)}`)
  })
  events.on('ratelimit.recovered', () =>
    notes.say('ratelimit.recovered', 'limits: the server decides again', degradation.end()),
  )
  return {
    /** Whether animals can be stored, as the storage and the latest creates say. */
    isAvailable: (): Promise<boolean> =>
      (checking ??= check().finally(() => {
        checking = undefined
      })),
    /** Whether this process decided the latest requests by itself. */
    isDegraded: degradation.isOn,
    /** How long it did so, in all. */
    degradedMs: degradation.totalMs,
  }

  async function check(): Promise<boolean> {
    const problem = await problemOfStore()
    if (problem === undefined && outage.isOn()) {
      notes.say('storage.recovered', 'store: available again', outage.end())
    } else if (problem !== undefined && !outage.isOn()) {
      outage.begin()
      notes.say('storage.unavailable', `store: ${messageOf(problem)}`)
    }
    return problem === undefined
  }

  async function problemOfStore(): Promise<unknown> {
    try {
      await ping?.()
      slow = Math.max(0, slow - 1)
      return outage.isOn() && slow > 0 ? new Error('it was too slow') : failureOfCreates()
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ETIMEDOUT') return error
      slow = Math.min(2, slow + 1)
      return outage.isOn() || slow === 2 ? error : undefined
    }
  }

  function failureOfCreates(): unknown {
    const isRecent = latest && failures >= FAILURES && performance.now() - latest.at < MEMORY
    return isRecent ? latest?.error : undefined
  }
}

/** A state that begins and ends again and again, and how long it lasted. */
function createSpell(isOn = false) {
  let since = isOn ? performance.now() : undefined
  let before = 0
  const lasting = () => (since === undefined ? 0 : performance.now() - since)
  return {
    isOn: () => since !== undefined,
    begin(): void {
      since ??= performance.now()
    },
    end(): { readonly ms: number } {
      const ms = lasting()
      before += ms
      since = undefined
      return { ms: Math.round(ms) }
    },
    totalMs: () => before + lasting(),
  }
}

export interface PagesOptions {
  /** Undefined for a double, which has everything in memory. */
  readonly health: Health | undefined
  /** Aborted once this process wants no new requests: a load balancer should use another. */
  readonly draining: AbortSignal
  readonly control: boolean
}

/**
 * Also answers outside the API, without key, quota or log line: `GET /` with links to everything that
 * is served, and for load balancers `GET /healthz` while the process lives, and `GET /readyz` while its
 * storage answers.
 */
export function withServerPages(handler: ApiHandler, options: PagesOptions): ApiHandler {
  const { health, draining, control } = options
  const index = {
    name: 'animal-adoption-store',
    api: handler.basePath,
    docs: '/docs',
    openapi: '/openapi.json',
    llms: '/llms.txt',
    health: '/healthz',
    ...(control && { control: '/_control' }),
  }
  const readiness = async (): Promise<Page> => {
    const store = (await health?.isAvailable()) === false ? 'unavailable' : 'ok'
    const status = draining.aborted ? 'draining' : store
    const rateLimitStore = health?.isDegraded() ? 'degraded' : 'ok'
    const text = JSON.stringify({ status, store, rateLimitStore })
    return { status: status === 'ok' ? 200 : 503, text }
  }
  const pages = new Map<string, () => Page | Promise<Page>>([
    ['/', () => ({ text: `${JSON.stringify(index, null, 2)}\n` })],
    ['/healthz', () => ({ text: JSON.stringify({ status: 'ok', version: version() }) })],
    ['/readyz', readiness],
  ])
  return withPages(handler, pages)
}
