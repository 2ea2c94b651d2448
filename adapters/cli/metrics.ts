import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { toApiError } from '../../src/errors.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { Store } from '../../src/store.js'
import { codeOf } from '../exchanges/exchange.js'
import type { ExchangeMessage } from '../http/index.js'
import { refuseStrangers } from '../http/loopback.js'
import { type Page, toAnswer, withPages } from '../http/pages.js'
import type { Connections } from '../postgres/index.js'
import type { BatchMessage } from '../storage/batches.js'

export interface Metrics {
  /** Counts what this store announces. */
  watch(store: Pick<Store, 'events'>, connections?: () => Connections): void
  /** Also answers `GET /metrics`, over loopback only. */
  beside(handler: ApiHandler): ApiHandler
  /** Answers `GET /metrics` and nothing else, to everyone. */
  readonly alone: ApiHandler
  stop(): Promise<void>
}

/**
 * The metrics of this process. Names follow the conventions of OpenTelemetry where it has one, and
 * begin with `adoption_store_` otherwise.
 */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time until a response is decided',
    labelNames: ['operation', 'http_request_method', 'http_response_status_code'],
    buckets: SECONDS,
    registers,
  })
  const rejections = new Counter({
    name: 'adoption_store_rejections_total',
    help: 'Responses with an Error body',
    labelNames: ['code'],
    registers,
  })
  const created = new Counter({
    name: 'adoption_store_pets_created_total',
    help: 'Animals added',
    registers,
  })
  const shadowed = new Counter({
    name: 'adoption_store_shadow_rejections_total',
    help: 'Requests that were served only because of shadow mode',
    labelNames: ['code'],
    registers,
  })
  const bans = new Counter({
    name: 'adoption_store_bans_total',
    help: 'Bans that began',
    registers,
  })
  const failures = new Counter({
    name: 'adoption_store_storage_failures_total',
    help: 'Operations that the storage failed',
    labelNames: ['operation'],
    registers,
  })
  const degraded = new Counter({
    name: 'adoption_store_rate_limit_degraded_seconds_total',
    help: 'Time during which this process counted requests by itself',
    registers,
  })
  const batches = new Histogram({
    name: 'adoption_store_storage_batch_items',
    help: 'Items of a batch',
    labelNames: ['queue'],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    registers,
  })
  const batchDurations = new Histogram({
    name: 'adoption_store_storage_batch_duration_seconds',
    help: 'Time that the storage took for a batch',
    labelNames: ['queue'],
    buckets: SECONDS,
    registers,
  })
  const waits = new Histogram({
    name: 'adoption_store_storage_queue_wait_seconds',
    help: 'How long the oldest item of a batch had waited for it',
    labelNames: ['queue'],
    buckets: SECONDS,
    registers,
  })
  const queues = new Gauge({
    name: 'adoption_store_storage_queue_items',
    help: 'Items that were left to wait when the latest batch began',
    labelNames: ['queue'],
    registers,
  })
  subscribe('animal-adoption-store.exchange', countExchange)
  subscribe('animal-adoption-store.batch', countBatch)

  return {
    watch({ events }, connections) {
      events.on('pet.created', () => created.inc())
      events.on('key.banned', () => bans.inc())
      events.on('storage.failed', ({ operation }) => failures.inc({ operation }))
      events.on(
        'ratelimit.degraded',
        secondsSinceLast(seconds => degraded.inc(seconds)),
      )
      if (connections) gaugeConnections(connections, registers)
    },
    beside(handler) {
      return withPages(
        handler,
        new Map([
          [
            PATH,
            async request => {
              try {
                refuseStrangers(request)
                return await page()
              } catch (error) {
                const { code, message, status } = toApiError(error)
                return { status, text: JSON.stringify({ code, message, status }) }
              }
            },
          ],
        ]),
      )
    },
    alone: withPages(NOTHING, new Map([[PATH, page]])),
    async stop() {
      unsubscribe('animal-adoption-store.exchange', countExchange)
      unsubscribe('animal-adoption-store.batch', countBatch)
    },
  }

  async function page(): Promise<Page> {
    return { type: registry.contentType, text: await registry.metrics() }
  }

  function countExchange(message: unknown): void {
    const { request, response, ms } = message as ExchangeMessage
    // A caller could invent any number of them.
    const method = METHODS.includes(request.method) ? request.method : '_OTHER'
    const labels = {
      operation: response.about?.operation ?? '',
      http_request_method: method,
      http_response_status_code: response.status,
    }
    durations.observe(labels, ms / 1000)
    const code = codeOf(response)
    if (code !== null) rejections.inc({ code })
    const shadowCode = response.about?.shadowed
    if (shadowCode !== undefined) shadowed.inc({ code: shadowCode })
  }

  function countBatch(message: unknown): void {
    const { name: queue, items, left, waitMs, ms } = message as BatchMessage
    batches.observe({ queue }, items)
    batchDurations.observe({ queue }, ms / 1000)
    waits.observe({ queue }, waitMs / 1000)
    queues.set({ queue }, left)
  }
}

const PATH = '/metrics'

const NOTHING: ApiHandler = {
  basePath: PATH,
  maxBodyBytes: 0,
  handle: ({ method }) =>
    toAnswer(method, {
      status: 404,
      type: 'text/plain',
      text: 'Only GET /metrics is served here.\n',
    }),
}

/** In seconds, from what memory takes to the longest time limit. */
const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Longer without an event, and the store has answered again in between. */
const GAP = 2_000

/** Events that follow each other closely are one time span. */
function secondsSinceLast(add: (seconds: number) => void): () => void {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - last < GAP) add((now - last) / 1000)
    last = now
  }
}

function gaugeConnections(connections: () => Connections, registers: Registry[]): void {
  new Gauge({
    name: 'db_client_connection_count',
    help: 'Open connections to the database',
    labelNames: ['db_client_connection_state'],
    registers,
    collect() {
      const { open, idle } = connections()
      this.set({ db_client_connection_state: 'used' }, open - idle)
      this.set({ db_client_connection_state: 'idle' }, idle)
    },
  })
  new Gauge({
    name: 'db_client_connection_pending_requests',
    help: 'Callers that wait for a connection',
    registers,
    collect() {
      this.set(connections().waiting)
    },
  })
}
