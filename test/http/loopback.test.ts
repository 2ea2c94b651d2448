import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createMetrics } from '../../adapters/cli/metrics.js'
import { withConsole } from '../../adapters/console/index.js'
import { listen } from '../../adapters/http/index.js'
import { createTestDouble } from '../../adapters/test-double/index.js'

const PATHS = ['/_console/info', '/_control/clock', '/metrics']

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
    assert.deepEqual(await status(headers), [expected, expected, expected], JSON.stringify(headers))
  }
  assert.deepEqual(await status({}, '1.0'), [403, 403, 403])
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
    assert.deepEqual(found, [expected, expected, expected], address)
  }
  assert.deepEqual(await status({}), [403, 403, 403])
})

/** Asks for each path, and returns the statuses. */
async function served(t: TestContext, proxyHops: number) {
  const double = createTestDouble({ control: true }).handler
  const metrics = createMetrics()
  const handler = metrics.beside(withConsole(double))
  const { port, close } = await listen(handler, { port: 0, proxyHops })
  t.after(close)
  t.after(metrics.stop)
  const ask = async (path: string, headers: Readonly<Record<string, string>>, version: string) => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const given = Object.entries({ Host: `127.0.0.1:${port}`, ...headers, Connection: 'close' })
    const lines = given.map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/${version}\r\n${lines.join('')}\r\n`)
    return Number((await text(socket)).slice(9, 12))
  }
  return (headers: Readonly<Record<string, string>>, version = '1.1') =>
    Promise.all(PATHS.map(path => ask(path, headers, version)))
}
