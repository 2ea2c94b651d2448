import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent as HttpAgent, get as httpGet } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { Agent, fetch as undiciFetch } from 'undici'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
import { FREE, list } from '../test-double/requests.js'

/** @param reject has the next request rejected */
type SocketClient = (url: string, reject: () => void) => Promise<void>

test('verdict - over sockets: a client with one connection, and one with a new one each time', async () => {
  for (const headers of [{}, { connection: 'close' }]) {
    await using double = createTestDouble()
    const { url } = await double.listen()
    for (let count = 0; count < 66; count++) await get(url, headers)
    assert.deepEqual(rules(double), ['retry-after.early'], JSON.stringify(headers))
  }
})

test('verdict - over sockets: one early retry on one connection is certain', async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  double.faults.arm({ kind: 'status', status: 429, retryAfter: 3 })
  await getWith(agent, url)
  double.clock.advance('1200ms')
  await getWith(agent, url)
  agent.destroy()
  assert.deepEqual(rules(double), ['retry-after.early'])
})

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
      double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
      await both()
      const { findings, notes } = double.report()
      assert.deepEqual([findings, notes], [[], []], JSON.stringify([headers, warm]))
    }
  }
})

test('verdict - over sockets: nor are ten pipelined requests, followed by a pause', async () => {
  await using double = createTestDouble()
  const { port } = await double.listen()
  await exhaust(double)
  const socket = connect(port, '127.0.0.1')
  const request = 'GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer demo-free\r\n\r\n'
  let received = ''
  socket.on('data', chunk => {
    received += chunk
  })
  const answers = (count: number) => received.split('HTTP/1.1 ').length > count
  socket.write(request.repeat(10))
  while (!answers(10)) await once(socket, 'data')
  double.clock.advance('1m')
  socket.write(request)
  while (!answers(11)) await once(socket, 'data')
  socket.destroy()
  assert.equal(double.requests({ status: 429 }).length, 10)
  const { findings, notes } = double.report()
  assert.deepEqual([findings, notes], [[], []])
})

test('verdict - over sockets: nor are requests that waited for one of a few connections', async () => {
  for (const connections of [3, 6]) {
    for (let repetition = 0; repetition < 5; repetition++) {
      await using double = createTestDouble()
      const { url } = await double.listen()
      const dispatcher = new Agent({ connections })
      await exhaust(double)
      const send = async () =>
        (await undiciFetch(`${url}/pets`, { headers: FREE, dispatcher })).text()
      await Promise.all(Array.from({ length: 18 }, send))
      await dispatcher.close()
      assert.equal(double.requests({ status: 429 }).length, 18)
      assert.deepEqual(rules(double), [], `${connections} connections`)
    }
  }
})

test('verdict - over sockets: immediate retries that take turns on four connections are a note: a queue looks the same', async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 4, scheduling: 'fifo' })
  await Promise.all(Array.from({ length: 4 }, () => getWith(agent, url)))
  await exhaust(double)
  for (let count = 0; count < 16; count++) await getWith(agent, url)
  agent.destroy()
  const connections = new Set(double.requests({ status: 429 }).map(({ connection }) => connection))
  assert.equal(connections.size, 4)
  assert.deepEqual(rules(double), [])
  const noted = double.report().notes.map(({ rule }) => rule)
  assert.deepEqual(noted, ['retry-after.early'])
})

test('verdict - over sockets: processes with a connection each that wait', async () => {
  await using double = createTestDouble()
  const { url } = await double.listen()
  const processes = Array.from({ length: 5 }, () => new Agent({ connections: 1 }))
  const send = async (dispatcher: Agent) =>
    (await undiciFetch(`${url}/pets`, { headers: FREE, dispatcher })).text()
  for (let minute = 0; minute < 3; minute++) {
    await exhaust(double)
    for (const process of processes) await send(process)
    double.clock.advance('1m')
    for (const process of processes) await send(process)
  }
  await Promise.all(processes.map(process => process.close()))
  assert.equal(double.requests({ status: 429 }).length, 15)
  assert.deepEqual(rules(double), [])
})

async function get(url: string, headers: Record<string, string> = {}): Promise<void> {
  await (await fetch(`${url}/pets`, { headers: { ...FREE, ...headers } })).text()
}

async function getWith(agent: HttpAgent, url: string): Promise<void> {
  const [response] = await once(httpGet(`${url}/pets`, { agent, headers: FREE }), 'response')
  response.resume()
  await once(response, 'close')
}

async function exhaust(double: TestDouble): Promise<void> {
  while ((await list(double)).headers.get('x-ratelimit-remaining') !== '0');
}

function rules(double: TestDouble): readonly string[] {
  return double.report().findings.map(({ rule }) => rule)
}
