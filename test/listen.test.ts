import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ListenOptions, listen } from '../adapters/http/index.js'
import { memoryStorage } from '../adapters/memory.js'
import { createStore, OptionError } from '../src/index.js'
import { T0 } from './support/rate-limit-vectors.js'

test('listen - with port 0, `url` has the real port and the base path', async () => {
  await using server = await listen(open(), { port: 0 })
  assert.ok(server.port > 0)
  assert.equal(server.origin, `http://127.0.0.1:${server.port}`)
  assert.equal(server.url, `${server.origin}/v1`)
  const response = await fetch(`${server.url}/pets`)
  assert.equal(response.status, 401)
  await response.text()
})

test('listen - an invalid option is named with its value', async () => {
  for (const [options, message] of [
    [{ port: -1 }, 'Expected `port` to be an integer from 0 to 65535, got -1'],
    [{ port: '80' }, "Expected `port` to be an integer from 0 to 65535, got '80'"],
    [{ host: '' }, "Expected `host` to be a host name or an address, got ''"],
    [{ proxyHops: true }, 'Expected `proxyHops` to be an integer of at least 0, got true'],
    [{ requestTimeout: 0 }, 'Expected `requestTimeout` to be an integer of at least 1, got 0'],
  ] as const) {
    await assert.rejects(listen(open(), options as ListenOptions), { name: 'OptionError', message })
  }
  await assert.rejects(listen(open(), { prot: 1 } as ListenOptions), OptionError)
})

test('listen - rejects if the port is in use', async () => {
  await using server = await listen(open(), { port: 0 })
  await assert.rejects(listen(open(), { port: server.port }), { code: 'EADDRINUSE' })
})

function open() {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'business' } },
    clock: () => T0,
  })
}
