import assert from 'node:assert/strict'
import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { judge } from '../../../adapters/verdict/judge/index.js'
import { serveHttp } from '../../support/http-server.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { gate } from '../../support/waiting.js'

const JSON_TYPE = { 'content-type': 'application/json' }

test('judge - what arrives at the server is what fetch alone would have sent', async t => {
  const arrived: unknown[] = []
  const { baseUrl, fetch } = await serve(t, async (request, response) => {
    const { method, url, rawHeaders } = request
    arrived.push([method, url, rawHeaders, await buffer(request)])
    response.end()
  })
  const form = new URLSearchParams({ a: 'b c' })
  const calls: (() => readonly [string | URL | Request, RequestInit?])[] = [
    () => [`${baseUrl}/pets?limit=1#part`],
    () => [new URL(`${baseUrl}/pets`), { headers: { 'X-One': '1' } }],
    () => [new Request(`${baseUrl}/pets`, { method: 'POST', body: '{"a":1}' })],
    () => [new Request(`${baseUrl}/pets`, { method: 'POST', body: '{}' }), { method: 'PUT' }],
    () => [new Request(`${baseUrl}/pets`, { method: 'POST', body: '{}' }), { body: form }],
    () => [`${baseUrl}/pets`, { method: 'post', body: form }],
    () => [`${baseUrl}/pets`, { method: 'POST', body: new Blob(['x'], { type: 'text/x' }) }],
    ...BODIES.map(bodyOf => () => {
      const init = { method: 'POST', body: bodyOf(), duplex: 'half' } as RequestInit
      return [`${baseUrl}/pets`, init] as const
    }),
    () => [`${baseUrl}/pets`, { method: 'patch' }],
    () => [`${baseUrl}/pets`, { method: 'DELETE' }],
  ]
  for (const call of calls) {
    await globalThis.fetch(...(call() as Parameters<typeof globalThis.fetch>))
    await fetch(...(call() as Parameters<typeof globalThis.fetch>))
    assert.deepEqual(arrived.at(-1), arrived.at(-2))
  }
})

const BYTES = Uint8Array.of(0, 0xff, 0x7b)
const BODIES: readonly (() => unknown)[] = [
  () => BYTES,
  () => BYTES.buffer,
  () => ReadableStream.from([BYTES, BYTES]),
  () => Readable.from([BYTES, BYTES]),
]

test('judge - a response keeps everything that fetch gave it', async t => {
  const { baseUrl, fetch } = await serve(t, (request, response) => {
    if (request.url === '/v1/moved') {
      response.writeHead(302, { location: '/v1/pets' }).end()
      return
    }
    response.writeHead(
      203,
      'As I Said',
      [
        ['Set-Cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ].flat(),
    )
    response.end('text')
  })
  const response = await fetch(`${baseUrl}/moved`)
  const direct = await globalThis.fetch(`${baseUrl}/moved`)
  for (const one of [response, response.clone()]) {
    assert.ok(one instanceof Response)
    for (const name of ['status', 'statusText', 'url', 'redirected', 'type', 'ok'] as const) {
      assert.equal(one[name], direct[name], name)
    }
    assert.deepEqual(one.headers.getSetCookie(), ['a=1', 'b=2'])
    assert.equal(await one.text(), 'text')
  }
  assert.equal(response.bodyUsed, true)
  const moved = await fetch(`${baseUrl}/moved`, { redirect: 'manual' })
  assert.deepEqual([moved.status, moved.headers.get('location')], [302, '/v1/pets'])
})

test('judge - a body can be read in every way, and without one there is none', async t => {
  const { baseUrl, fetch } = await serve(t, (request, response) => {
    if (request.url === '/v1/none') response.writeHead(204).end()
    else response.writeHead(200, JSON_TYPE).end('{"id":9223372036854775807}')
  })
  const get = () => fetch(`${baseUrl}/pets`)
  assert.equal(await (await get()).text(), '{"id":9223372036854775807}')
  assert.equal((await (await get()).blob()).size, 26)
  assert.deepEqual(await (await get()).json(), JSON.parse('{"id":9223372036854775807}'))
  const reader = (await get()).body?.getReader({ mode: 'byob' })
  const { value } = (await reader?.read(new Uint8Array(8))) ?? {}
  assert.equal(Buffer.from(value ?? []).toString(), '{"id":92')
  await reader?.cancel()
  assert.equal((await fetch(`${baseUrl}/none`)).body, null)
  assert.equal(await (await fetch(`${baseUrl}/pets`, { method: 'HEAD' })).text(), '')
})

test('judge - the first chunk arrives before the last is sent, and no faster than it is read', async t => {
  const first = gate()
  const { baseUrl, fetch } = await serve(t, async (_, response) => {
    response.writeHead(200, JSON_TYPE).write('[')
    await first.passed
    response.end(']')
  })
  const reader = (await fetch(`${baseUrl}/pets`)).body?.getReader()
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), '[')
  first.open()
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), ']')
  assert.equal((await reader?.read())?.done, true)
})

test('judge - a signal ends a call before and after its headers, and a canceled body its connection', async t => {
  let onArrival = () => {}
  const { baseUrl, fetch, report } = await serve(t, (request, response) => {
    const closed = new Promise<void>(resolve => response.on('close', resolve))
    ended.push(closed)
    if (request.url === '/v1/pets?limit=1') onArrival()
    else response.writeHead(200, JSON_TYPE).write('[')
  })
  const ended: Promise<void>[] = []
  const early = new AbortController()
  onArrival = () => early.abort(new Error('enough'))
  const waiting = fetch(`${baseUrl}/pets?limit=1`, { signal: early.signal })
  await assert.rejects(waiting, { message: 'enough' })

  const late = new AbortController()
  const request = new Request(`${baseUrl}/pets`, { signal: late.signal })
  const reader = (await fetch(request)).body?.getReader()
  await reader?.read()
  late.abort()
  await assert.rejects(reader?.read() ?? Promise.resolve(), { name: 'AbortError' })

  await (await fetch(`${baseUrl}/pets`)).body?.cancel()
  await Promise.all(ended)
  const { requestCount: requests, unanswered, findings, notes } = report()
  assert.deepEqual([ended.length, requests, unanswered, findings, notes], [3, 3, 1, [], []])
})

test('judge - errors of fetch are passed on as they are', async t => {
  const { baseUrl, fetch } = await serve(t, (request, response) => {
    if (request.url === '/v1/pets') {
      request.socket.resetAndDestroy()
      return
    }
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '10' }).write('[')
    response.socket?.end()
  })
  await assert.rejects(fetch(`${baseUrl}/pets`), (error: Error) => {
    return error instanceof TypeError && (error.cause as { code: string }).code === 'ECONNRESET'
  })
  const cut = await fetch(`${baseUrl}/pets?limit=1`)
  await assert.rejects(cut.text(), { name: 'TypeError', message: 'terminated' })
  const used = new Request(`${baseUrl}/pets`, { method: 'POST', body: 'x' })
  await used.text()
  await assert.rejects(fetch(used), TypeError)
  await assert.rejects(fetch(`${baseUrl}/pets`, { body: 'x' }), TypeError)
})

// A rejection that nobody handles fails a test, as it ends a process.
test('judge - a body of a file that has changed fails the call only', async t => {
  const { baseUrl, fetch } = await serve(t, (request, response) => {
    request.resume()
    response.end()
  })
  const folder = temporaryFolder(t)
  const path = join(folder, 'pet.json')
  await writeFile(path, '{}')
  const body = await openAsBlob(path)
  await writeFile(path, '{"name":"Ada"}')
  await assert.rejects(fetch(`${baseUrl}/pets`, { method: 'POST', body }))
  // Begun after the one that the judge reads.
  await assert.rejects(body.arrayBuffer(), { name: 'NotReadableError' })
  await nextTurn()
})

async function serve(t: TestContext, listener: RequestListener) {
  const baseUrl = `${(await serveHttp(t, listener)).origin}/v1`
  return { baseUrl, ...judge({ fetch: globalThis.fetch, baseUrl }) }
}
