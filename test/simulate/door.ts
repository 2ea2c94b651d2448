import { toFetchHandler } from '../../adapters/fetch.js'
import type { ApiRequest, Store } from '../../src/index.js'
import type { WireRequest, WireResponse } from './network.js'
import type { Setting } from './scenario.js'

/** Has a store answer requests from the network. The store is called before this returns. */
export function createDoor(
  store: Store,
  { door }: Setting,
): (request: WireRequest) => Promise<WireResponse> {
  let client = ''
  // It is read before the first wait.
  const fetchHandler = toFetchHandler(store, { client: () => client })
  return request => {
    if (door !== 'fetch' && !request.isCut) return readAnswer(store, request)
    client = request.address
    return readResponse(fetchHandler(toRequest(request)))
  }
}

async function readAnswer(store: Store, request: WireRequest): Promise<WireResponse> {
  const [path = '', query = ''] = request.target.split('?')
  const { method, headers, body, address: client } = request
  const given: ApiRequest = { method, path, query, headers, body, client }
  const { status, headers: own, body: text } = await store.handle(given)
  return { status, headers: lowerCase(Object.entries(own)), body: text }
}

async function readResponse(answering: Promise<Response>): Promise<WireResponse> {
  const response = await answering
  const { status, headers } = response
  return { status, headers: lowerCase(headers), body: await response.text() }
}

function lowerCase(headers: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toLowerCase(), value]))
}

function toRequest({ method, target, headers, body, isCut }: WireRequest): Request {
  const url = `http://store.test${target}`
  if (!isCut || body === undefined) {
    return new Request(url, { method, headers, ...(body !== undefined && { body }) })
  }
  const bytes = new TextEncoder().encode(body)
  const half = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(bytes.subarray(0, bytes.length >> 1)),
    pull: controller => controller.error(new TypeError('terminated')),
  })
  const init = { method, headers, body: half, duplex: 'half' } as const
  return new Request(url, init as RequestInit)
}
