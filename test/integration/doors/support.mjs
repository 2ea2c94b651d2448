import assert from 'node:assert/strict'
import { createStore } from 'animal-adoption-store'
import { memoryStorage } from 'animal-adoption-store/memory'

const HEADERS = { authorization: 'Bearer demo', 'content-type': 'application/json' }

export function openStore(options = {}) {
  const apiKeys = { demo: { id: 'demo', plan: 'business' } }
  return createStore({ storage: memoryStorage(), apiKeys, ...options })
}

/** Checks what every adapter must do; `prefix` is where it is mounted. */
export async function exercise(origin, prefix = '', basePath = '/v1') {
  const base = `${origin}${prefix}${basePath}`
  const body = '{"name":"Rex","categoryId":9007199254740993}'
  const created = await fetch(`${base}/pets`, { method: 'POST', headers: HEADERS, body })
  assert.equal(created.status, 201)
  const location = new URL(created.headers.get('location'), `${base}/pets`)
  assert.equal((await fetch(location, { headers: HEADERS })).status, 200)
  assert.match(await created.text(), /"categoryId":9007199254740993/)
  const listed = await fetch(`${base}/pets`, { headers: HEADERS })
  assert.equal(listed.headers.get('x-ratelimit-limit'), '1000')
  assert.match(await listed.text(), /"categoryId":9007199254740993/)
  const stranger = await fetch(`${base}/pets`, { method: 'POST', body })
  assert.deepEqual([stranger.status, (await stranger.json()).code], [401, 'unauthorized'])
  assert.equal((await fetch(`${base}/nope`, { headers: HEADERS })).status, 404)
  // Last, as some servers close a connection whose body was not read.
  const large = await fetch(`${base}/pets`, {
    method: 'POST',
    headers: HEADERS,
    body: 'x'.repeat(2_000_000),
  })
  assert.deepEqual([large.status, (await large.json()).code], [413, 'payload_too_large'])
}
