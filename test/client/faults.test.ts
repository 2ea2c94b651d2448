import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionError } from '../../adapters/client/index.js'
import {
  answering,
  createClientServer,
  type Fault,
  hang,
  reset,
  T0,
  windowHeaders,
} from './client-server.js'

/** Half of the answer comes, then the connection ends. */
const truncate: Fault = async serve => {
  const { headers, status } = await serve()
  const body = new ReadableStream({
    start: controller => controller.enqueue(new TextEncoder().encode('[{"id"')),
    pull: controller => controller.error(new TypeError('terminated')),
  })
  return new Response(body, { headers, status })
}

/** Half of a rejection comes. */
const truncated =
  (status: number, headers: Readonly<Record<string, string>>): Fault =>
  async () =>
    truncate(async () => new Response('{}', { status, headers }), new Request('http://store.test'))

/** Each with the wait that it leads to, in ms; the random is one half. */
const FAULTS: Readonly<Record<string, readonly [faults: readonly Fault[], wait: number]>> = {
  '503 twice': [[answering(503), answering(503)], 1_000 + 1_000],
  '503 of a metered server': [[answering(503, windowHeaders(30, 59))], 1_000],
  '503 with Retry-After': [[answering(503, { 'retry-after': '7' })], 7_000 + 850],
  '500 and 502': [[answering(500), answering(502)], 1_000 + 1_000],
  '429, seconds': [[answering(429, { 'retry-after': '5' })], 5_000 + 750],
  '429, HTTP-date': [[answering(429, date(90_000, 97_000))], 7_000 + 850],
  '429, HTTP-date without Date': [[answering(429, date(undefined, 9_000))], 9_000 + 950],
  '429, absent': [[answering(429)], 1_000],
  '429, absent, with reset': [[answering(429, windowHeaders(30, 0))], 30_000 + 2_000],
  '429, 0': [[answering(429, { 'retry-after': '0' })], 500],
  '429, past': [[answering(429, date(90_000, 80_000))], 1_000],
  '429, unreadable': [[answering(429, { 'retry-after': '-1' })], 61_000 + 3_550],
  '429 twice': [
    [answering(429, { 'retry-after': '0' }), answering(429, { 'retry-after': '0' })],
    500 + 1_000 + 550,
  ],
  'connection reset': [[reset], 1_000],
  'answer cut off': [[truncate], 1_000],
  '429, cut off': [[truncated(429, { 'retry-after': '5' })], 5_000 + 750],
  '503 with Retry-After, cut off': [[truncated(503, { 'retry-after': '7' })], 7_000 + 850],
  hang: [[hang], 30_000 + 1_000],
}

for (const [name, [faults, wait]] of Object.entries(FAULTS)) {
  test(`client - ${name}: a GET ends right, after the wait`, async () => {
    const server = createClientServer()
    const pet = await server.store.createPet({ name: 'Rex', categoryId: 1 })
    server.faults.push(...faults)
    assert.deepEqual(await server.time.run(server.client().listPets()), [pet])
    assert.equal(server.time.clock() - T0, wait)
    assert.equal(server.seen.length, faults.length + 1)
    assert.equal(server.time.sleeping, 0)
  })

  test(`client - ${name}: a POST is never doubled`, async () => {
    const server = createClientServer()
    server.faults.push(...faults)
    const result = await server.time
      .run(server.client().createPet({ name: 'Rex', categoryId: 1 }))
      .catch((error: unknown) => error)
    const stored = await server.store.listPets()
    const had429 = name.startsWith('429')
    assert.equal(result instanceof Error, !had429)
    assert.ok(had429 || result instanceof ApiError || result instanceof ConnectionError)
    assert.ok(stored.length <= 1)
    if (had429) assert.deepEqual(stored, [result])
  })
}

function date(sentAt: number | undefined, retryAt: number): Record<string, string> {
  const at = (ms: number) => new Date(T0 + ms).toUTCString()
  return { 'retry-after': at(retryAt), ...(sentAt === undefined ? {} : { date: at(sentAt) }) }
}
