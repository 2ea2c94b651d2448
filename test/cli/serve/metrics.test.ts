import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { parseCommandLine, readSettings } from '../../../adapters/cli/command-line.js'
import type { Health } from '../../../adapters/cli/serve/health.js'
import { createMetrics } from '../../../adapters/cli/serve/metrics.js'
import { createNotes } from '../../../adapters/cli/serve/request-log.js'
import { version } from '../../../adapters/cli/version.js'
import { listen } from '../../../adapters/http/index.js'
import { createBatches } from '../../../adapters/stores/kit/batches.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import { createStore } from '../../../src/index.js'
import { deployed } from '../../engines/engines.js'
import { ROOT_URL } from '../../support/paths.js'
import { served } from '../../support/served.js'

const KEY = 's3cret-key-123456'
const SILENT = ['--log', 'silent', '--metrics']
const AUTHORIZED = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

test('metrics - requests, rejections, animals, bans and failures are counted, and no key is shown', async t => {
  const limits = { perMinute: 3, perDay: 100, banAfterRejections: 1 }
  const storage = memoryStorage()
  let isFailing = false
  const store = createStore({
    storage: {
      ...storage,
      find: id => (isFailing ? Promise.reject(new Error('disk')) : storage.find(id)),
    },
    apiKeys: { [KEY]: { id: 'ci', plan: 'enterprise', limits } },
    clock: () => 0,
  })
  const { metrics, health, scraped } = await open(t)
  metrics.watch(store, health, () => ({ open: 5, idle: 2, waiting: 1 }))
  const server = await listen(store, { port: 0 })
  t.after(server.close)
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { headers: AUTHORIZED, ...init })
  await send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":1}' })
  await send(`/pets?key=${KEY}`)
  isFailing = true
  await send('/pets/1')
  for (let n = 0; n < 3; n++) await send('/pets')
  await send('/pets', { method: 'PROPFIND' })

  const lines = await scraped()
  const value = (name: string) => valueIn(lines, name)
  const requests = (method: string, status: number, rest = '') =>
    value(
      `http_server_request_duration_seconds_count{http_request_method="${method}",http_response_status_code="${status}",url_scheme="http"${rest}}`,
    )
  assert.equal(requests('POST', 201, ',http_route="/v1/pets"'), '1')
  assert.equal(requests('GET', 200, ',http_route="/v1/pets"'), '1')
  assert.equal(requests('GET', 429, ',http_route="/v1/pets"'), '3')
  const failed = ',http_route="/v1/pets/{petId}",error_type="storage_unavailable"'
  assert.equal(requests('GET', 503, failed), '1')
  assert.equal(requests('_OTHER', 429), '1')
  assert.equal(value('adoption_store_rejections_total{code="rate_limit_exceeded"}'), '1')
  assert.equal(value('adoption_store_rejections_total{code="api_key_banned"}'), '3')
  assert.equal(value('adoption_store_rejections_total{code="storage_unavailable"}'), '1')
  assert.equal(value('adoption_store_pets_created_total'), '1')
  assert.equal(value('adoption_store_bans_total'), '1')
  assert.equal(value('adoption_store_storage_failures_total{operation="getPet"}'), '1')
  assert.equal(value('db_client_connection_count{db_client_connection_state="used"}'), '3')
  assert.equal(value('db_client_connection_pending_requests'), '1')
  assert.ok(!lines.join('\n').includes(KEY))

  // From the start, or a first one would be no increase.
  assert.equal(value('adoption_store_rejections_total{code="internal_error"}'), '0')
  assert.equal(value('adoption_store_shadow_rejections_total{code="api_key_banned"}'), '0')
  assert.equal(value('adoption_store_storage_failures_total{operation="listPets"}'), '0')
  assert.equal(value(`adoption_store_build_info{version="${version()}"}`), '1')
})

test('metrics - the state of the backends is that of /readyz, of all stores of a process', async t => {
  const { metrics, health, scraped } = await open(t)
  const { events } = createStore({ storage: memoryStorage(), apiKeys: {} })
  const state = async () => {
    const lines = await scraped()
    const names = ['storage_available', 'rate_limit_degraded', 'rate_limit_degraded_seconds_total']
    return names.map(name => valueIn(lines, `adoption_store_${name}`))
  }
  assert.deepEqual(await state(), ['Nan', '0', '0'])
  metrics.watch({ events }, health)
  assert.deepEqual(await state(), ['1', '0', '0'])
  // Its check occupies a connection, and is not to be counted.
  let used = 0
  const checking = { ...FAILING, isAvailable: async () => used++ < 0 }
  metrics.watch({ events }, checking, () => ({ open: used, idle: 0, waiting: used }))
  assert.equal(valueIn(await scraped(), 'db_client_connection_pending_requests'), '0')
  assert.deepEqual(await state(), ['0', '1', '1.5'])
  assert.deepEqual(await state(), ['0', '1', '1.5'])
})

test('metrics - a frozen database does not use up the time of a scrape', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { metrics, scraped } = await open(t)
  const { events } = createStore({ storage: memoryStorage(), apiKeys: {} })
  const isAvailable = () => {
    setImmediate(() => {
      for (let ms = 0; ms < 6_000; ms += 250) t.mock.timers.tick(250)
    })
    return new Promise<never>(() => {})
  }
  metrics.watch({ events }, { ...HEALTHY, isAvailable })
  assert.equal(valueIn(await scraped(), 'adoption_store_storage_available'), '0')
})

test('metrics - a reload has its result and its time', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: 60_000 })
  const { notes, scraped } = await open(t)
  const state = async () => {
    const lines = await scraped()
    const names = ['successful', 'success_timestamp_seconds']
    return names.map(name => valueIn(lines, `adoption_store_last_reload_${name}`))
  }
  assert.deepEqual(await state(), ['1', '60'])
  t.mock.timers.setTime(90_000)
  notes.say('reload.failed', 'expected a comma')
  assert.deepEqual(await state(), ['0', '60'])
  notes.say('reloaded', 'added web')
  assert.deepEqual(await state(), ['1', '90'])
})

test('metrics - a batch has its size, its wait and its queue', async t => {
  const { metrics } = await open(t)
  const settle = async (batch: readonly { readonly resolve: (n: number) => void }[]) => {
    for (const { resolve } of batch) resolve(0)
  }
  const limits = { items: 2, size: 100, sizeOf: () => 1, name: 'test.insert' }
  const batches = createBatches<number, number>(settle, limits)
  await Promise.all([1, 2, 3].map(one => batches.add(one)))
  await batches.idle()
  const server = await listen(metrics.handler, { port: 0 })
  t.after(server.close)
  const lines = await scrape(server.origin)
  for (const line of [
    'adoption_store_storage_batch_items_sum{queue="test.insert"} 3',
    'adoption_store_storage_batch_items_count{queue="test.insert"} 2',
    'adoption_store_storage_queue_wait_seconds_count{queue="test.insert"} 2',
    'adoption_store_storage_queue_items{queue="test.insert"} 0',
  ]) {
    assert.ok(lines.includes(line), line)
  }
  assert.equal((await fetch(`${server.origin}/v1/pets`)).status, 404)
})

test('metrics - dashboard and alerts name metrics that exist, and each alert says what to do', async t => {
  const { metrics, health, scraped } = await open(t)
  const store = createStore({ storage: memoryStorage(), apiKeys: {} })
  metrics.watch(store, health, () => ({ open: 0, idle: 0, waiting: 0 }))
  const lines = await scraped()
  const known = lines.flatMap(line => /^# TYPE (\S+)/.exec(line)?.slice(1) ?? [])
  const { panels } = JSON.parse(deployed('grafana.json'))
  const shown: string[] = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  )
  const [, ...alerts] = deployed('alerts.yml').split('- alert: ')
  for (const alert of alerts) {
    for (const field of ['summary', 'action'])
      assert.match(alert, new RegExp(`^ +${field}: .`, 'm'))
  }
  const watched = alerts.map(alert => /^ +expr: (.*)$/m.exec(alert)?.[1] ?? '')
  for (const expressions of [shown, watched]) {
    const used = expressions.flatMap(
      expr =>
        expr.replace(/by \([^)]*\)/g, '').match(/\b(http_|adoption_store_|db_|nodejs_)\w+/g) ?? [],
    )
    assert.ok(used.length > 6)
    for (const name of used) {
      assert.ok(
        known.includes(name.replace(/_(count|sum|bucket)$/, '')) || known.includes(name),
        name,
      )
    }
  }
  // The records that the actions speak of.
  const events = deployed('alerts.yml').match(/"[a-z]+\.[a-z]+"/g) ?? []
  const page = readFileSync(new URL('adapters/cli/README.md', ROOT_URL), 'utf8')
  assert.ok(events.length > 3)
  for (const event of events) assert.ok(page.includes(`\`${event.slice(1, -1)}\``), event)
})

test('metrics - --metrics serves them on an address of their own, on loopback to its names only', async t => {
  const { origin, metrics } = (await served(t, [...SILENT, '127.0.0.1:0'])).ready
  const lines = await scrape(new URL(metrics).origin)
  assert.ok(lines.some(line => line.startsWith('process_cpu_seconds_total')))
  assert.equal((await fetch(`${origin}/metrics`)).status, 404)
  // fetch would not send another Host.
  const stranger = get(metrics, { headers: { host: 'store.example' } })
  const [response] = await once(stranger, 'response')
  assert.equal(response.statusCode, 403)
  assert.match(await text(response), /"code":"invalid_request".*"status":403/)
  const others = (await served(t, [...SILENT, '0.0.0.0:0'])).ready
  const scraper = get(others.metrics, { headers: { host: 'store.example' } })
  const [scraped] = await once(scraper, 'response')
  scraped.resume()
  assert.equal(scraped.statusCode, 200)
  // The port of http itself, which a URL leaves out.
  const { metrics: address } = readSettings(parseCommandLine(['--metrics', '[::1]:80'], {}))
  assert.deepEqual(address, { host: '::1', port: 80 })
})

async function scrape(origin: string): Promise<string[]> {
  const response = await fetch(`${origin}/metrics`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return (await response.text()).split('\n')
}

const HEALTHY: Health = {
  isAvailable: async () => true,
  isDegraded: async () => false,
  degradedMs: () => 0,
}
const FAILING: Health = {
  isAvailable: async () => false,
  isDegraded: async () => true,
  degradedMs: () => 1_500,
}

/** The metrics of a process, on an address of their own. */
async function open(t: TestContext) {
  const notes = createNotes({ asJson: false, clock: () => 0, write: () => {} })
  const metrics = createMetrics(notes)
  t.after(metrics.stop)
  const server = await listen(metrics.handler, { port: 0 })
  t.after(server.close)
  return { notes, metrics, health: HEALTHY, scraped: () => scrape(server.origin) }
}

function valueIn(lines: readonly string[], name: string): string | undefined {
  const line = lines.find(line => line.startsWith(`${name} `))
  return line?.split(' ').at(-1)
}
