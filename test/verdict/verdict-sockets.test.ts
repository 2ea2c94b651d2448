import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent as HttpAgent, get as httpGet } from 'node:http'
import { test } from 'node:test'
import { createTestDouble, type TestDouble } from '../../adapters/test-double/index.js'
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
      double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
      await both()
      const { findings, notes } = double.report()
      assert.deepEqual([findings, notes], [[], []], JSON.stringify([headers, warm]))
    }
  }
})

async function get(url: string, headers: Record<string, string> = {}): Promise<void> {
  await (await fetch(`${url}/pets`, { headers: { ...FREE, ...headers } })).text()
}

async function getWith(agent: HttpAgent, url: string): Promise<void> {
  const [response] = await once(httpGet(`${url}/pets`, { agent, headers: FREE }), 'response')
  response.resume()
  await once(response, 'close')
}

function rules(double: TestDouble): readonly string[] {
  return double.report().findings.map(({ rule }) => rule)
}
