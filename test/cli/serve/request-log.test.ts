import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha256 } from '../../../adapters/cli/seed-and-keys-files.js'
import { watchHealth } from '../../../adapters/cli/serve/health.js'

import { createNotes, withRequestLog } from '../../../adapters/cli/serve/request-log.js'
import { memoryStorage } from '../../../adapters/stores/memory.js'
import { createTestDouble } from '../../../adapters/test-double/index.js'
import { redactorOf } from '../../../adapters/verdict/log/redact.js'
import { createStore } from '../../../src/index.js'
import { blocksOf } from '../../support/pages.js'

const API_KEYS = {
  'demo-free': { id: 'demo-free', plan: 'free' },
  s3cret: {
    id: 'small',
    plan: 'enterprise',
    limits: { perMinute: 1, perDay: 9, banAfterRejections: 1 },
  },
} as const

test('request log - pretty lines are aligned and describe the outcome', async () => {
  const { get, lines, double } = logged('pretty')
  await get('/v1/pets', 'demo-free', 'limit=1')
  await get('/v1/pets/999', 'demo-free')
  await get('/v1/pets', 's3cret')
  await get('/v1/pets', 's3cret')
  await get('/v1/pets', 's3cret')
  await get('/v1/pets')
  // The commonest mistake: a base URL without `/v1`.
  await get('/pets', 'demo-free')
  await get('/v1/pet', 'demo-free')
  double.faults.arm({ kind: 'reset' })
  await get('/v1/pets', 'demo-free')
  assert.deepEqual(lines(), [
    '12:01:07  GET   /v1/pets?limit=1                200  demo-free            59/60  # ms',
    '12:01:07  GET   /v1/pets/999                    404  demo-free            58/60  # ms',
    '12:01:07  GET   /v1/pets                        200  small                  0/1  # ms',
    '12:01:07  GET   /v1/pets                        429  small                  0/1  retry in 53 s  # ms',
    '12:01:07  GET   /v1/pets                        429  small                  0/1  banned for 5 minutes  # ms',
    '12:01:07  GET   /v1/pets                        401  -                    59/60  # ms',
    '12:01:07  GET   /pets                           404  -                           outside /v1  # ms',
    '12:01:07  GET   /v1/pet                         404  demo-free            57/60  # ms',
    '12:01:07  GET   /v1/pets                        200  demo-free            56/60  response lost  # ms',
  ])
})

test('request log - the page shows lines as they are written', async () => {
  const [pretty = ''] = blocksOf('adapters/cli/README.md', 'text')
  const [json = ''] = blocksOf('adapters/cli/README.md', 'json')
  for (const [format, shown] of [
    ['pretty', pretty],
    ['json', json],
  ] as const) {
    const { get, lines, double } = logged(format)
    for (let count = 0; count < 92; count++) {
      await get('/v1/pets', 'demo-free', count === 0 || count === 61 ? 'limit=1' : '')
    }
    double.faults.arm({ kind: 'hang' })
    await get('/v1/pets')
    const written = new Set(lines())
    for (const line of shown.trim().split('\n')) {
      assert.ok(written.has(withoutDuration(line)), line)
    }
  }
})

test('request log - a failing storage is a record', async () => {
  const lines: string[] = []
  const clock = () => Date.parse('2030-01-01T12:01:07Z')
  const insert = async () => {
    throw new Error('permission denied for table pets')
  }
  const store = createStore({ storage: { ...memoryStorage(), insert }, apiKeys: {} })
  const write = (line: string) => lines.push(line)
  const notes = createNotes({ asJson: true, clock, write })
  watchHealth({ events: store.events, ping: undefined }, notes)
  await assert.rejects(store.createPet({ name: 'Rex', categoryId: 1 }), { status: 503 })
  const message = 'store: createPet failed: permission denied for table pets'
  const time = '2030-01-01T12:01:07.000Z'
  assert.deepEqual(lines, [JSON.stringify({ level: 50, time, event: 'storage.failed', message })])
})

test('request log - json shows no keys', async () => {
  const { get, lines } = logged('json')
  await get('/v1/pets/s3cret', 's3cret', 'limit=1&s=%733cret&key=demo-free')
  const { path, query, keyId } = JSON.parse(lines()[0] ?? '')
  assert.deepEqual(
    [path, query, keyId],
    ['/v1/pets/REDACTED', 'limit=1&s=REDACTED&key=REDACTED', 'small'],
  )
})

test('request log - json names the trace and the request, as they were sent, and no response repeats them', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const parent = `00-${trace}-00f067aa0ba902b7-01`
  const { get, lines } = logged('json')
  const idsOf = async (headers: Readonly<Record<string, string>>) => {
    const response = await get('/v1/pets', 'demo-free', '', headers)
    assert.doesNotMatch(JSON.stringify(response), /4bf92f|request-id/i)
    const { traceId, requestId } = JSON.parse(lines().at(-1) ?? '')
    return [traceId, requestId]
  }
  const both = { traceparent: parent, 'x-request-id': '7f/3a==' }
  assert.deepEqual(await idsOf(both), [trace, '7f/3a=='])
  // A later version of the header may add to it.
  assert.deepEqual(await idsOf({ traceparent: `01${parent.slice(2)}-x` }), [trace, null])
  for (const wrong of [
    `ff${parent.slice(2)}`,
    parent.toUpperCase(),
    parent.replace(trace, '0'.repeat(32)),
    parent.replace('00f067aa0ba902b7', '0'.repeat(16)),
    `${parent}, ${parent}`,
    `${parent}-x`,
  ]) {
    assert.deepEqual(await idsOf({ traceparent: wrong }), [null, null], wrong)
  }
  assert.deepEqual(await idsOf({ 'x-request-id': 's3cret' }), [null, 'REDACTED'])
  for (const wrong of ['a b', 'ü', 'x'.repeat(129)]) {
    assert.deepEqual(await idsOf({ 'x-request-id': wrong }), [null, null], wrong)
  }
})

test('request log - a key known by its digest is not logged where it stands alone', async () => {
  const digest = `sha256:${sha256('Xk3-pQ_9')}`
  const written: string[] = []
  const double = createTestDouble()
  const handler = withRequestLog(double, {
    format: 'json',
    clock: double.clock,
    keys: () => ({ [digest]: {} }),
    sha256,
    colors: false,
    write: line => written.push(line),
  })
  const query =
    'api_key=Xk3-pQ_9&a=%58k3-pQ_9&b=Xk3-pQ_90&c=Bearer%20Xk3-pQ_9&d=Bearer+Xk3-pQ_9&e=%22Xk3-pQ_9%22'
  await handler.handle({ method: 'GET', path: '/v1/pets/Xk3-pQ_9', query, headers: {} })
  const { path, query: shown } = JSON.parse(written[0] ?? '')
  assert.equal(path, '/v1/pets/REDACTED')
  assert.equal(shown, 'api_key=REDACTED&a=REDACTED&b=Xk3-pQ_90&c=REDACTED&d=REDACTED&e=REDACTED')
  // A long URL is not worth hashing in full.
  let hashed = 0
  const digestOf = (text: string) => {
    hashed++
    return sha256(text)
  }
  const redact = redactorOf(
    { request: { method: '', path: '', query: '', headers: {} }, keys: [digest], sha256: digestOf },
    'words',
  )
  assert.equal(redact('limit=1&status=sold'), 'limit=1&status=sold')
  assert.equal(hashed, 4)
  redact('&a=1'.repeat(1_000))
  assert.equal(hashed, 100)
})

test('request log - only terminals get colors', async () => {
  const { get, lines } = logged('pretty', true)
  await get('/v1/pets', 'demo-free')
  await get('/v1/pets')
  const [ok, unauthorized] = lines()
  assert.match(ok ?? '', /\x1b\[32m200\x1b\[0m/)
  assert.match(unauthorized ?? '', /\x1b\[36m401\x1b\[0m/)
})

function logged(
  format: 'pretty' | 'json',
  colors = false,
  rateLimiting: boolean | 'shadow' = true,
) {
  const clock = '2030-01-01T12:01:07Z'
  const double = createTestDouble({ apiKeys: API_KEYS, time: clock, rateLimiting })
  const written: string[] = []
  const handler = withRequestLog(double, {
    format,
    clock: double.clock,
    keys: () => Object.keys(API_KEYS),
    colors,
    write: line => written.push(line),
  })
  return {
    double,
    lines: () => written.map(withoutDuration),
    async get(path: string, key?: string, query = '', others = {}) {
      const headers = { ...others, ...(key !== undefined && { authorization: `Bearer ${key}` }) }
      return handler.handle({ method: 'GET', path, query, headers })
    },
  }
}

/** A line with its duration as `#`. */
function withoutDuration(line: string): string {
  return line.replace(/[\d.]+( ms)/, '#$1').replace(/("durationMs":)[\d.]+/, '$1"#"')
}
