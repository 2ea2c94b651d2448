import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import {
  type HttpServer,
  type ListenOptions,
  listen,
  toNodeHandler,
} from '../../adapters/http/index.js'
import { openStore } from '../support/demo-store.js'
import { openSocket } from './raw-socket.js'

test('listen - `url` has the real port and the base path, and can be opened, also of all addresses', async t => {
  for (const host of [undefined, '0.0.0.0', '0', '::', '::0']) {
    let server: HttpServer
    try {
      server = await listen(openStore(), { port: 0, host })
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAFNOSUPPORT')
      t.diagnostic(`${host} is not supported here`)
      continue
    }
    const address = host?.includes(':') ? '[::1]' : '127.0.0.1'
    assert.ok(server.port > 0)
    assert.equal(server.url, `http://${address}:${server.port}/v1`)
    assert.equal((await fetch(`${server.url}/pets`)).status, 401)
    await server.close()
  }
})

test('listen - an invalid option is named', async () => {
  for (const [option, value] of [
    ['port', -1],
    ['port', '80'],
    ['host', ''],
    ['proxyHops', true],
    ['requestTimeout', 0],
    ['keepAliveTimeout', 2 ** 31],
    ['prot', 1],
  ] as const) {
    const listening = listen(openStore(), { [option]: value } as ListenOptions)
    await assert.rejects(listening, { name: 'OptionError', option })
  }
})

test('listen - a handler without `handle` is refused before a port is open', async () => {
  const message = /^Expected `handler` to be an object with the methods handle, got /
  for (const handler of [undefined, {}, Promise.resolve(openStore())]) {
    await assert.rejects(listen(handler as never, { port: 0 }), { name: 'OptionError', message })
    assert.throws(() => toFetchHandler(handler as never), { name: 'OptionError', message })
    assert.throws(() => toNodeHandler(handler as never), { name: 'OptionError', message })
  }
})

test('listen - rejects if the port is in use', async () => {
  await using server = await listen(openStore(), { port: 0 })
  await assert.rejects(listen(openStore(), { port: server.port }), { code: 'EADDRINUSE' })
})

test('listen - requests of one turn are each handled in their own async context', async () => {
  const store = openStore()
  const current = new AsyncLocalStorage<string | undefined>()
  const enter = (message: unknown) =>
    current.enterWith((message as { request: IncomingMessage }).request.url)
  const handled: { path: string; context: string | undefined }[] = []
  const handle: typeof store.handle = request => {
    handled.push({ path: request.path, context: current.getStore() })
    return store.handle(request)
  }
  await using server = await listen({ ...store, handle }, { port: 0 })
  const clients = [await openSocket(server.port), await openSocket(server.port)]
  subscribe('http.server.request.start', enter)
  for (const [index, client] of clients.entries()) {
    client.write(`GET /v1/pets/${index + 1} HTTP/1.1\r\nHost: a\r\n\r\n`)
  }
  await Promise.all(clients.map(client => client.until('}')))
  unsubscribe('http.server.request.start', enter)
  assert.deepEqual(handled, [
    { path: '/v1/pets/1', context: '/v1/pets/1' },
    { path: '/v1/pets/2', context: '/v1/pets/2' },
  ])
  for (const { socket } of clients) socket.destroy()
})
