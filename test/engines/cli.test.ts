import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import { runCommand, runInThread } from '../support/command.js'
import { MAIN } from '../support/paths.js'
import { type Served, served } from '../support/served.js'
import { until } from '../support/waiting.js'
import {
  createCertificate,
  createDatabase,
  createFolder,
  type Engine,
  freePort,
  PATIENT,
  startPostgres,
  startRedis,
  withoutBoth,
  withoutOpenSsl,
  withoutPostgres,
  withoutRedis,
} from './engines.js'

const FREE = { authorization: 'Bearer demo-free' }
const ENTERPRISE = { authorization: 'Bearer demo-enterprise' }
const ADA = {
  method: 'POST',
  headers: { ...FREE, 'content-type': 'application/json' },
  body: '{"name":"Ada","categoryId":1}',
}
const postgres = withoutPostgres ? undefined : await startPostgres()
const redis = withoutRedis ? undefined : await startRedis()
after(async () => {
  await postgres?.stop()
  await redis?.stop()
})

test('cli - two servers share the animals and the quota', { skip: withoutBoth }, async t => {
  const url = await database('shared')
  const secret = url.replace('adoption@', 'adoption:s3cret@')
  const words = ['--store', patient(secret), '--rate-limit-store', (redis as Engine).url]
  const one = await served(t, words)
  const two = await served(t, words)
  const { port } = postgres as Engine
  assert.equal(one.ready.store, `postgres://127.0.0.1:${port}/shared`)
  assert.equal(one.ready.rateLimitStore, (redis as Engine).url)
  assert.deepEqual([one.ready.animals, two.ready.animals], [41, 41])

  const created = await fetch(`${one.ready.baseUrl}/pets`, ADA)
  assert.equal(created.status, 201)
  const found = await fetch(`${two.ready.baseUrl}/pets/42`, { headers: FREE })
  assert.equal(found.status, 200)
  const remaining = async ({ ready }: Served) => {
    const { headers } = await fetch(`${ready.baseUrl}/pets`, { headers: ENTERPRISE })
    return Number(headers.get('x-ratelimit-remaining'))
  }
  // Again where a minute ends in between, or a busy Redis takes too long for one of the two.
  await until(async () => {
    for (const { ready } of [one, two]) {
      await until(() => isCounted(ready))
    }
    return (await remaining(one)) - (await remaining(two)) === 1
  })
  assert.doesNotMatch((await stopped(one)) + (await stopped(two)), /s3cret/)
})

test('cli - check and copy take no mistyped schema for an empty store, and create none', {
  skip: withoutPostgres,
}, async () => {
  const url = await database('mistyped')
  const typo = `${url}?schema=typo`
  for (const words of [
    ['check', typo],
    ['copy', typo, 'never.json'],
  ]) {
    const { code, stderr } = await runInThread(words)
    assert.equal(code, 1)
    assert.match(stderr, /mistyped: no store in the schema "typo"; correct its name/)
  }
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query("SELECT FROM pg_namespace WHERE nspname = 'typo'")
  await client.end()
  assert.equal(rows.length, 0)
})

test('cli - the URLs may come from variables, and the banner shows no password', {
  skip: withoutBoth,
}, async () => {
  const url = (await database('variables')).replace('adoption@', 'adoption:s3cret@')
  const env = { DATABASE_URL: url, REDIS_URL: (redis as Engine).url.replace('redis:', 'valkey:') }
  const words = [
    '--store',
    patient('postgres:'),
    '--rate-limit-store',
    'redis:',
    '--empty',
    '--port',
    '0',
  ]
  const child = spawn(process.execPath, [MAIN, ...words], { env: { ...process.env, ...env } })
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.includes('Ctrl+C')) break
  }
  child.kill('SIGTERM')
  assert.match(output, /Animals +0,/)
  assert.match(output, /Storage +postgres:\/\/127\.0\.0\.1:\d+\/variables\n/)
  assert.match(output, /Limits +valkey:\/\/127\.0\.0\.1:\d+\n/)
  assert.doesNotMatch(output, /s3cret/)
})

test('cli - /readyz reports whether the engines respond, /healthz whether the process does', {
  skip: withoutBoth,
}, async t => {
  await using animals = await startPostgres()
  await using counters = await startRedis()
  const server = await served(t, [
    '--store',
    `${animals.url}?timeout=20s`,
    '--rate-limit-store',
    counters.url,
  ])
  const { origin, baseUrl } = server.ready
  // A busy machine may be too late at first.
  const reports = (expected: object) =>
    until(async () => isDeepStrictEqual(await readiness(server.ready), expected))
  await reports({ code: 200, status: 'ok', store: 'ok', rateLimitStore: 'ok' })

  await counters.signal('SIGKILL')
  assert.equal((await fetch(`${baseUrl}/pets`, { headers: FREE })).status, 200)
  await reports({ code: 200, status: 'ok', store: 'ok', rateLimitStore: 'degraded' })
  await animals.signal('SIGKILL')
  await reports({
    code: 503,
    status: 'unavailable',
    store: 'unavailable',
    rateLimitStore: 'degraded',
  })
  const refused = await fetch(`${baseUrl}/pets`, ADA)
  assert.equal(refused.status, 503)
  assert.equal(((await refused.json()) as { code: string }).code, 'storage_unavailable')
  assert.equal((await fetch(`${origin}/healthz`)).status, 200)

  await animals.restart()
  await counters.restart()
  await until(async () => (await readiness(server.ready))['code'] === 200)
  assert.equal((await fetch(`${baseUrl}/pets`, ADA)).status, 201)
  const log = await stopped(server)
  assert.match(log, /^animal-adoption-store: store: /m)
  assert.match(log, /^animal-adoption-store: limits: redis:/m)
})

test('cli - a revoked right is said on stderr, in the log and in the metrics, without secrets', {
  skip: withoutPostgres,
}, async t => {
  const url = await database('revoked')
  const admin = new pg.Client(url)
  await admin.connect()
  t.after(() => admin.end())
  await using storage = postgresStorage({ url, ...PATIENT })
  await storage.ready()
  await admin.query(`CREATE ROLE clerk LOGIN PASSWORD 'hunter2'`)
  await admin.query('GRANT USAGE ON SCHEMA adoption_store TO clerk')
  await admin.query('GRANT ALL ON ALL TABLES IN SCHEMA adoption_store TO clerk')
  const own = url.replace('//adoption@', '//clerk:hunter2@')
  const server = await served(t, [
    '--store',
    `${own}?timeout=60s`,
    '--metrics=127.0.0.1:0',
    '--log',
    'json',
  ])
  await admin.query('REVOKE INSERT ON adoption_store.pets FROM clerk')
  for (let n = 0; n < 3; n++) {
    assert.equal((await fetch(`${server.ready.baseUrl}/pets`, ADA)).status, 503)
  }
  // A failure drops its connection; a list opens one again.
  assert.equal((await fetch(`${server.ready.baseUrl}/pets`, { headers: FREE })).status, 200)
  const metrics = await (await fetch(server.ready.metrics)).text()
  assert.match(metrics, /^adoption_store_storage_failures_total\{operation="createPet"\} 3$/m)
  assert.match(metrics, /^db_client_connection_count\{[^}]*state="idle"[^}]*\} [1-9]/m)
  const log = await stopped(server)
  const records = log
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  const messages = records
    .filter(({ event }) => event === 'storage.failed')
    .map(({ message }) => message)
  assert.deepEqual(messages, ['store: createPet failed: permission denied for table pets'])
  assert.doesNotMatch(log, /hunter2/)
})

test('cli - a Redis that is unreachable at startup is reported, and counts once it is back', {
  skip: withoutRedis,
}, async t => {
  await using counters = await startRedis()
  await counters.signal('SIGKILL')
  const server = await served(t, ['--rate-limit-store', `${counters.url}?timeout=20s`])
  assert.equal((await readiness(server.ready))['rateLimitStore'], 'degraded')
  assert.equal((await fetch(`${server.ready.baseUrl}/pets`, { headers: FREE })).status, 200)
  await counters.restart()
  await until(() => isCounted(server.ready))
  assert.match(
    await stopped(server),
    /limits: redis:.* nothing listens there.*; this process counts by itself until the server answers/,
  )
})

test('cli - --rate-limit-store takes a timeout, also in the variable and beside it', {
  skip: withoutRedis,
}, async t => {
  await using counters = await startRedis()
  for (const [limits, variable, shown] of [
    [`${counters.url}?timeout=300ms`, '', 300],
    ['redis:?timeout=300ms', `${counters.url}?timeout=20ms`, 300],
    ['redis:', `${counters.url}?timeout=300ms`, 300],
    [counters.url, '', 150],
  ] as const) {
    process.env['REDIS_URL'] = variable
    const server = await served(t, ['--rate-limit-store', limits])
    delete process.env['REDIS_URL']
    assert.equal(server.ready.rateLimitStore, counters.url)
    await until(() => isCounted(server.ready))
    await counters.signal('SIGSTOP')
    assert.equal((await fetch(`${server.ready.baseUrl}/pets`, { headers: FREE })).status, 200)
    await counters.signal('SIGCONT')
    assert.match(await stopped(server), new RegExp(`did not answer within ${shown} ms`))
  }
})

test('cli - --rate-limit-store takes the certificate of a private authority', {
  skip: withoutRedis || withoutOpenSsl,
}, async t => {
  const path = createFolder('tls')
  t.after(() => rm(path, { recursive: true }))
  const [key, certificate] = [join(path, 'key.pem'), join(path, 'certificate.pem')]
  createCertificate(key, certificate)
  // The server runs as another user.
  await chmod(key, 0o755)
  const port = await freePort()
  await using _ = await startRedis(
    ...['--port 0', `--tls-port ${port}`, '--tls-auth-clients no'],
    ...[`--tls-key-file ${key}`, `--tls-cert-file ${certificate}`],
  )
  const url = `rediss://127.0.0.1:${port}`
  const refused = await runCommand(['--rate-limit-store', url, '--port', '0'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /its certificate is not trusted; pass the CA .* as \?ca=<file>/)
  const valkey = url.replace('rediss', 'valkeys')
  const server = await served(t, [
    '--rate-limit-store',
    `${valkey}?ca=${certificate}`,
    '--require-rate-limit-store',
  ])
  assert.equal(server.ready.rateLimitStore, valkey)
  assert.equal((await fetch(`${server.ready.baseUrl}/pets`, { headers: FREE })).status, 200)
  assert.doesNotMatch(await stopped(server), /degraded|limits:/)
})

async function readiness({ origin }: { origin: string }): Promise<Record<string, unknown>> {
  const answer = await fetch(`${origin}/readyz`)
  return { code: answer.status, ...((await answer.json()) as object) }
}

async function isCounted(ready: { origin: string; baseUrl: string }): Promise<boolean> {
  await fetch(`${ready.baseUrl}/pets`, { headers: FREE })
  return (await readiness(ready))['rateLimitStore'] === 'ok'
}

async function stopped(server: Served): Promise<string> {
  const { code, log } = await server.stop()
  assert.equal(code, 0)
  return log
}

/** With a time limit that a busy machine keeps. */
function patient(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}timeout=60s`
}

function database(name: string): Promise<string> {
  return createDatabase(postgres as Engine, name)
}
