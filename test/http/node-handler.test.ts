import assert from 'node:assert/strict'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { toNodeHandler } from '../../adapters/http/index.js'
import { withConsole } from '../../adapters/pages/console/index.js'
import { withDocs } from '../../adapters/pages/openapi/docs.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createStore } from '../../src/index.js'
import { serveHttp } from '../support/http-server.js'

const KEY = { authorization: 'Bearer demo', 'content-type': 'application/json' }

test('toNodeHandler - serves a store on a server of the app, Error bodies included', async t => {
  const app = await serveHttp(t, toNodeHandler(open()))
  const pets = `${app.origin}/v1/pets`
  const created = await send(pets, { method: 'POST', body: '{"name":"Rex","categoryId":1}' })
  assert.deepEqual([created.status, created.location], [201, 'pets/1'])
  const large = await send(pets, { method: 'POST', body: 'x'.repeat(2_000_000) })
  assert.deepEqual([large.status, large.body.code], [413, 'payload_too_large'])
  assert.deepEqual((await send(pets)).body, [created.body])
})

test('toNodeHandler - works where the framework strips a part of the path from the URL', async t => {
  // NestJS strips all that it matches, also of the API.
  for (const [stripped, path] of [
    ['/store', '/store/v1/pets'],
    ['/v1/pets', '/v1/pets'],
  ] as const) {
    const handler = toNodeHandler(open({ pagination: true }))
    const app = await serveHttp(t, (message, response) => {
      const originalUrl = message.url ?? ''
      const url = originalUrl.slice(stripped.length).replace(/^(?!\/)/, '/')
      handler(Object.assign(message, { originalUrl, url }), response)
    })
    const pets = app.origin + path
    for (const name of ['Rex', 'Tom']) {
      const body = JSON.stringify({ name, categoryId: 1 })
      const { location } = await send(pets, { method: 'POST', body })
      assert.equal((await send(new URL(`${location}`, pets).href)).body.name, name)
    }
    const { link } = await send(`${pets}?limit=1`)
    assert.equal(link, '<pets?limit=1&after=1>; rel="next"')
    const { link: successor } = await send(`${pets}/1`)
    assert.equal(successor, '<../pets>; rel="successor-version"')
  }
})

test('toNodeHandler - passes on what it does not serve, and only that', async t => {
  const handler = toNodeHandler(withDocs(open()))
  const app = await serveHttp(t, (message, response) =>
    handler(message, response, () => response.writeHead(418).end('{"code":"next"}')),
  )
  for (const [path, status] of [
    ['/', 418],
    ['/v1x/pets', 418],
    ['/v1', 404],
    ['/v1/nope', 404],
    ['/openapi.json', 200],
  ] as const) {
    assert.equal((await send(app.origin + path)).status, status, path)
  }
  assert.equal((await fetch(app.origin, { method: 'HEAD' })).status, 418)
})

test('toNodeHandler - passes on a request with its body', async t => {
  const double = createTestDouble()
  t.after(double.close)
  for (const api of [open(), withConsole(open()), double.handler]) {
    const handler = toNodeHandler(api)
    const app = await serveHttp(t, async (message, response) => {
      // As after a middleware that looks up a session: by now, all of the body has arrived.
      while (!message.complete) await new Promise(setImmediate)
      handler(message, response, async () => {
        const body = await text(message)
        response.end(JSON.stringify({ length: body.length }))
      })
    })
    for (const length of [1, 10_000]) {
      const { body } = await send(`${app.origin}/orders`, {
        method: 'POST',
        body: 'x'.repeat(length),
        signal: AbortSignal.timeout(60_000),
      })
      assert.deepEqual(body, { length })
    }
    const pet = { method: 'POST', body: '{"name":"Rex","categoryId":1}' }
    assert.equal(
      (await send(`${app.origin}/v1/pets`, pet)).status,
      api === double.handler ? 401 : 201,
    )
  }
  assert.deepEqual(
    double.requests().map(({ path, requestBody }) => [path, requestBody]),
    [
      ['/orders', null],
      ['/orders', null],
      ['/v1/pets', '{"name":"Rex","categoryId":1}'],
    ],
  )
})

test('toNodeHandler - names the fix when a body parser has already run', async t => {
  const handler = toNodeHandler(open())
  const app = await serveHttp(t, async (message, response) => {
    message.resume()
    await once(message, 'end')
    handler(message, response)
  })
  const { status, body } = await send(`${app.origin}/v1/pets`, { method: 'POST', body: '{}' })
  const text = 'The body was already read; mount this handler before any body parser.'
  assert.deepEqual([status, body.message], [500, text])
})

test('toNodeHandler - the app that has read a body is warned once', async t => {
  const warnings = t.mock.method(process, 'emitWarning', () => {})
  const url = new URL('../../adapters/http/target-and-body.js?warned', import.meta.url).href
  const { bodyAlreadyRead } = await import(url)
  for (const _ of [1, 2]) assert.match(bodyAlreadyRead().message, /before any body parser/)
  assert.equal(warnings.mock.callCount(), 1)
})

test('toNodeHandler - errors of a broken handler reach the error handling of the app', async t => {
  const broken = () => {
    throw new Error('at once')
  }
  const handler = toNodeHandler({ ...open(), handle: broken })
  const app = await serveHttp(t, (message, response) =>
    handler(message, response, error => response.writeHead(500).end(JSON.stringify(`${error}`))),
  )
  assert.equal((await send(`${app.origin}/v1/pets`)).body, 'Error: at once')
})

test('toNodeHandler - an invalid option is named', () => {
  assert.throws(() => toNodeHandler(open(), { proxyHops: -1 }), /`proxyHops`.*got -1/)
})

function open(options: { pagination?: boolean } = {}) {
  const apiKeys = { demo: { id: 'demo', plan: 'business' } } as const
  return createStore({ storage: memoryStorage(), apiKeys, ...options })
}

async function send(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { headers: KEY, ...init })
  const { status, headers } = response
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are what the tests are about
  const body: any = await response.json()
  return { status, body, location: headers.get('location'), link: headers.get('link') }
}
