import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { ERROR_STATUS } from '../../../src/api-error.js'
import type { Awaitable } from '../../../src/lib/async.js'
import { BASE_PATH, OPERATIONS, type Operation } from '../../../src/pets/specification.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import type { Store } from '../../../src/store.js'
import { toAnswer, withPages } from '../../http/extra-pages.js'
import type { ExchangeMessage } from '../../http/index.js'
import type { BatchMessage } from '../../stores/kit/batches.js'
import { inTime } from '../../stores/kit/time-limit.js'
import type { Connections } from '../../stores/postgres/index.js'
import { errorOf } from '../../verdict/log/exchange.js'
import { version } from '../version.js'
import type { Health } from './health.js'
import type { Notes } from './request-log.js'

export type Metrics = ReturnType<typeof createMetrics>

/** Help texts. Names follow the conventions of OpenTelemetry, or begin with `adoption_store_`. */
const HELP = {
  http_server_request_duration_seconds: 'Time until a response is decided',
  adoption_store_rejections_total: 'Responses with an Error body',
  adoption_store_shadow_rejections_total: 'Requests that were served only because of shadow mode',
  adoption_store_pets_created_total: 'Animals added',
  adoption_store_bans_total: 'Bans that began',
  adoption_store_storage_available: 'Whether animals can be stored, as in /readyz',
  adoption_store_storage_failures_total: 'Operations that the storage failed',
  adoption_store_storage_batch_items: 'Items of a batch',
  adoption_store_storage_batch_duration_seconds: 'Time that the storage took for a batch',
  adoption_store_storage_queue_wait_seconds:
    'How long the oldest item of a batch had waited for it',
  adoption_store_storage_queue_items: 'Items that were left to wait when the latest batch began',
  adoption_store_rate_limit_degraded: 'Whether this process counts requests by itself',
  adoption_store_rate_limit_degraded_seconds_total:
    'Time during which this process counted requests by itself',
  adoption_store_last_reload_successful: 'Whether the latest reload of --keys or --seed succeeded',
  adoption_store_last_reload_success_timestamp_seconds: 'When the latest one that succeeded was',
  adoption_store_build_info: 'The version of this package',
  db_client_connection_count: 'Open connections to the database',
  db_client_connection_pending_requests: 'Callers that wait for a connection',
}
type Name = keyof typeof HELP

export function createMetrics(notes: Pick<Notes, 'listen'>) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const kinds = kindsIn(registry)
  const meters = createMeters(kinds)
  const watched: Health[] = []
  addHealth(watched, kinds)
  addReloads(notes, kinds)
  const onExchange = (message: unknown) => countExchange(message as ExchangeMessage, meters)
  const onBatch = (message: unknown) => countBatch(message as BatchMessage, meters)
  subscribe('animal-adoption-store.exchange', onExchange)
  subscribe('animal-adoption-store.batch', onBatch)
  const page = async () => ({ type: registry.contentType, text: await registry.metrics() })

  return {
    /** Counts the events of a store, and reads the state of its backends. */
    watch(
      { events }: Pick<Store, 'events'>,
      health: Health,
      connections?: () => Connections,
    ): void {
      watched.push(health)
      events.on('pet.created', () => meters.created.inc())
      events.on('key.banned', () => meters.bans.inc())
      events.on('storage.failed', ({ operation }) => meters.failures.inc({ operation }))
      if (connections) addConnections(connections, kinds)
    },
    handler: withPages(NOTHING, new Map([[PATH, page]])),
    async stop(): Promise<void> {
      unsubscribe('animal-adoption-store.exchange', onExchange)
      unsubscribe('animal-adoption-store.batch', onBatch)
    },
  }
}

type Kinds = ReturnType<typeof kindsIn>

function kindsIn(registry: Registry) {
  const registers = [registry]
  const about = (name: Name, labelNames: readonly string[] = []) => {
    return { name, help: HELP[name], labelNames, registers }
  }
  return {
    counter: (name: Name, ...labels: string[]) => new Counter(about(name, labels)),
    histogram: (name: Name, buckets: number[], ...labels: string[]) =>
      new Histogram({ ...about(name, labels), buckets }),
    sum: (name: Name, read: () => number) =>
      new Counter({
        ...about(name),
        collect() {
          this.reset()
          this.inc(read())
        },
      }),
    gauge: (name: Name, ...labels: string[]) => new Gauge(about(name, labels)),
    /** @param collect sets the value on each scrape */
    reading: (name: Name, collect: (gauge: Gauge) => Awaitable<void>, ...labels: string[]) =>
      new Gauge({
        ...about(name, labels),
        collect() {
          return collect(this)
        },
      }),
  }
}

type Meters = ReturnType<typeof createMeters>

function createMeters({ counter, histogram, gauge }: Kinds) {
  const meters = {
    durations: histogram('http_server_request_duration_seconds', SECONDS, ...HTTP_LABELS),
    rejections: counter('adoption_store_rejections_total', 'code'),
    shadowed: counter('adoption_store_shadow_rejections_total', 'code'),
    created: counter('adoption_store_pets_created_total'),
    bans: counter('adoption_store_bans_total'),
    failures: counter('adoption_store_storage_failures_total', 'operation'),
    items: histogram('adoption_store_storage_batch_items', BATCH_ITEMS, 'queue'),
    batches: histogram('adoption_store_storage_batch_duration_seconds', SECONDS, 'queue'),
    waits: histogram('adoption_store_storage_queue_wait_seconds', SECONDS, 'queue'),
    queues: gauge('adoption_store_storage_queue_items', 'queue'),
  }
  // Starts at 0, as the first rejection would not count as an increase otherwise.
  for (const code of Object.keys(ERROR_STATUS)) meters.rejections.inc({ code }, 0)
  for (const code of LIMITED) meters.shadowed.inc({ code }, 0)
  for (const operation of OPERATIONS) meters.failures.inc({ operation }, 0)
  return meters
}

function countExchange({ request, response, durationMs }: ExchangeMessage, meters: Meters): void {
  const { code } = errorOf(response)
  const operation = response.about?.operation
  const labels = {
    http_request_method: METHODS.includes(request.method) ? request.method : '_OTHER',
    http_response_status_code: response.status,
    url_scheme: 'http',
    ...(operation && { http_route: ROUTES[operation] }),
    ...(response.status >= 500 && { error_type: code ?? String(response.status) }),
  }
  meters.durations.observe(labels, durationMs / 1000)
  if (code !== null) meters.rejections.inc({ code })
  const shadowCode = response.about?.shadowed
  if (shadowCode !== undefined) meters.shadowed.inc({ code: shadowCode })
}

function countBatch(
  { name: queue, items, left, waitMs, durationMs }: BatchMessage,
  meters: Meters,
): void {
  meters.items.observe({ queue }, items)
  meters.batches.observe({ queue }, durationMs / 1000)
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

const HTTP_LABELS =
  'http_request_method http_response_status_code http_route url_scheme error_type'.split(' ')

const METHODS = 'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' ')

const ROUTES: Readonly<Record<Operation, string>> = {
  listPets: `${BASE_PATH}/pets`,
  createPet: `${BASE_PATH}/pets`,
  getPet: `${BASE_PATH}/pets/{petId}`,
}

/** In seconds, from a response out of memory to the longest time limit. */
const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

const BATCH_ITEMS = [1, 2, 5, 10, 20, 50, 100, 200, 500]

/** Half of what Prometheus waits for a scrape. */
const PATIENCE_MS = 5_000

const LIMITED = ['rate_limit_exceeded', 'api_key_banned']

function addHealth(watched: readonly Health[], { sum, reading }: Kinds): void {
  reading('adoption_store_storage_available', async gauge => {
    // The other metrics are read in this turn, before a check occupies a connection.
    await undefined
    const inScrape = (one: Health) => inTime(PATIENCE_MS, one.isAvailable()).catch(() => false)
    const states = await Promise.all(watched.map(inScrape))
    // Unknown while no store is open.
    gauge.set(states.length === 0 ? Number.NaN : Number(states.every(Boolean)))
  })
  reading('adoption_store_rate_limit_degraded', async gauge => {
    const states = await Promise.all(watched.map(one => one.isDegraded()))
    gauge.set(Number(states.some(Boolean)))
  })
  sum('adoption_store_rate_limit_degraded_seconds_total', () =>
    watched.reduce((seconds, one) => seconds + one.degradedMs() / 1000, 0),
  )
  const setVersion = (gauge: Gauge) => gauge.set({ version: version() }, 1)
  reading('adoption_store_build_info', setVersion, 'version')
}

/** Like Prometheus for its own configuration. The files of the start were valid. */
function addReloads(notes: Pick<Notes, 'listen'>, { gauge }: Kinds): void {
  const successful = gauge('adoption_store_last_reload_successful')
  const at = gauge('adoption_store_last_reload_success_timestamp_seconds')
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

function addConnections(connections: () => Connections, { reading }: Kinds): void {
  const state = 'db_client_connection_state'
  const setStates = (gauge: Gauge) => {
    const { open, idle } = connections()
    gauge.set({ [state]: 'used' }, open - idle)
    gauge.set({ [state]: 'idle' }, idle)
  }
  reading('db_client_connection_count', setStates, state)
  reading('db_client_connection_pending_requests', gauge => gauge.set(connections().waiting))
}
