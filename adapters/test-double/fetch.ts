import type { ApiResponse } from '../../src/api.js'
import type { ReadRequest } from '../../src/body.js'
import { toResponse } from '../fetch.js'
import type { ConnectionSpan } from './callers.js'
import { firstHalf, type LosableAnswer } from './inject-fault.js'

export interface DoubleFetch {
  /** Stands in for the global `fetch` below one base URL, without a socket. */
  readonly fetch: typeof fetch
  /** Ends hanging calls, like a server that goes away. */
  close(): void
}

/** Behaves like undici's `fetch` on a socket. */
export function createFetch(
  begin: () => (request: ReadRequest) => Promise<ApiResponse>,
  connect: () => ConnectionSpan,
  baseUrl: string,
): DoubleFetch {
  const { origin } = new URL(baseUrl)
  const hanging = new Set<(reason: unknown) => void>()

  return {
    async fetch(input, init) {
      const connection = connect()
      const request = requestOf(input, init, baseUrl)
      const [url = ''] = request.url.split('#', 1)
      if (!url.startsWith(`${origin}/`)) {
        throw new TypeError(`This fetch reaches ${baseUrl} only, got ${url}`)
      }
      const { method } = request
      // Not the request's own: making that listen costs more than the call.
      const { signal = (input as Partial<Request>).signal } = init ?? {}
      signal?.throwIfAborted()
      const handle = begin()
      // Not every browser has `request.body`.
      const isRead = method === 'GET' || method === 'HEAD'
      const body = isRead ? undefined : new Uint8Array(await request.arrayBuffer())
      const exchange = handle({
        method,
        ...targetOf(url.slice(origin.length)),
        headers: Object.fromEntries(request.headers),
        body,
        connection,
      })
      const answer = await abortable(signal, arrived(exchange)).finally(connection.end)
      const response = answer.lostBy === 'truncate' ? truncated(answer) : toResponse(answer)
      return Object.defineProperty(response, 'url', { value: url })
    },
    close() {
      for (const end of hanging) end(fetchFailed(otherSideClosed()))
    },
  }

  /** The answer, or at least its head. */
  async function arrived(exchange: Promise<LosableAnswer>): Promise<LosableAnswer> {
    const answer = await exchange
    if (answer.lostBy === 'reset') throw fetchFailed(connectionReset())
    if (answer.lostBy !== 'hang') return answer
    return new Promise((_, reject) => hanging.add(reject))
  }
}

function targetOf(target: string): Pick<ReadRequest, 'path' | 'query'> {
  const [path = '', ...query] = target.split('?')
  return { path, query: query.join('?') }
}

function abortable<T>(signal: AbortSignal | null | undefined, promise: Promise<T>): Promise<T> {
  if (!signal) return promise
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Paths are relative to the base URL; a `Request` may be another implementation's. */
function requestOf(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  baseUrl: string,
): Request {
  if (input instanceof Request) return new Request(input, init)
  if (typeof input === 'object' && !(input instanceof URL)) {
    const foreign: Request = input
    return new Request(new Request(foreign.url, foreign), init)
  }
  return new Request(new URL(input, `${baseUrl}/`), init)
}

function truncated({ status, headers, body }: ApiResponse): Response {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(firstHalf(body))
    },
    pull(controller) {
      controller.error(new TypeError('terminated', { cause: otherSideClosed() }))
    },
  })
  return new Response(stream, { status, headers })
}

function fetchFailed(cause: Error): TypeError {
  return new TypeError('fetch failed', { cause })
}

function connectionReset(): Error {
  const cause = new Error('read ECONNRESET')
  return Object.assign(cause, { errno: -104, code: 'ECONNRESET', syscall: 'read' })
}

function otherSideClosed(): Error {
  const cause = new Error('other side closed')
  return Object.assign(cause, { name: 'SocketError', code: 'UND_ERR_SOCKET' })
}
