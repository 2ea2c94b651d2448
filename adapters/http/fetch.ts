import { chain } from '../../src/lib/async.js'
import {
  check,
  isFunction,
  isHandler,
  type OptionsOf,
  optional,
  settingsOf,
  typed,
} from '../../src/lib/check-options.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api-request.js'
import {
  bodyAlreadyRead,
  bodyEnded,
  collectBody,
  fieldsOf,
  hostRefusal,
  splitTarget,
} from './target-and-body.js'

export { OptionError } from '../../src/lib/check-options.js'

const FETCH_HANDLER_OPTIONS = {
  /** Returns the address by which to count callers without a valid key. @default none: all share one budget */
  client: optional(typed<(request: Request) => string | undefined>(isFunction)),
}
/**
 * @example
 * import { toFetchHandler } from 'animal-adoption-store/fetch'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const handler = toFetchHandler(createTestDouble(), {
 *   client: request => request.headers.get('cf-connecting-ip') ?? undefined,
 * })
 */
export interface FetchHandlerOptions extends OptionsOf<typeof FETCH_HANDLER_OPTIONS> {}

/**
 * A WHATWG fetch handler, as Deno, Bun, workers and most frameworks take it. It also takes what
 * `fetch` takes, so it is the `fetch` of clients in the same process.
 * @throws OptionError naming the invalid option and its value
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { toFetchHandler } from 'animal-adoption-store/fetch'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const store = createStore({ storage: memoryStorage(), apiKeys: {} })
 * export default { fetch: toFetchHandler(store) }
 */
export function toFetchHandler(handler: ApiHandler, options?: FetchHandlerOptions) {
  check('handler', handler, isHandler)
  const { client } = settingsOf(FETCH_HANDLER_OPTIONS, options)
  return async (input: string | URL | Request, info?: unknown): Promise<Response> => {
    const isAddress = typeof input === 'string' || input instanceof URL
    const request = isAddress ? new Request(input, info as RequestInit) : input
    const headers = fieldsOf(request.headers)
    const caller = callerOf(request, info)
    const answer = await handler.handle({
      method: request.method,
      ...splitTarget(request.url),
      headers,
      body: bodyOf(request, headers['content-length'], handler.maxBodyBytes, caller),
      client: client?.(request),
      isGone: caller.isGone,
      refusal: hostRefusal(headers['host'] ?? ''),
    })
    return toResponse(answer)
  }
}

type Caller = ReturnType<typeof callerOf>

/** @param info from `Deno.serve`, which warns about `request.signal`, and fails bodies by itself */
function callerOf(request: Request, info: unknown) {
  const { completed } = (info ?? {}) as { readonly completed?: unknown }
  if (!(completed instanceof Promise)) {
    return { isGone: () => request.signal.aborted, signal: () => request.signal }
  }
  let isGone = false
  completed.catch(() => {
    isGone = true
  })
  return { isGone: () => isGone, signal: () => undefined }
}

/**
 * @example
 * import { toResponse } from 'animal-adoption-store/fetch'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const request = { method: 'GET', path: '/v1/pets', query: '', headers: {} }
 * const response = toResponse(await createTestDouble().handle(request))
 * console.log(response.status) // prints 401
 */
export function toResponse(answer: ApiResponse): Response {
  const { status, headers } = answer
  return new Response(contentOf(answer), { status, headers })
}

function contentOf({ body, pieces, stream }: ApiResponse) {
  if (stream) return toStream(stream()[Symbol.asyncIterator]())
  return pieces ? toStream(pieces()[Symbol.iterator]()) : body || null
}

/** Produces pieces on demand, so that responses to slow clients do not pile up. */
function toStream(pieces: PieceIterator): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: controller =>
      chain(pieces.next(), ({ done, value }) => {
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
      }),
    cancel() {
      // Not awaited, as it may end only with the next piece.
      void pieces.return?.()
    },
  })
}

type PieceIterator = Iterator<string | Uint8Array> | AsyncIterator<string | Uint8Array>

/** Limit in bytes for bodies that are read at once. */
const SMALL = 65_536

/** Reads the body only when the protocol asks for it. */
function bodyOf(
  request: Request,
  length: string | undefined,
  maxBodyBytes: number,
  { signal }: Caller,
): ApiRequest['body'] {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  // A body declared too large is not read at all.
  if (Number(length) > maxBodyBytes) return new Uint8Array()
  // No server passes on more than was declared. `request.body` is avoided: some runtimes copy it
  // into a stream, and Firefox has none.
  if (Number(length) <= SMALL || request.body === undefined)
    return () => readAtOnce(request, signal())
  return request.body ? () => readInPieces(request, maxBodyBytes, signal()) : undefined
}

function readAtOnce(request: Request, signal: AbortSignal | undefined): Promise<Uint8Array> {
  if (request.bodyUsed) throw bodyAlreadyRead()
  return new Promise((resolve, reject) => {
    const fail = () => reject(bodyEnded())
    if (signal?.aborted) fail()
    signal?.addEventListener('abort', fail)
    request.arrayBuffer().then(buffer => {
      signal?.removeEventListener('abort', fail)
      resolve(new Uint8Array(buffer))
    }, fail)
  })
}

/** Cancels a body beyond the limit. */
async function readInPieces(
  { body, bodyUsed }: Request,
  maxBodyBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (!body || bodyUsed || body.locked) throw bodyAlreadyRead()
  const collected = collectBody(maxBodyBytes + 1)
  const reader = body.getReader()
  // Some runtimes do not fail the body of an aborted request.
  const cancel = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', cancel)
  try {
    if (signal?.aborted) cancel()
    for (let isFull = false; !isFull; ) {
      const { done, value } = await reader.read()
      if (done) break
      isFull = collected.add(value)
    }
  } catch {
    throw bodyEnded()
  } finally {
    signal?.removeEventListener('abort', cancel)
    cancel()
  }
  if (signal?.aborted) throw bodyEnded()
  return collected.bytes()
}
