import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { toApiError } from '../../src/errors.js'
import type { ApiHandler, ApiRequest } from '../../src/protocol/api.js'
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
  collectDefaultMetrics({ register: registry })
  const meters = createMeters(registry)
  const onExchange = (message: unknown) => countExchange(message as ExchangeMessage, meters)
  const onBatch = (message: unknown) => countBatch(message as BatchMessage, meters)
  subscribe('animal-adoption-store.exchange', onExchange)
  subscribe('animal-adoption-store.batch', onBatch)
  const page = async () => ({ type: registry.contentType, text: await registry.metrics() })

  return {
    watch({ events }, connections) {
      events.on('pet.created', () => meters.created.inc())
      events.on('key.banned', () => meters.bans.inc())
      events.on('storage.failed', ({ operation }) => meters.failures.inc({ operation }))
      const degraded = secondsSinceLast(seconds => meters.degraded.inc(seconds))
      events.on('ratelimit.degraded', degraded)
      if (connections) gaugeConnections(connections, [registry])
    },
    beside: handler =>
      withPages(handler, new Map([[PATH, request => overLoopback(request, page)]])),
    alone: withPages(NOTHING, new Map([[PATH, page]])),
    async stop() {
      unsubscribe('animal-adoption-store.exchange', onExchange)
      unsubscribe('animal-adoption-store.batch', onBatch)
    },
  }
}

function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = (what: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `adoption_store_${what}_total`, help, labelNames, registers })
  const histogram = (name: string, buckets: number[], help: string, ...labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets, registers })
  const storage = 'adoption_store_storage'
  const degraded = 'Time during which this process counted requests by itself'
  const shadowed = 'Requests that were served only because of shadow mode'
  const waits = 'How long the oldest item of a batch had waited for it'
  const queues = 'Items that were left to wait when the latest batch began'
  const requests = ['operation', 'http_request_method', 'http_response_status_code']
  return {
    durations: histogram(
      'http_server_request_duration_seconds',
      SECONDS,
      'Time until a response is decided',
      ...requests,
    ),
    rejections: counter('rejections', 'Responses with an Error body', 'code'),
    created: counter('pets_created', 'Animals added'),
    shadowed: counter('shadow_rejections', shadowed, 'code'),
    bans: counter('bans', 'Bans that began'),
    failures: counter('storage_failures', 'Operations that the storage failed', 'operation'),
    degraded: counter('rate_limit_degraded_seconds', degraded),
    batches: histogram(`${storage}_batch_items`, BATCH_ITEMS, 'Items of a batch', 'queue'),
    batchDurations: histogram(
      `${storage}_batch_duration_seconds`,
      SECONDS,
      'Time that the storage took for a batch',
      'queue',
    ),
    waits: histogram(`${storage}_queue_wait_seconds`, SECONDS, waits, 'queue'),
    queues: new Gauge({
      name: `${storage}_queue_items`,
      help: queues,
      labelNames: ['queue'],
      registers,
    }),
  }
}

type Meters = ReturnType<typeof createMeters>

function countExchange({ request, response, ms }: ExchangeMessage, meters: Meters): void {
  const labels = {
    operation: response.about?.operation ?? '',
    // The parser of Node refuses methods that it does not know, so there are not many.
    http_request_method: request.method,
    http_response_status_code: response.status,
  }
  meters.durations.observe(labels, ms / 1000)
  const code = codeOf(response)
  if (code !== null) meters.rejections.inc({ code })
  const shadowCode = response.about?.shadowed
  if (shadowCode !== undefined) meters.shadowed.inc({ code: shadowCode })
}

function countBatch({ name: queue, items, left, waitMs, ms }: BatchMessage, meters: Meters): void {
  meters.batches.observe({ queue }, items)
  meters.batchDurations.observe({ queue }, ms / 1000)
  meters.waits.observe({ queue }, waitMs / 1000)
  meters.queues.set({ queue }, left)
}

async function overLoopback(request: ApiRequest, page: () => Promise<Page>): Promise<Page> {
  try {
    refuseStrangers(request)
    return await page()
  } catch (error) {
    const { code, message, status } = toApiError(error)
    return { status, text: JSON.stringify({ code, message, status }) }
  }
}

const PATH = '/metrics'

const NOTHING: ApiHandler = {
  basePath: PATH,
  maxBodyBytes: 0,
  handle: ({ method }) => toAnswer(method, { status: 404, type: 'text/plain', text: NOT_FOUND }),
}

const NOT_FOUND = 'Only GET /metrics is served here.\n'

/** In seconds, from what memory takes to the longest time limit. */
const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

const BATCH_ITEMS = [1, 2, 5, 10, 20, 50, 100, 200, 500]

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
