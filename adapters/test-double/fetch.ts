import type { Awaitable } from '../../src/lib/async.js'
import type { ApiResponse } from '../../src/protocol/api-request.js'
import { toResponse } from '../http/fetch.js'
import { fieldsOf, splitTarget } from '../http/target-and-body.js'
import { captureStack } from '../verdict/call-site.js'
import type { ConnectionSpan } from '../verdict/log/callers.js'
import type { ReadRequest } from '../verdict/log/read-request.js'
import { fetchFailed, type LosableAnswer } from './faults/lose-response.js'
import { keptAlive } from './keep-process-alive.js'
import { at, textResponse } from './text-response.js'

type FetchInput = Parameters<typeof fetch>[0]

/**
 * Stands in for the global `fetch` below one base URL, as undici's behaves on a socket.
 * @param isWaiting returns true while a request of the double is delayed
 */
export function createFetch(
  begin: () => (request: ReadRequest) => Promise<ApiResponse>,
  connect: () => ConnectionSpan,
  baseUrl: string,
  isWaiting: () => boolean,
  hasStacks: boolean,
) {
  const { origin } = new URL(baseUrl)
  const hanging = new Set<(reason: unknown) => void>()
  let isClosed = false
  let keep = keptAlive

  return {
    async fetch(input: FetchInput, given?: RequestInit): Promise<Response> {
      // Captured before anything is awaited.
      const stack = hasStacks ? captureStack() : undefined
      const init = given ?? undefined
      const connection = connect()
      const request = isSimple(input, init)
        ? simpleRequest(input, init, baseUrl)
        : requestOf(input, init, baseUrl)
      const { method, headers } = request
      const [url = ''] = request.url.split('#', 1)
      if (!url.startsWith(`${origin}/`)) {
        throw new TypeError(`This fetch reaches ${baseUrl} only, got ${url}`)
      }
      // Not the request's own signal, whose listener costs more than the call.
      const { signal = (input as Partial<Request>).signal } = init ?? {}
      signal?.throwIfAborted()
      const handle = begin()
      const body = request.body && (await request.body())
      try {
        const exchange = handle({
          method,
          ...splitTarget(url.slice(origin.length)),
          headers,
          body,
          connection,
          stack,
        })
        const answering = abortable(signal, exchange)
        // Most calls wait for nothing, and keeping the process alive has a cost.
        const answer: LosableAnswer = await (isWaiting() ? keep(answering) : answering)
        if (!answer.lose) return complete(answer, signal, url, keep)
        return at(url, await answer.lose(() => hang(signal)))
      } finally {
        connection.end()
      }
    },
    endHanging,
    /** Waiting calls no longer keep the process alive. */
    unref(): void {
      keep = promise => promise
    },
    close(): void {
      isClosed = true
      endHanging()
    },
  }

  function endHanging(): void {
    for (const end of hanging) end(fetchFailed())
    hanging.clear()
  }

  function hang(signal: AbortSignal | null | undefined): Promise<never> {
    if (isClosed) throw fetchFailed()
    const closed = new Promise<never>((_, reject) => hanging.add(reject))
    return keep(abortable(signal, closed))
  }
}

function abortable<T>(signal: AbortSignal | null | undefined, promise: Promise<T>): Promise<T> {
  if (!signal) return promise
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}

interface Outgoing {
  readonly method: string
  readonly url: string
  /** By lower-case name, in alphabetical order. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: (() => Awaitable<Uint8Array>) | undefined
}

/** Avoids a `Request`, which costs more than the store's answer, where it makes no difference. */
function isSimple(input: unknown, init: RequestInit | undefined): input is string | URL {
  if (typeof input !== 'string' && !(input instanceof URL)) return false
  // Includes inherited names, as `init` may be a `Request`.
  for (const name in init) if (!SIMPLE.includes(name)) return false
  const { method = 'GET', body, signal } = init ?? {}
  const isText = body === undefined || (typeof body === 'string' && method === 'POST')
  const isSignal = signal == null || signal instanceof AbortSignal
  return isText && isSignal && (method === 'GET' || method === 'POST')
}

const SIMPLE = ['method', 'headers', 'body', 'signal']

function simpleRequest(
  input: string | URL,
  { method = 'GET', headers, body }: RequestInit = {},
  baseUrl: string,
): Outgoing {
  const { href } = new URL(input, `${baseUrl}/`)
  if (body === undefined) return { method, url: href, headers: headersOf(headers), body }
  return {
    method,
    url: href,
    headers: headersOf(headers, 'text/plain;charset=UTF-8'),
    body: () => new TextEncoder().encode(body as string),
  }
}

/** @param type content type of the body, unless the headers have one */
function headersOf(given: RequestInit['headers'], type?: string): Outgoing['headers'] {
  const plain = plainHeaders(given)
  if (plain && (type === undefined || plain['content-type'] !== undefined)) return plain
  const headers = new Headers(given)
  if (type !== undefined && !headers.has('content-type')) headers.set('content-type', type)
  return fieldsOf(headers)
}

/** As `Headers` would give them, which cost a tenth of the call; undefined if it would change a value. */
function plainHeaders(given: RequestInit['headers']): Outgoing['headers'] | undefined {
  if (given === undefined) return {}
  if (given === null || Object.getPrototypeOf(given) !== Object.prototype) return undefined
  if (Object.getOwnPropertySymbols(given).length > 0) return undefined
  const fields: [string, string][] = []
  for (const [name, value] of Object.entries(given)) {
    const isPlain = typeof value === 'string' && PLAIN_NAME.test(name) && PLAIN_VALUE.test(value)
    if (!isPlain) return undefined
    fields.push([name.toLowerCase(), value])
  }
  const headers = Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
  return Object.keys(headers).length === fields.length ? headers : undefined
}

const PLAIN_NAME = /^[a-z][a-z\d-]*$/i
const PLAIN_VALUE = /^[!-~](?:[ -~]*[!-~])?$/

/** Paths are relative to the base URL; a `Request` may be another implementation's. */
function requestOf(input: FetchInput, init: RequestInit | undefined, baseUrl: string): Outgoing {
  const request = platformRequest(input, init, baseUrl)
  const { method, url, headers } = request
  // Some browsers lack `request.body`.
  const hasNone = method === 'GET' || method === 'HEAD'
  const body = async () => new Uint8Array(await request.arrayBuffer())
  return { method, url, headers: fieldsOf(headers), body: hasNone ? undefined : body }
}

function platformRequest(input: FetchInput, init: RequestInit | undefined, baseUrl: string) {
  if (input instanceof Request) return new Request(input, init)
  if (typeof input === 'object' && !(input instanceof URL)) {
    const foreign: Request = input
    return new Request(new Request(foreign.url, foreign), init)
  }
  return new Request(new URL(input, `${baseUrl}/`), init)
}

/** A body that is still on its way ends when its call is aborted. */
function complete(
  answer: ApiResponse,
  signal: AbortSignal | null | undefined,
  url: string,
  keep: typeof keptAlive,
): Response {
  const { status, headers, body, pieces, stream } = answer
  if (stream) {
    return at(url, toResponse({ ...answer, stream: () => pending(stream(), signal, keep) }))
  }
  const isText = body !== '' && !pieces && headers['Content-Type'] !== undefined
  if (isText) return textResponse(body, { status, headers }, url)
  return at(url, toResponse(answer))
}

/** Each piece of a body keeps the process alive until it arrives or its reader is gone. */
function pending(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | null | undefined,
  keep: typeof keptAlive,
): AsyncIterable<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  let cancel = () => {}
  const cancelled = new Promise<IteratorReturnResult<undefined>>(resolve => {
    cancel = () => resolve({ done: true, value: undefined })
  })
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => keep(abortable(signal, Promise.race([iterator.next(), cancelled]))),
      return() {
        cancel()
        return cancelled
      },
    }),
  }
}
