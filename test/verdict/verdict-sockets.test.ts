import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent as HttpAgent, get as httpGet } from 'node:http'
import { test } from 'node:test'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { until } from '../support/waiting.js'
import { FREE } from '../test-double/requests.js'

/** @param reject has the next request rejected */
type SocketClient = (url: string, reject: () => void) => Promise<void>

for (const [behaviour, client] of Object.entries<SocketClient>({
  'the global fetch': async (url, reject) => {
    reject()
    for (const _ of [1, 2]) await get(url)
  },
  'the global fetch, after other calls': async (url, reject) => {
    for (const _ of [1, 2, 3]) await get(url)
    reject()
    for (const _ of [1, 2]) await get(url)
  },
  'the global fetch, which leaves the rejection unread': async (url, reject) => {
    reject()
    for (const _ of [1, 2]) await fetch(`${url}/pets`, { headers: FREE })
  },
  'an agent with kept connections': async (url, reject) => {
    const agent = new HttpAgent({ keepAlive: true })
    reject()
    for (const _ of [1, 2]) await getWith(agent, url)
    agent.destroy()
  },
  'a connection each time': async (url, reject) => {
    reject()
    for (const _ of [1, 2]) await get(url, { connection: 'close' })
  },
})) {
  test(`verdict - over sockets: one immediate retry that succeeds is a finding, with ${behaviour}`, async () => {
    await using double = createTestDouble()
    const { url } = await double.listen()
    await client(url, () => double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 }))
    assert.deepEqual(rules(double), ['retry-after.early'])
  })
}

test('verdict - over sockets: requests in flight together of which one is rejected are no violation', async () => {
  for (const headers of [{}, { connection: 'close' }]) {
    for (const warm of [0, 3]) {
      await using double = createTestDouble()
      const { url } = await double.listen()
      const both = () => Promise.all([1, 2].map(() => get(url, headers)))
      for (let count = 0; count < warm; count++) await both()
      double.faults.arm({ kind: 'delay', duration: 1, times: 2 })
      double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
      const answers = both()
      await until(() => double.requests().length === 2 * warm + 2)
      double.clock.advance(1)
      await answers
      const { findings, notes } = double.report()
      assert.deepEqual([findings, notes], [[], []], JSON.stringify([headers, warm]))
    }
  }
})

test('verdict - over sockets: a client that really waits is polite on a frozen clock, and in no other way', async t => {
  let real = 0
  t.mock.method(performance, 'now', () => real)
  for (const [rejection, pauses, found] of [
    [{ status: 429, retryAfter: 3 }, [3], []],
    [{ status: 429, retryAfter: 3 }, [1, 1, 1], []],
    [{ status: 429, retryAfter: 3 }, [2.8], ['retry-after.early']],
    [{ status: 503, retryAfter: { date: 3 } }, [3], []],
    [{ status: 503, retryAfter: null, times: 4 }, [1, 2, 4, 8], []],
    [{ status: 503, retryAfter: null, times: 4 }, [1, 1, 1, 1], ['backoff.constant']],
  ] as const) {
    await using double = createTestDouble()
    const { url } = await double.listen()
    double.faults.arm({ kind: 'status', ...rejection })
    await get(url)
    for (const [at, pause] of pauses.entries()) {
      real += pause * 1_000
      const isOther = rejection.status === 429 && at < pauses.length - 1
      await get(url, {}, isOther ? 'pets?limit=1' : 'pets')
    }
    assert.deepEqual(rules(double), found, JSON.stringify([rejection, pauses]))
    const iso = double.report().findings[0]?.iso
    assert.equal(iso ?? '2030-01-01T00:00:00.000Z', '2030-01-01T00:00:00.000Z')
  }
  await using double = createTestDouble()
  double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
  await double.fetch('pets', { headers: FREE })
  real += 60_000
  await double.fetch('pets', { headers: FREE })
  assert.deepEqual(rules(double), ['retry-after.early'], 'in process')
})

test('verdict ban.risked - over sockets: rejections after a real wait on a frozen clock', async t => {
  let real = 0
  t.mock.method(performance, 'now', () => real)
  await using double = createTestDouble()
  const { url } = await double.listen()
  for (let count = 0; count < 60; count++) await get(url)
  for (let count = 0; count < 31; count++) {
    await get(url)
    real += 3_000
  }
  const [finding] = double.report().findings
  const until = '2030-01-01T00:05:00.000Z'
  assert.match(
    finding?.seen ?? '',
    new RegExp(`the 31 rejections of .* banned the key until ${until}`),
  )
})

async function get(
  url: string,
  headers: Record<string, string> = {},
  path = 'pets',
): Promise<void> {
  await (await fetch(`${url}/${path}`, { headers: { ...FREE, ...headers } })).text()
}

async function getWith(agent: HttpAgent, url: string): Promise<void> {
  const [response] = await once(httpGet(`${url}/pets`, { agent, headers: FREE }), 'response')
  response.resume()
  await once(response, 'close')
}

function rules(double: TestDouble): readonly string[] {
  return double.report().findings.map(({ rule }) => rule)
}

test('verdict - over sockets: requests that a pool had queued may take real time on a frozen clock', async t => {
  let real = 0
  t.mock.method(performance, 'now', () => {
    real += 150
    return real
  })
  await using double = createTestDouble()
  const { url } = await double.listen()
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 6 })
  for (let count = 0; count < 60; count++) await get(url)
  await Promise.all(Array.from({ length: 18 }, () => getWith(agent, url)))
  agent.destroy()
  assert.deepEqual(rules(double), [])
})
