import { chain } from '../src/lib/async.js'
import {
  check,
  isFunction,
  isHandler,
  type OptionsOf,
  optional,
  settingsOf,
  typed,
} from '../src/lib/options.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../src/protocol/api.js'
import {
  bodyAlreadyRead,
  bodyEnded,
  collectBody,
  hostRefusal,
  splitTarget,
} from './http/api-request.js'

const FETCH_HANDLER_OPTIONS = {
  /**
   * Returns the caller's address, for counting requests without a valid key.
   * @default none: all callers share one budget
   */
  client: optional(typed<(request: Request) => string | undefined>(isFunction)),
}
export interface FetchHandlerOptions extends OptionsOf<typeof FETCH_HANDLER_OPTIONS> {}

/**
 * A WHATWG fetch handler, as Deno, Bun, workers and most frameworks take it.
 *
 * @throws OptionError naming the invalid option and its value
 */
export function toFetchHandler(
  handler: ApiHandler,
  options?: FetchHandlerOptions,
): (request: Request) => Promise<Response> {
  check('handler', handler, isHandler)
  const { client } = settingsOf(FETCH_HANDLER_OPTIONS, options)
  return async request => {
    const headers = Object.fromEntries(request.headers)
    const answer = await handler.handle({
      method: request.method,
      ...splitTarget(request.url),
      headers,
      body: bodyReader(request, handler.maxBodyBytes),
      client: client?.(request),
      isGone: () => request.signal.aborted,
      refusal: hostRefusal(headers['host'] ?? ''),
    })
    return toResponse(answer)
  }
}

/** The answer as a fetch `Response`. */
export function toResponse(answer: ApiResponse): Response {
  const { status, headers } = answer
  return new Response(bodyOf(answer), { status, headers })
}

function bodyOf({ body, pieces, stream }: ApiResponse): string | ReadableStream<Uint8Array> | null {
  if (stream) return toStream(stream()[Symbol.asyncIterator]())
  return pieces ? toStream(pieces()[Symbol.iterator]()) : body || null
}

/** Built as it is read, so that responses to slow clients do not pile up. */
function toStream(pieces: PieceIterator): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: controller =>
      chain(pieces.next(), ({ done, value }) => {
        if (done) controller.close()
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
      }),
    cancel() {
      // Not awaited: it may end only with the next piece.
      void pieces.return?.()
    },
  })
}

type PieceIterator = Iterator<string | Uint8Array> | AsyncIterator<string | Uint8Array>

/** Reads the body when the protocol asks for it, and cancels it beyond the limit. */
function bodyReader(request: Request, maxBodyBytes: number): ApiRequest['body'] {
  const { body, headers } = request
  if (!body) return undefined
  // Declared too large: none of it is read.
  if (Number(headers.get('content-length')) > maxBodyBytes) return new Uint8Array()
  return async () => {
    if (request.bodyUsed || body.locked) throw bodyAlreadyRead()
    const collected = collectBody(maxBodyBytes + 1)
    const { signal } = request
    const reader = body.getReader()
    // Not every runtime fails the body of a request that was aborted.
    const cancel = () => void reader.cancel().catch(() => {})
    signal.addEventListener('abort', cancel, { once: true })
    try {
      if (signal.aborted) cancel()
      for (let isFull = false; !isFull; ) {
        const { done, value } = await reader.read()
        if (done) break
        isFull = collected.add(value)
      }
    } catch {
      throw bodyEnded()
    } finally {
      signal.removeEventListener('abort', cancel)
      cancel()
    }
    if (signal.aborted) throw bodyEnded()
    return collected.bytes()
  }
}
