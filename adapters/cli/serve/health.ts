import type { StoreEmitter } from '../../../src/events.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { type Page, withPages } from '../../http/extra-pages.js'
import { version } from '../version.js'
import { messageOf, type Notes } from './request-log.js'

export type Health = ReturnType<typeof watchHealth>

export interface WatchedStore {
  readonly events: StoreEmitter
  /** Rejects while nothing can be stored. */
  readonly ping: (() => Promise<void>) | undefined
  /** Rejects while the rate limit store cannot decide. */
  readonly pingLimits?: (() => Promise<void>) | undefined
}

/** Consecutive failed creates before the store counts as down. */
const FAILURES = 3
/** Time in ms after which creates may try again, and a process counts as without requests. */
const MEMORY = 5_000

/** Watches for failures behind the API. @param notes receive the reasons, which clients never see */
export function watchHealth({ events, ping, pingLimits }: WatchedStore, notes: Notes) {
  const degradation = createSpell()
  const outage = createSpell()
  let failures = 0
  let latest: { readonly error: unknown; readonly at: number } | undefined
  let checking: Promise<boolean> | undefined
  /** Checks that took too long: unavailable from 2 on, until back at 0. */
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
  /** When a request was last counted by this process, in ms of `performance.now`. */
  let countedAt = Number.NEGATIVE_INFINITY
  events.on('ratelimit.degraded', ({ error }) => {
    countedAt = performance.now()
    degrade(error)
  })
  events.on('ratelimit.recovered', recover)
  return {
    /** True if animals can be stored, judging by the storage and the latest creates. */
    isAvailable: (): Promise<boolean> =>
      (checking ??= check().finally(() => {
        checking = undefined
      })),
    /** True if this process counts requests on its own; without requests, a probe tells. */
    async isDegraded(): Promise<boolean> {
      await probeLimits()
      return degradation.isOn()
    },
    degradedMs: degradation.totalMs,
  }

  function degrade(error: unknown): void {
    degradation.begin()
    const then = 'this process counts by itself until the server answers'
    notes.repeat('ratelimit.degraded', `limits: ${messageOf(error)}; ${then}`)
  }

  function recover(): void {
    if (!degradation.isOn()) return
    notes.say('ratelimit.recovered', 'limits: the server decides again', degradation.end())
  }

  async function probeLimits(): Promise<void> {
    if (performance.now() - countedAt < MEMORY) return
    await pingLimits?.().then(recover, degrade)
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

function createSpell() {
  let since: number | undefined
  let before = 0
  const lasting = () => (since === undefined ? 0 : performance.now() - since)
  return {
    isOn: () => since !== undefined,
    begin(): void {
      since ??= performance.now()
    },
    end(): { readonly durationMs: number } {
      const ms = lasting()
      before += ms
      since = undefined
      return { durationMs: Math.round(ms) }
    },
    totalMs: () => before + lasting(),
  }
}

export interface PagesOptions {
  /** Undefined for a double, which keeps everything in memory. */
  readonly health: Health | undefined
  /** Aborted once this process wants no new requests: a load balancer should use another. */
  readonly draining: AbortSignal
  readonly control: boolean
}

/** Adds `/` with links, and for load balancers `/healthz` (alive) and `/readyz` (storage answers). */
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
    const states = await Promise.all([health?.isAvailable(), health?.isDegraded()])
    const store = states[0] === false ? 'unavailable' : 'ok'
    const status = draining.aborted ? 'draining' : store
    const rateLimitStore = states[1] ? 'degraded' : 'ok'
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
