import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { type Awaitable, chain, isPromise } from '../../src/lib/async.js'
import {
  check,
  isHandler,
  isSize,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../src/lib/check-options.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/protocol/api-request.js'
import { addressKey, bodyOf, messageRefusal, reportedAddress } from './node-request.js'
import type { HttpConnection } from './sockets.js'
import { splitTarget, targetRefusal } from './target-and-body.js'

export const NODE_HANDLER_OPTIONS = {
  /** Number of trusted proxies, which report the client in `X-Forwarded-For`. @default 0 */
  proxyHops: withDefault(isSize, 0),
}
/**
 * @example
 * import { createServer } from 'node:http'
 * import { toNodeHandler } from 'animal-adoption-store/http'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const handler = toNodeHandler(createTestDouble(), { proxyHops: 1 })
 * const server = createServer(handler)
 */
export interface NodeHandlerOptions extends OptionsOf<typeof NODE_HANDLER_OPTIONS> {}

/**
 * Serves a store, or a wrapper around one, in an app with its own server: `http.createServer`,
 * Express, Connect, Fastify. With `next`, it passes on paths outside the API.
 * @throws OptionError naming the invalid option and its value
 * @example
 * import { createServer } from 'node:http'
 * import { toNodeHandler } from 'animal-adoption-store/http'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const server = createServer(toNodeHandler(createTestDouble()))
 */
export function toNodeHandler(handler: ApiHandler, options?: NodeHandlerOptions) {
  check('handler', handler, isHandler)
  const { proxyHops } = settingsOf(NODE_HANDLER_OPTIONS, options)
  const serve = createServe(handler, proxyHops)
  return (message: IncomingMessage, response: ServerResponse, next?: Next): void =>
    serve(message, response, { next })
}

type Next = (error?: unknown) => void

/** Message on the diagnostics channel `animal-adoption-store.exchange`. */
export interface ExchangeMessage {
  /** The request as it arrived, with its credentials: pass none of them on. */
  readonly request: ApiRequest
  /** The response, whose `about` names the operation and the key id. */
  readonly response: ApiResponse
  /** Time in ms until the response was decided, without sending it. */
  readonly durationMs: number
}

const EXCHANGES = channel('animal-adoption-store.exchange')

interface Circumstances {
  readonly next?: Next | undefined
  /** Set on our own server, where this code decides what is valid HTTP. */
  readonly connection?: HttpConnection
}

export function createServe(handler: ApiHandler, proxyHops: number) {
  return (message: IncomingMessage, response: ServerResponse, given: Circumstances): void => {
    const { connection } = given
    if (connection) connection.defer(() => answer(message, response, given))
    else answer(message, response, given)
  }

  function answer(message: IncomingMessage, response: ServerResponse, given: Circumstances): void {
    try {
      const found = handle(toRequest(message, response, given))
      if (!isPromise(found)) send(found, response, given)
      else {
        found
          .then(later => send(later, response, given))
          .catch(error => fail(error, response, given))
      }
    } catch (error) {
      fail(error, response, given)
    }
  }

  function handle(request: ApiRequest): Awaitable<ApiResponse> {
    if (!EXCHANGES.hasSubscribers) return handler.handle(request)
    const start = performance.now()
    return chain(handler.handle(request), response => {
      const durationMs = performance.now() - start
      EXCHANGES.publish({ request, response, durationMs } satisfies ExchangeMessage)
      return response
    })
  }

  /** Express and NestJS strip the path of a mount from the URL, also where that is part of the API. */
  function targetOf({ url = '', originalUrl = url }: Mounted): string {
    const { basePath } = handler
    return !url.startsWith(basePath) && originalUrl.startsWith(basePath) ? originalUrl : url
  }

  function toRequest(
    message: IncomingMessage,
    response: ServerResponse,
    { connection, next }: Circumstances,
  ): ApiRequest {
    const { method = '' } = message
    const url = targetOf(message)
    const headers = message.headers as ApiRequest['headers']
    const refusal =
      (connection && messageRefusal(message)) ?? targetRefusal(url, message.headers.host)
    // The bytes that follow may not be HTTP/1.1.
    if (refusal || headers['upgrade'] !== undefined) response.shouldKeepAlive = false
    const { path, query, hasQuery } = splitTarget(url)
    const reported = proxyHops === 0 ? undefined : reportedAddress(message, proxyHops)
    return {
      method,
      path,
      query,
      hasQuery,
      headers,
      body: bodyOf(message, handler.maxBodyBytes, next === undefined),
      passesOn: next !== undefined,
      client: addressKey(reported ?? message.socket.remoteAddress),
      connection: connection?.tracked,
      pipelined: connection?.isPipelined(),
      isGone: () => response.destroyed || connection?.isGone() === true,
      refusal,
    }
  }
}

type Mounted = IncomingMessage & { readonly originalUrl?: string }

/** Handles a handler that broke its contract. */
function fail(error: unknown, response: ServerResponse, { next }: Circumstances): void {
  if (next && !response.headersSent) next(error)
  else response.req.socket.destroy()
}

/** Sends exactly the answer; Node adds only `Connection` and `Keep-Alive`. */
function send(answer: ApiResponse, response: ServerResponse, { connection, next }: Circumstances) {
  const { status, headers, pieces, stream, deliver, outside } = answer
  if (outside && next) return void next()
  if (deliver) {
    deliver(response)
    // It never ends by itself.
    if (status === 0 || headers['Content-Type'] === 'text/event-stream') connection?.handOver()
    return
  }
  if (connection?.isLast(response)) response.shouldKeepAlive = false
  response.sendDate = false
  response.writeHead(status, headers as OutgoingHttpHeaders)
  if (stream) response.flushHeaders()
  const parts = stream ?? pieces
  if (parts) return void inTurn(response, () => sendParts(parts(), response))
  const encoding = isOneBytePerCharacter(answer) ? 'latin1' : 'utf8'
  if (!connection) return void response.end(answer.body, encoding)
  endInOnePiece(response, answer.body, encoding)
}

/** True for text that Node copies without inspecting each character. */
function isOneBytePerCharacter({ headers, body }: ApiResponse): boolean {
  return headers['Content-Length'] === String(body.length)
}

/** `end` with a text writes a second, empty piece, and both take a `writev`. */
function endInOnePiece(response: ServerResponse, text: string, encoding: BufferEncoding): void {
  const { socket } = response
  if (!socket || text === '') return void response.end(text, encoding)
  socket.cork()
  response.write(text, encoding)
  socket.uncork()
  response.end()
}

/** Waits for earlier responses, so that a connection has one unfinished response in memory. */
function inTurn(response: ServerResponse, begin: () => void): void {
  if (response.socket) begin()
  else response.once('socket', begin)
}

/** Follows the pace of slow clients, so that responses do not pile up in memory. */
function sendParts(
  parts: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>,
  response: ServerResponse,
): void {
  pipeline(Readable.from(parts, { highWaterMark: 1 }), response, () => {})
}
