import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createMetrics } from '../../adapters/cli/metrics.js'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'

test('loopback - without trusted proxies, every proxied request comes from a stranger', async t => {
  const status = await served(t, 0)
  for (const [headers, expected] of [
    [{}, 200],
    [{ 'X-Forwarded-For': '127.0.0.1' }, 403],
    [{ 'X-Forwarded-Proto': 'https' }, 403],
    [{ 'X-Forwarded-Host': 'localhost' }, 403],
    [{ Forwarded: 'for=127.0.0.1' }, 403],
    [{ 'X-Real-IP': '127.0.0.1' }, 403],
  ] as const) {
    assert.equal(await status(headers), expected, JSON.stringify(headers))
  }
  assert.equal(await status({}, '1.0'), 403)
})

test('loopback - behind trusted proxies, an address that they do not report is a stranger', async t => {
  const status = await served(t, 1)
  for (const [address, expected] of [
    ['127.0.0.1', 200],
    ['::1', 200],
    ['::ffff:127.0.0.1', 200],
    ['127.0.0.1, 192.0.2.1', 403],
    ['192.0.2.1', 403],
    ['::ffff:192.0.2.1', 403],
    ['::2', 403],
    ['unknown', 403],
    ['', 403],
  ] as const) {
    const found = await status({ 'X-Forwarded-For': address })
    assert.equal(found, expected, address)
  }
  assert.equal(await status({}), 403)
})

/** Asks for the metrics, and returns the status. */
async function served(t: TestContext, proxyHops: number) {
  const store = createStore({ storage: memoryStorage(), apiKeys: {} })
  const metrics = createMetrics()
  const handler = metrics.beside(store)
  const { port, close } = await listen(handler, { port: 0, proxyHops })
  t.after(close)
  t.after(metrics.stop)
  return async (headers: Readonly<Record<string, string>>, version = '1.1') => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const given = Object.entries({ Host: `127.0.0.1:${port}`, ...headers, Connection: 'close' })
    const lines = given.map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /metrics HTTP/${version}\r\n${lines.join('')}\r\n`)
    return Number((await text(socket)).slice(9, 12))
  }
}
