import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../adapters/client/index.js'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { memoryRateLimitStore, memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type PetStorage, type StoreOptions } from '../../src/index.js'
import { assertGrowth } from '../support/memory.js'
import { gate } from '../support/waiting.js'

const PETS = 'https://pets.test/v1/pets'
const KEY = { authorization: 'Bearer demo' }

test('toFetchHandler - counts requests without a key by the address of the `client` option', async () => {
  const rateLimitStore = memoryRateLimitStore()
  const client = (request: Request) => request.headers.get('cf-connecting-ip') ?? undefined
  const handler = toFetchHandler(open({ rateLimitStore }), { client })
  await handler(new Request(PETS, { headers: { 'cf-connecting-ip': '192.0.2.1' } }))
  await handler(new Request(PETS))
  const partitions = [...(await rateLimitStore.dump())].map(([name]) => name)
  assert.deepEqual(partitions, ['addr:192.0.2.1', 'addr:local'])
  assert.throws(() => toFetchHandler(open(), { client: '192.0.2.1' as never }), /`client`/)
})

test('toFetchHandler - is the `fetch` of a client in the same process', async () => {
  const apiKeys = { a: { id: 'a', plan: 'pro' } } as const
  const fetch = toFetchHandler(createStore({ storage: memoryStorage(), apiKeys }))
  const client = createClient({ baseUrl: 'http://pets.test/v1', apiKey: 'a', fetch })
  assert.equal((await client.createPet(REX)).id, 1)
  const headers = { authorization: 'Bearer a' }
  assert.equal((await fetch(new URL('http://pets.test/v1/pets'), { headers })).status, 200)
})

const REX = { name: 'Rex', categoryId: 1 }

test('toFetchHandler - a request rejected by its headers leaves the body unread', async () => {
  const handler = toFetchHandler(open())
  for (const [headers, status] of [
    [{}, 401],
    [{ ...KEY, 'content-type': 'text/plain' }, 415],
    [{ ...KEY, 'content-length': '2000000' }, 413],
  ] as const) {
    const body = endless()
    const response = await handler(post(body.stream, headers))
    assert.equal(response.status, status)
    // The stream itself fills its queue.
    assert.ok(body.pulled() <= 1, `${body.pulled()} chunks were read`)
  }
})

test('toFetchHandler - an endless body is read up to the limit, then cancelled', async () => {
  const body = endless()
  const response = await toFetchHandler(open())(post(body.stream, KEY))
  assert.equal(response.status, 413)
  assert.ok(body.cancelled())
  assert.ok(body.pulled() < 20, `${body.pulled()} chunks of 64 KiB were read`)
})

test('toFetchHandler - a body that fails is 400, one that was already read is 500', async () => {
  const handler = toFetchHandler(open())
  const message = async (request: Request) => {
    const { status, message } = (await (await handler(request)).json()) as Record<string, unknown>
    return [status, message]
  }
  const failing = new ReadableStream<Uint8Array>({
    pull: controller => controller.error(new Error('gone')),
  })
  assert.deepEqual(await message(post(failing, KEY)), [400, 'The body ended early.'])
  const headers = { ...KEY, 'content-type': 'application/json' }
  const read = new Request(PETS, { method: 'POST', headers, body: '{}' })
  await read.text()
  const known = 'The body was already read; mount this handler before any body parser.'
  assert.deepEqual(await message(read), [500, known])
})

test('toFetchHandler - a body that never ends is given up when its request is aborted', async () => {
  const handler = toFetchHandler(open())
  const headers = { ...KEY, 'content-type': 'application/json' }
  for (const isEarly of [true, false]) {
    const controller = new AbortController()
    const reading = gate()
    const body = new ReadableStream<Uint8Array>({ pull: reading.open }, { highWaterMark: 0 })
    // Bare, as a runtime may pass it: Node's own fails the body by itself.
    const request = { ...bare(headers), body, signal: controller.signal } as Request
    if (isEarly) controller.abort()
    const answer = handler(request)
    if (!isEarly) await reading.passed
    controller.abort()
    assert.equal((await answer).status, 400)
  }
})

test('toFetchHandler - a small body of a declared length is given up when its request is aborted', async () => {
  const headers = { ...KEY, 'content-type': 'application/json', 'content-length': '29' }
  const controller = new AbortController()
  const arrayBuffer = () => new Promise<ArrayBuffer>(() => {})
  const request = { ...bare(headers), signal: controller.signal, arrayBuffer } as Request
  const answer = toFetchHandler(open())(request)
  controller.abort()
  assert.equal((await answer).status, 400)
})

test('toFetchHandler - asks the info of Deno.serve whether the client is gone, and not the signal', async () => {
  const memory = memoryStorage()
  const answers: (boolean | undefined)[] = []
  const insert: PetStorage['insert'] = async (pet, isGone) => {
    answers.push(isGone?.())
    leave(new Error('The client hung up'))
    await new Promise(setImmediate)
    answers.push(isGone?.())
    return memory.insert(pet)
  }
  const handler = toFetchHandler(open({ storage: { ...memory, insert } }))
  const body = '{"name":"Ada","categoryId":1}'
  const headers = { ...KEY, 'content-type': 'application/json', 'content-length': '29' }
  const request = new Request(PETS, { method: 'POST', body, headers })
  const get = () => assert.fail('Deno warns of the use of the signal')
  Object.defineProperty(request, 'signal', { get })
  let leave: (error: Error) => void = () => {}
  const completed = new Promise<void>((_, reject) => {
    leave = reject
  })
  await handler(request, { completed })
  assert.deepEqual(answers, [false, true])
})

test('toFetchHandler - a body in chunks of one byte takes no more memory than its bytes', async () => {
  const chunk = new Uint8Array([32])
  await assertGrowth(20_000_000, async measure => {
    let left = 300_000
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) return controller.enqueue(chunk.slice())
        measure()
        controller.close()
      },
    })
    const response = await toFetchHandler(open())(post(stream, KEY))
    assert.equal(response.status, 400)
  })
})

test('toFetchHandler - an invalid Host is rejected, and a URL with one does not throw', async () => {
  const handler = toFetchHandler(open())
  const request = new Request(PETS, { headers: { ...KEY, host: '127.0.0.1:99999' } })
  assert.equal((await handler(request)).status, 400)
  const odd = { url: 'http://127.0.0.1:99999/v1/pets', method: 'GET', headers: new Headers(KEY) }
  assert.equal((await handler(odd as Request)).status, 200)
})

test('toFetchHandler - a storage can ask whether the request was aborted', async () => {
  const answers: (boolean | undefined)[] = []
  const memory = memoryStorage()
  const controller = new AbortController()
  const storage: PetStorage = {
    ...memory,
    insert(pet, isGone) {
      answers.push(isGone?.())
      controller.abort()
      answers.push(isGone?.())
      return memory.insert(pet)
    },
  }
  const handler = toFetchHandler(open({ storage }))
  const body = '{"name":"Ada","categoryId":1}'
  const headers = { ...KEY, 'content-type': 'application/json' }
  await handler(new Request(PETS, { method: 'POST', body, headers, signal: controller.signal }))
  assert.deepEqual(answers, [false, true])
})

test('toFetchHandler - a long page is built as it is read', async () => {
  const store = open()
  const name = 'é'.repeat(200_000)
  for (let n = 0; n < 3; n++) await store.createPet({ name, categoryId: 1 })
  const response = await toFetchHandler(store)(new Request(PETS, { headers: KEY }))
  const text = await response.text()
  assert.equal(response.headers.get('content-length'), String(Buffer.byteLength(text)))
  assert.equal(JSON.parse(text)[2].name, name)
})

function open(options: Partial<StoreOptions> = {}) {
  const apiKeys = { demo: { id: 'demo', plan: 'business' } } as const
  return createStore({ storage: memoryStorage(), apiKeys, ...options })
}

function post(body: ReadableStream<Uint8Array>, headers: Readonly<Record<string, string>>) {
  return new Request(PETS, { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

function bare(headers: Readonly<Record<string, string>>) {
  return { url: PETS, method: 'POST', headers: new Headers(headers), bodyUsed: false }
}

function endless() {
  const chunk = new Uint8Array(65_536)
  let [pulled, cancelled] = [0, false]
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++
      controller.enqueue(chunk)
    },
    cancel() {
      cancelled = true
    },
  })
  return { stream, pulled: () => pulled, cancelled: () => cancelled }
}
