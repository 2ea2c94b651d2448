import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { ERROR_STATUS } from '../../src/errors.js'
import { OPERATIONS } from '../../src/pets/specification.js'
import type { ApiHandler } from '../../src/protocol/api.js'
import type { Store } from '../../src/store.js'
import { codeOf } from '../exchanges/exchange.js'
import type { ExchangeMessage } from '../http/index.js'
import { toAnswer, withPages } from '../http/pages.js'
import type { Connections } from '../postgres/index.js'
import type { BatchMessage } from '../storage/batches.js'
import type { Health } from './health.js'
import type { Notes } from './log.js'
import { version } from './version.js'

export type Metrics = ReturnType<typeof createMetrics>

/**
 * The metrics of this process. Names follow the conventions of OpenTelemetry where it has one, and
 * begin with `adoption_store_` otherwise.
 */
export function createMetrics(notes: Pick<Notes, 'listen'>) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const meters = createMeters(registry)
  const watched: Health[] = []
  gaugeHealth(watched, [registry])
  gaugeReloads(notes, [registry])
  const onExchange = (message: unknown) => countExchange(message as ExchangeMessage, meters)
  const onBatch = (message: unknown) => countBatch(message as BatchMessage, meters)
  subscribe('animal-adoption-store.exchange', onExchange)
  subscribe('animal-adoption-store.batch', onBatch)
  const page = async () => ({ type: registry.contentType, text: await registry.metrics() })

  return {
    /** Counts what this store announces, and asks for the state of its backends. */
    watch(
      { events }: Pick<Store, 'events'>,
      health: Health,
      connections?: () => Connections,
    ): void {
      watched.push(health)
      events.on('pet.created', () => meters.created.inc())
      events.on('key.banned', () => meters.bans.inc())
      events.on('storage.failed', ({ operation }) => meters.failures.inc({ operation }))
      if (connections) gaugeConnections(connections, [registry])
    },
    /** Answers `GET /metrics` and nothing else. */
    handler: withPages(NOTHING, new Map([[PATH, page]])),
    async stop(): Promise<void> {
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
  const shadowed = 'Requests that were served only because of shadow mode'
  const waits = 'How long the oldest item of a batch had waited for it'
  const queues = 'Items that were left to wait when the latest batch began'
  const requests = ['operation', 'http_request_method', 'http_response_status_code']
  const rejections = counter('rejections', 'Responses with an Error body', 'code')
  const shadow = counter('shadow_rejections', shadowed, 'code')
  const failed = 'Operations that the storage failed'
  const failures = counter('storage_failures', failed, 'operation')
  // The first of them would not count as an increase otherwise.
  for (const code of Object.keys(ERROR_STATUS)) rejections.inc({ code }, 0)
  for (const code of LIMITED) shadow.inc({ code }, 0)
  for (const operation of OPERATIONS) failures.inc({ operation }, 0)
  return {
    durations: histogram(
      'http_server_request_duration_seconds',
      SECONDS,
      'Time until a response is decided',
      ...requests,
    ),
    rejections,
    created: counter('pets_created', 'Animals added'),
    shadowed: shadow,
    bans: counter('bans', 'Bans that began'),
    failures,
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

const LIMITED = ['rate_limit_exceeded', 'api_key_banned']

/** As they are when they are asked for. */
function gaugeHealth(watched: readonly Health[], registers: Registry[]): void {
  new Gauge({
    name: 'adoption_store_storage_available',
    help: 'Whether animals can be stored, as in /readyz',
    registers,
    async collect() {
      const states = await Promise.all(watched.map(one => one.isAvailable()))
      // Unknown while none is open yet.
      this.set(states.length === 0 ? Number.NaN : Number(states.every(Boolean)))
    },
  })
  new Gauge({
    name: 'adoption_store_rate_limit_degraded',
    help: 'Whether this process counts requests by itself',
    registers,
    collect() {
      this.set(Number(watched.some(one => one.isDegraded())))
    },
  })
  new Counter({
    name: 'adoption_store_rate_limit_degraded_seconds_total',
    help: 'Time during which this process counted requests by itself',
    registers,
    collect() {
      this.reset()
      this.inc(watched.reduce((sum, one) => sum + one.degradedMs() / 1000, 0))
    },
  })
  const labelNames = ['version']
  const help = 'The version of this package'
  new Gauge({ name: 'adoption_store_build_info', help, labelNames, registers }).set(
    { version: version() },
    1,
  )
}

/** As Prometheus does of its own configuration. The files of the start were valid. */
function gaugeReloads(notes: Pick<Notes, 'listen'>, registers: Registry[]): void {
  const gauge = (what: string, help: string) =>
    new Gauge({ name: `adoption_store_last_reload_${what}`, help, registers })
  const successful = gauge('successful', 'Whether the latest reload of --keys or --seed succeeded')
  const at = gauge('success_timestamp_seconds', 'When the latest one that succeeded was')
  const onSuccess = () => {
    successful.set(1)
    at.setToCurrentTime()
  }
  onSuccess()
  notes.listen(event => {
    if (event === 'reloaded') onSuccess()
    else if (event === 'reload.failed') successful.set(0)
  })
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
