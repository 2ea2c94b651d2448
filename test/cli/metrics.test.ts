import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createMetrics } from '../../adapters/cli/metrics.js'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createBatches } from '../../adapters/storage/batches.js'
import { createStore } from '../../src/index.js'
import { firstOutput } from '../support/first-output.js'
import { MAIN, ROOT_URL } from '../support/paths.js'

const KEY = 's3cret-key-123456'
const AUTHORIZED = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

test('metrics - requests, rejections, animals, bans and failures are counted, and no key is shown', async t => {
  const limits = { perMinute: 3, perDay: 100, banAfter: 1 }
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
  const metrics = createMetrics()
  t.after(metrics.stop)
  metrics.watch(store, () => ({ open: 5, idle: 2, waiting: 1 }))
  const server = await listen(metrics.beside(store), { port: 0 })
  t.after(server.close)
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { headers: AUTHORIZED, ...init })
  await send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":1}' })
  await send(`/pets?key=${KEY}`)
  isFailing = true
  await send('/pets/1')
  for (let n = 0; n < 3; n++) await send('/pets')
  await send('/pets', { method: 'PROPFIND' })

  const lines = await scrape(server.origin)
  const value = (name: string) =>
    lines
      .find(line => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1)
  const requests = (operation: string, method: string, status: number) =>
    value(
      `http_server_request_duration_seconds_count{operation="${operation}",http_request_method="${method}",http_response_status_code="${status}"}`,
    )
  assert.equal(requests('createPet', 'POST', 201), '1')
  assert.equal(requests('listPets', 'GET', 200), '1')
  assert.equal(requests('listPets', 'GET', 429), '3')
  assert.equal(requests('getPet', 'GET', 503), '1')
  assert.equal(requests('', 'PROPFIND', 429), '1')
  assert.equal(value('adoption_store_rejections_total{code="rate_limit_exceeded"}'), '1')
  assert.equal(value('adoption_store_rejections_total{code="api_key_banned"}'), '3')
  assert.equal(value('adoption_store_rejections_total{code="storage_unavailable"}'), '1')
  assert.equal(value('adoption_store_pets_created_total'), '1')
  assert.equal(value('adoption_store_bans_total'), '1')
  assert.equal(value('adoption_store_storage_failures_total{operation="getPet"}'), '1')
  assert.equal(value('db_client_connection_count{db_client_connection_state="used"}'), '3')
  assert.equal(value('db_client_connection_pending_requests'), '1')
  assert.ok(!lines.join('\n').includes(KEY))

  // fetch would not send another Host.
  const stranger = get(`${server.origin}/metrics`, { headers: { host: 'store.example' } })
  const [response] = await once(stranger, 'response')
  response.resume()
  assert.equal(response.statusCode, 403)
})

test('metrics - a batch has its size, its wait and its queue', async t => {
  const metrics = createMetrics()
  t.after(metrics.stop)
  const settle = async (batch: readonly { readonly resolve: (n: number) => void }[]) => {
    for (const { resolve } of batch) resolve(0)
  }
  const limits = { items: 2, size: 100, sizeOf: () => 1, name: 'test.insert' }
  const batches = createBatches<number, number>(settle, limits)
  await Promise.all([1, 2, 3].map(one => batches.add(one)))
  await batches.idle()
  const server = await listen(metrics.alone, { port: 0 })
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

test('metrics - the dashboard names metrics that exist', async t => {
  const metrics = createMetrics()
  t.after(metrics.stop)
  metrics.watch(createStore({ storage: memoryStorage(), apiKeys: {} }), () => ({
    open: 0,
    idle: 0,
    waiting: 0,
  }))
  const server = await listen(metrics.alone, { port: 0 })
  t.after(server.close)
  const known = (await scrape(server.origin)).flatMap(
    line => /^# TYPE (\S+)/.exec(line)?.slice(1) ?? [],
  )
  const path = new URL('adapters/postgres/deploy/grafana.json', ROOT_URL)
  const { panels } = JSON.parse(readFileSync(path, 'utf8'))
  const used = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.flatMap(
      ({ expr }) =>
        expr.replace(/by \([^)]*\)/g, '').match(/\b(http_|adoption_store_|db_|nodejs_)\w+/g) ?? [],
    ),
  )
  assert.ok(used.length > 10)
  for (const name of used) {
    assert.ok(
      known.includes(name.replace(/_(count|sum|bucket)$/, '')) || known.includes(name),
      name,
    )
  }
})

test('metrics - --metrics serves them on the port, or on an address of its own', async t => {
  const { origin } = await started(t, '--metrics')
  assert.ok((await scrape(origin)).some(line => line.startsWith('process_cpu_seconds_total')))
  assert.equal((await fetch(`${(await started(t)).origin}/metrics`)).status, 404)

  const apart = await started(t, '--metrics', '127.0.0.1:0')
  assert.equal((await fetch(`${apart.origin}/metrics`)).status, 404)
  for (const [words, line] of [
    [['--metrics=a/b'], /--metrics takes <host> or <host>:<port>, got 'a\/b'$/m],
    [['--metrics', ':'], /--metrics takes <host> or <host>:<port>/],
    // It would be the address 0.0.36.248.
    [['--metrics', '9464'], /--metrics takes <host> or <host>:<port>/],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, '-p', '0', ...words], {
      encoding: 'utf8',
    })
    assert.equal(status, 2, stderr)
    assert.match(stderr, line)
  }
})

async function scrape(origin: string): Promise<string[]> {
  const response = await fetch(`${origin}/metrics`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return (await response.text()).split('\n')
}

async function started(t: TestContext, ...words: string[]): Promise<{ origin: string }> {
  const all = [MAIN, '--port', '0', '--json', '--log', 'silent', ...words]
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const line = await firstOutput(child)
  return JSON.parse(line)
}
