import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type HttpServer, listen } from '../../adapters/http/index.js'
import { withConsole } from '../../adapters/pages/console/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createStore } from '../../src/index.js'
import { firstOutput } from '../support/first-output.js'
import { blocksOf } from '../support/pages.js'
import { MAIN, ROOT, ROOT_URL } from '../support/paths.js'
import { served } from '../support/served.js'
import {
  createFolder,
  deployed,
  deployedNginx,
  startNginx,
  startPostgres,
  startRedis,
  unprivileged,
  withoutBoth,
  withoutNginx,
} from './engines.js'

test('deploy - nginx balances requests, reports the client address, and hides a process that is down', {
  skip: withoutNginx,
}, async () => {
  const answered = [0, 0]
  const servers = await Promise.all(
    [0, 1].map(at => {
      // All requests are in one minute.
      const store = createStore({ storage: memoryStorage(), apiKeys: {}, clock: () => 0 })
      const handle: typeof store.handle = request => {
        answered[at] = (answered[at] ?? 0) + 1
        return store.handle(request)
      }
      return listen({ ...store, handle }, { port: 0, proxyHops: 1 })
    }),
  )
  const [one, two] = servers as [HttpServer, HttpServer]
  await using nginx = await startNginx(deployedNginx(one.port, two.port))
  const remaining: number[] = []
  for (let n = 0; n < 4; n++) {
    // Clients cannot choose the address that is counted.
    const headers = { 'x-forwarded-for': `192.0.2.${n}` }
    const response = await fetch(`${nginx.url}/v1/pets`, { headers })
    assert.equal(response.status, 401)
    remaining.push(Number(response.headers.get('x-ratelimit-remaining')))
  }
  assert.deepEqual(answered, [2, 2])
  assert.deepEqual(remaining.toSorted(), [58, 58, 59, 59])

  await servers[0]?.close()
  for (let n = 0; n < 4; n++) assert.equal((await fetch(`${nginx.url}/v1/pets`)).status, 401)
  assert.deepEqual(answered, [2, 6])
  await servers[1]?.close()
})

test('deploy - nginx as it comes opens neither console nor control to anyone', {
  skip: withoutNginx,
}, async t => {
  const folder = createFolder('keys')
  t.after(() => rmSync(folder, { recursive: true }))
  const keys = join(folder, 'keys.json')
  writeFileSync(keys, '{"s3cret":{"id":"ci","plan":"pro"}}')
  const { handler } = createTestDouble({ control: true })
  await using hop = await listen(withConsole(handler, { control: true }), { port: 0, proxyHops: 1 })
  const withKeys = await served(t, ['--keys', keys, '--console', '--control'])
  const { ready } = await served(t, ['--control'])
  for (const origin of [withKeys.ready.origin, ready.origin, hop.origin]) {
    assert.equal((await fetch(`${origin}/v1/pets`)).status, 401)
    const pass = `proxy_pass ${origin}`
    await using nginx = await startNginx(`server { listen 80; location / { ${pass}; } }`)
    assert.equal((await fetch(`${nginx.url}/v1/pets`)).status, 401)
    for (const path of ['/_console/info', '/_console/events', '/_control/clock']) {
      for (const host of [`127.0.0.1:${nginx.port}`, 'localhost']) {
        const response = await fetch(nginx.url + path, { headers: { accept: 'text/html', host } })
        await assertError(response, 403, 'invalid_request')
      }
    }
  }
})

test('deploy - what nginx answers itself is JSON, and the API answers what it can', {
  skip: withoutNginx,
}, async () => {
  const store = createStore({ storage: memoryStorage(), apiKeys: { k: { id: 'k', plan: 'pro' } } })
  const server = await listen(store, { port: 0, proxyHops: 1 })
  await using nginx = await startNginx(deployedNginx(server.port, server.port))
  const create = async (bytes: number) => {
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'x'.repeat(bytes), categoryId: 1 })
    return fetch(`${nginx.url}/v1/pets`, { method: 'POST', headers, body })
  }
  const refused = await create(1.5 * 1024 * 1024)
  assert.equal(refused.status, 413)
  assert.ok(refused.headers.get('x-ratelimit-limit'), 'answered by the API')
  await assertError(await create(3 * 1024 * 1024), 413, 'payload_too_large')

  const socket = connect(nginx.port, '127.0.0.1')
  socket.end('GET /v1/pets HTTP/1.1\r\nBad Header\r\n\r\n')
  assert.match(await text(socket), /^HTTP\/1.1 400 [\s\S]*"code":"invalid_request"/)

  await server.close()
  const unavailable = await fetch(`${nginx.url}/v1/pets`)
  assert.equal(unavailable.headers.get('retry-after'), '1')
  await assertError(unavailable, 503, 'storage_unavailable')
})

test('deploy - a process that answers 503 for a moment stays in use', {
  skip: withoutNginx,
}, async () => {
  let isBusy = true
  const store = createStore({ storage: memoryStorage(), apiKeys: {} })
  const handle: typeof store.handle = request =>
    isBusy
      ? { status: 503, headers: { 'Content-Type': 'application/json' }, body: '{"status":503}' }
      : store.handle(request)
  const server = await listen({ ...store, handle }, { port: 0, proxyHops: 1 })
  await using nginx = await startNginx(deployedNginx(server.port, server.port))
  const list = () => fetch(`${nginx.url}/v1/pets`)
  for (let n = 0; n < 5; n++) assert.deepEqual(await (await list()).json(), { status: 503 })
  isBusy = false
  assert.equal((await list()).status, 401)
  await server.close()
})

const withoutRegistry = (): string | false => {
  const isReached = spawnSync('npm', ['ping'], { stdio: 'ignore' }).status === 0
  if (isReached || process.env['ADOPTION_STORE_ENGINES'] === 'required') return false
  return 'npm reaches no registry'
}

test('deploy - every line of the page and of the Dockerfile works for an unprivileged user', {
  skip: withoutBoth || withoutRegistry(),
}, async t => {
  await using postgres = await startPostgres()
  await using redis = await startRedis()
  const above = createFolder('deploy')
  t.after(() => rmSync(above, { recursive: true, force: true }))
  const key = typePage(above)
  const folder = join(above, 'deploy')
  const { NODE_EXTRA_CA_CERTS } = process.env
  const environment = {
    // For npm, where a proxy with a certificate of its own stands before the registry.
    ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
    PATH: [join(folder, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
    HOME: folder,
    PORT: '0',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
  }
  const inFolder = { ...unprivileged(), cwd: folder, env: environment }
  const instructions = deployed('Dockerfile')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const words = (name: string) =>
    instructions
      .filter(line => line.startsWith(`${name} `))
      .map(line => line.slice(name.length + 1))

  const [copied = ''] = words('COPY')
  const pattern = new RegExp(`^${copied.split(' ')[0]?.replace('*', '.*')}$`)
  assert.equal(readdirSync(folder).filter(name => pattern.test(name)).length, 1, copied)
  for (const line of words('RUN')) execFileSync('sh', ['-c', line], inFolder)

  const [start = ''] = words('CMD')
  const [program = '', ...options] = JSON.parse(start).map((word: string) =>
    word.replace('/run/keys', join(folder, 'keys')).replace('0.0.0.0', '127.0.0.1'),
  )
  const child = spawn(program, [...options, '--json'], inFolder)
  t.after(() => child.kill('SIGKILL'))
  const line = await firstOutput(child)
  assert.match(line, /^\{"baseUrl"/)
  const { baseUrl, origin } = JSON.parse(line)
  assert.equal((await fetch(`${origin}/readyz`)).status, 200)
  const headers = { authorization: `Bearer ${key}` }
  assert.deepEqual(await (await fetch(`${baseUrl}/pets`, { headers })).json(), [])

  const [health = ''] = words('HEALTHCHECK').map(line => line.replace(/^.*? CMD /, ''))
  const [command = '', ...rest] = JSON.parse(health.replace('http://127.0.0.1:4280', origin))
  execFileSync(command, rest, inFolder)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  child.kill('SIGTERM')
  await ended
})

test('deploy - a plain container serves with the commands of the page', async t => {
  const [commands = ''] = blocksOf(
    'adapters/stores/postgres/README.md',
    'text test=test/engines/deploy.test.ts',
  )
  const lines = commands
    .replaceAll(/\\\n\s*/g, '')
    .trimEnd()
    .split('\n')
  const [pack, keysNew = '', docker = ''] = lines
  assert.equal(pack, 'mkdir pack && npm pack --pack-destination pack')
  const { name, version } = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'))
  const [container = '', options = ''] = docker.split(` ${name} `)
  assert.ok(container.includes(' -v "$PWD/pack:/pack:ro" '))
  assert.ok(container.endsWith(` npx --yes --package=/pack/${name}-${version}.tgz`))
  const folder = createFolder('pack')
  t.after(() => rmSync(folder, { recursive: true }))
  const inFolder = (words: string) => words.replace(/\/?\bpack\b/, folder).split(' ')
  const created = inFolder(keysNew.replace(`npx ${name} `, ''))
  const key = execFileSync(process.execPath, [MAIN, ...created], {
    encoding: 'utf8',
    stdio: 'pipe',
  })
  const { ready } = await served(t, inFolder(options.replace('0.0.0.0', '127.0.0.1')))
  const headers = { authorization: `Bearer ${key.trim()}` }
  assert.equal((await fetch(`${ready.baseUrl}/pets`, { headers })).status, 200)
})

test('deploy - the images pin the clients that the tests run with, and compose names what exists', () => {
  const file = readFileSync(new URL('package.json', ROOT_URL), 'utf8')
  const { devDependencies, peerDependencies } = JSON.parse(file)
  const ci = readFileSync(new URL('.ci/run', ROOT_URL), 'utf8')
  for (const name of ['pg', 'ioredis']) {
    const version = devDependencies[name]
    assert.match(deployed('Dockerfile'), new RegExp(` ${name}@${version}\\b`))
    const ranges: string[] = peerDependencies[name].split(' || ')
    assert.equal(ranges.at(-1), `^${version}`)
    // The ranges before it have a step of their own.
    for (const range of ranges.slice(0, -1)) assert.ok(ci.includes(`${name}@${range.slice(1)}`))
  }
  const compose = deployed('compose.yaml')
  assert.match(compose, /\.\/keys:\/run\/keys:ro/)
  for (const [, image = ''] of compose.matchAll(/image: (\S+)/g)) assert.match(image, /:v?\d+\.\d+/)
  const addresses = [...compose.matchAll(/ipv4_address: (\S+)/g)].map(([, address]) => address)
  assert.equal(addresses.length, 2)
  for (const address of addresses) {
    assert.ok(deployed('nginx.conf').includes(`server ${address}:4280 max_fails=0;`))
  }
  for (const [, file = ''] of compose.matchAll(/- \.\/([\w.]+):.*:ro/g)) {
    assert.ok(file === 'keys' || deployed(file), file)
  }
})

test('deploy - alerts are silent over a busy and an idle store, and fire while an outage lasts', {
  skip: spawnSync('promtool', ['--version']).status !== 0 && 'Prometheus is not installed',
}, t => {
  /** Each alert with a series of its metric: busy, idle, in an outage, and busy again, 10 minutes each. */
  const series: Record<string, [metric: string, ...values: string[]][]> = {
    // In the end, Prometheus has no target.
    Down: [['up{job="animal-adoption-store"}', '1', '1', '0x19 stale _x19', '1']],
    StorageUnavailable: [['adoption_store_storage_available', '1', '1', '0', '1']],
    // Before the outage, a single create fails.
    StorageFailures: [
      ['adoption_store_storage_failures_total{operation="createPet"}', '0', '1', '1+7', '300'],
    ],
    RateLimitDegraded: [['adoption_store_rate_limit_degraded', '0', '0', '1', '0']],
    Queue: ['0.5', '2.5', '+Inf'].map(le => [
      `adoption_store_storage_queue_wait_seconds_bucket{queue="q",le="${le}"}`,
      ...(le === '0.5' ? ['0+9', '400', '400', '400+9'] : ['0+9', '400', '400+9', '800+9']),
    ]),
    // While idle, one scrape finds no free connection; in an outage, every other one.
    Connections: [
      ['db_client_connection_pending_requests', '0', `1${' 0'.repeat(39)}`, '2 0', '0'],
    ],
    EventLoop: [['nodejs_eventloop_lag_p99_seconds', '0.02', '0.01', '0.4', '0.02']],
    ReloadFailed: [['adoption_store_last_reload_successful', '1', '1', '0', '1']],
    InternalErrors: [
      ['adoption_store_rejections_total{code="internal_error"}', '0', '0', '0+1', '40'],
    ],
  }
  const file = new URL('adapters/stores/postgres/deploy/alerts.yml', ROOT_URL)
  const rules = readFileSync(file, 'utf8')
  const alerts = [...rules.matchAll(/- alert: AdoptionStore(\w+)/g)].map(([, name]) => name)
  assert.deepEqual(alerts.toSorted(), Object.keys(series).toSorted())
  const test = {
    rule_files: [file.pathname],
    tests: Object.entries(series).map(([name, all]) => ({
      interval: '15s',
      input_series: all.map(([metric, ...values]) => ({
        series: metric,
        values: values.map(tenMinutes).join(' '),
      })),
      promql_expr_test: [
        ...[5, 9, 12, 19].map(minute => [minute, 0] as const),
        ...[24, 29].map(minute => [minute, 1] as const),
        // An error of ours is reported for ten minutes, as somebody has to see it.
        ...(name === 'InternalErrors' ? [] : [[33, 0] as const]),
      ].map(([minute, value]) => ({
        expr: `count(ALERTS{alertname="AdoptionStore${name}",alertstate="firing"}) or vector(0)`,
        eval_time: `${minute}m`,
        exp_samples: [{ labels: '{}', value }],
      })),
    })),
  }
  const folder = createFolder('alerts')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'test.yml'), JSON.stringify(test))
  const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(folder, 'test.yml')], {
    encoding: 'utf8',
  })
  assert.match(stdout, /SUCCESS/, stdout + stderr)

  function tenMinutes(value: string): string {
    if (value.includes('x')) return value
    if (value.includes('+')) return `${value}x39`
    const samples = value.split(' ')
    return Array.from({ length: 40 }, (_, at) => samples[at % samples.length]).join(' ')
  }
})

test('deploy - the manifest for Kubernetes fits the image', () => {
  const [manifest, dockerfile] = [deployed('kubernetes.yaml'), deployed('Dockerfile')]
  const [, port = ''] = /EXPOSE (\d+)/.exec(dockerfile) ?? []
  assert.ok(manifest.includes(`{ name: api, containerPort: ${port} }`))
  const probes = [...manifest.matchAll(/(\w+)Probe:\n +httpGet: \{ path: (\S+), port: api \}/g)]
  const kinds = probes.map(([, kind, path]) => `${kind} ${path}`)
  assert.deepEqual(kinds, ['startup /healthz', 'liveness /healthz', 'readiness /readyz'])
  const [, keys = ''] = /"--keys", "([^"]*)\/keys\.json"/.exec(dockerfile) ?? []
  assert.ok(manifest.includes(`mountPath: ${keys}, readOnly: true`))
  const [, drain] = /"--drain", "(\d+)s"/.exec(dockerfile) ?? []
  const [, grace] = /terminationGracePeriodSeconds: (\d+)/.exec(manifest) ?? []
  assert.ok(Number(grace) > Number(drain) + 15)
  const [, metrics = ''] = /"--metrics", "0\.0\.0\.0:(\d+)"/.exec(dockerfile) ?? []
  assert.ok(manifest.includes(`{ name: metrics, containerPort: ${metrics} }`))
  assert.ok(deployed('prometheus.yml').includes(`store-1:${metrics}`))
})

test('deploy - the systemd unit is valid, and names options that exist', {
  skip: spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd is not installed',
}, t => {
  const folder = createFolder('unit')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'animal-adoption-store.service')
  const unit = deployed('animal-adoption-store.service')
  writeFileSync(file, unit)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  const [, start = ''] = /^ExecStart=\/usr\/bin\/env animal-adoption-store (.*)$/m.exec(unit) ?? []
  const help = execFileSync(process.execPath, [MAIN, 'serve', '--help'], { encoding: 'utf8' })
  const flags = start.split(' ').filter(word => word.startsWith('--'))
  assert.ok(flags.length > 4)
  for (const flag of flags) assert.match(help, new RegExp(`${flag}[ [=]`))
})

/**
 * Types the lines of the page, except the one for docker, in a copy of the checkout that belongs to the
 * unprivileged user.
 *
 * @returns the key that was printed
 */
function typePage(above: string): string {
  const page = readFileSync(new URL('adapters/stores/postgres/README.md', ROOT_URL), 'utf8')
  const [, block = ''] = /```text deploy\n(.*?)```/s.exec(page) ?? []
  const [docker, ...lines] = block.trimEnd().split('\n').reverse()
  assert.equal(docker, 'docker compose --project-directory ../deploy up --build')
  const checkout = join(above, 'checkout')
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  for (const file of tracked.split('\0').filter(Boolean)) {
    cpSync(join(ROOT, file), join(checkout, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const { uid, gid } = unprivileged()
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, checkout])
  const printed = execFileSync('sh', ['-e'], {
    ...unprivileged(),
    cwd: checkout,
    env: { PATH: process.env['PATH'], HOME: above },
    input: lines.reverse().join('\n'),
    encoding: 'utf8',
    stdio: 'pipe',
  })
  // A UUID can stand in a URL as it is.
  assert.match(
    readFileSync(join(above, 'deploy/.env'), 'utf8'),
    /^POSTGRES_PASSWORD=[0-9a-f-]{36}\nSTORE_USER=\d+:\d+\n$/,
  )
  return printed.trimEnd().split('\n').at(-1) as string
}

async function assertError(response: Response, status: number, code: string): Promise<void> {
  assert.equal(response.headers.get('content-type'), 'application/json')
  const body = (await response.json()) as Record<string, unknown>
  assert.deepEqual([response.status, body['code'], body['status']], [status, code, status])
  assert.deepEqual(Object.keys(body), ['code', 'message', 'status'])
}
