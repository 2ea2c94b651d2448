import { toFetchHandler } from '../../adapters/http/fetch.js'
import type { ApiRequest, Store } from '../../src/index.js'
import { halfOf, type WireRequest, type WireResponse } from './network.js'
import type { Setting } from './scenario.js'

/** Asks a store as one of its entry points does. */
export function createDoor(
  kind: Setting['door'],
  store: Store,
): (request: WireRequest) => Promise<WireResponse> {
  let client = ''
  // It is read before the first wait.
  const fetchHandler = toFetchHandler(store, { client: () => client })
  return async request => {
    if (kind !== 'fetch' && !request.isCut) return readAnswer(store, request)
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

export async function readResponse(answering: Promise<Response>): Promise<WireResponse> {
  const response = await answering
  const { status, headers } = response
  return { status, headers: lowerCase(headers), body: await response.text() }
}

export function lowerCase(headers: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toLowerCase(), value]))
}

function toRequest({ method, target, headers, body, isCut }: WireRequest): Request {
  const url = `http://store.test${target}`
  if (body === undefined) return new Request(url, { method, headers })
  if (!isCut) {
    // Some servers do not pass on the length.
    const length = Buffer.byteLength(body)
    const declared = length % 2 === 0 && { 'content-length': String(length) }
    return new Request(url, { method, headers: { ...headers, ...declared }, body })
  }
  const half = halfOf(body, () => new TypeError('terminated'))
  const init = { method, headers, body: half, duplex: 'half' } as const
  return new Request(url, init as RequestInit)
}
