import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import {
  check,
  isHandler,
  isSize,
  isText,
  LONGEST_TIMER,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../src/lib/check-options.js'
import { type Duration, durationOf, isTimeout } from '../../src/lib/time.js'
import type { ApiHandler } from '../../src/protocol/api-request.js'
import { clearTimeout, setImmediate, setTimeout } from '../platform.js'
import { createServe } from './node-handler.js'
import { addressKey, parserRefusal } from './node-request.js'
import { createHttpConnection, createLater, type HttpConnection } from './sockets.js'

export const LISTEN_OPTIONS = {
  /** Port to listen on; 0 picks a free one. @default 4280 */
  port: withDefault<number>(
    {
      expected: 'an integer from 0 to 65535',
      accepts: port => isSize.accepts(port) && Number(port) <= 65_535,
    },
    4280,
  ),
  /** Address to bind. @default '127.0.0.1' */
  host: withDefault({ ...isText, expected: 'a host name or an address' }, '127.0.0.1'),
  /** Number of trusted proxies, which report the client in `X-Forwarded-For`. @default 0 */
  proxyHops: withDefault(isSize, 0),
  /** Time limit for the headers of a request. @default '10s' */
  headersTimeout: withDefault(isTimeout, '10s'),
  /** Time limit for the whole request. @default '30s' */
  requestTimeout: withDefault(isTimeout, '30s'),
  /** Idle time limit of a connection: longer than that of a proxy. @default '72s' */
  keepAliveTimeout: withDefault(isTimeout, '72s'),
}
/**
 * @example
 * import { listen } from 'animal-adoption-store/http'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const server = await listen(createTestDouble(), { port: 0, host: '127.0.0.1' })
 * console.log(server.url) // prints http://127.0.0.1:…/v1
 * await server.close()
 */
export interface ListenOptions extends OptionsOf<typeof LISTEN_OPTIONS> {}

export interface HttpServer extends AsyncDisposable {
  /** Base address, such as `http://127.0.0.1:4280/v1`; loopback for a server on all addresses. */
  readonly url: string
  /** Base address without the path. */
  readonly origin: string
  readonly port: number
  /**
   * Accepts no new connections, finishes requests in flight, and closes every socket. Clients that
   * do not read their responses are cut off after twice `requestTimeout`. May be called again.
   */
  close(): Promise<void>
  /**
   * Closes a server behind a proxy: an idle connection gets one more request, which the proxy may
   * have sent already, until the proxy closes it or `grace` is over.
   */
  drain(grace: Duration): Promise<void>
}

/**
 * Serves a store, or anything around one, over HTTP/1.1.
 * @throws OptionError naming the invalid option and its value
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { listen } from 'animal-adoption-store/http'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const store = createStore({ storage: memoryStorage(), apiKeys: {} })
 * const server = await listen(store, { port: 0 })
 * await server.close()
 */
export async function listen(handler: ApiHandler, options?: ListenOptions): Promise<HttpServer> {
  check('handler', handler, isHandler)
  const settings = settingsOf(LISTEN_OPTIONS, options)
  const { port, host, proxyHops, headersTimeout, requestTimeout, keepAliveTimeout } = settings
  const serve = createServe(handler, proxyHops)
  const connections = new Map<Socket, HttpConnection>()
  const later = createLater()
  let closing: Promise<void> | undefined

  const server = createServer({
    // The headers are part of the request.
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(1_000, headersTimeout, requestTimeout),
    joinDuplicateHeaders: true,
    // Node's own answer to a missing Host is not an Error body.
    requireHostHeader: false,
  })
  // Otherwise Node closes when a client half-closes, and drops pending responses.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', socket => {
    connections.set(socket, createHttpConnection(socket, handler.connect?.(), later))
    socket.on('close', () => connections.delete(socket))
  })
  server.on('request', onRequest)
  // Otherwise Node answers 417 to an expectation.
  server.on('checkExpectation', onRequest)
  // Otherwise CONNECT gets no answer.
  server.on('connect', (_message, socket) => {
    connections.get(socket as Socket)?.takeOver()
    refuse(new Error('CONNECT'), socket as Socket)
  })
  server.on('clientError', onClientError)
  // After a suspension, read what has arrived before treating a connection as idle.
  server.on('timeout', socket => {
    const { bytesRead } = socket
    setImmediate(() => socket.bytesRead === bytesRead && socket.destroy())
  })

  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: bound } = server.address() as AddressInfo
  const origin = `http://${hostOf(host, address)}:${bound}`

  return {
    origin,
    url: origin + handler.basePath,
    port: bound,
    close,
    drain,
    [Symbol.asyncDispose]: close,
  }

  function onRequest(message: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(message.socket) as HttpConnection
    if (!connection.begin(response)) return
    serve(message, response, { connection })
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') refuse(error, socket)
    else connections.get(socket)?.ifStillLate(() => refuse(error, socket))
  }

  /** Answers requests that Node's parser rejects, after the requests before them. */
  function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const refusal = parserRefusal(error)
    const client = addressKey(socket.remoteAddress)
    connections
      .get(socket)
      ?.refuse(refusal, async () =>
        handler.handle({ method: '', path: '', query: '', headers: {}, client, refusal }),
      )
  }

  function close(): Promise<void> {
    closing ??= end(0)
    return closing
  }

  function drain(grace: Duration): Promise<void> {
    const graceMs = durationOf('grace', grace)
    closing ??= quietTurn().then(() => end(graceMs))
    return closing
  }

  function end(graceMs: number): Promise<void> {
    return new Promise(resolve => {
      // Node's `close` would destroy connections with unsent responses.
      server.closeIdleConnections = () => {}
      // A client that does not read its response would keep the server open.
      const timeLimit = Math.min(2 * requestTimeout, LONGEST_TIMER)
      const deadline = setTimeout(destroyAll, timeLimit)
      server.close(() => {
        clearTimeout(grace)
        clearTimeout(deadline)
        resolve()
      })
      for (const connection of connections.values()) connection.endWithResponse()
      const closeIdle = () => {
        for (const connection of connections.values()) connection.closeWhenIdle()
      }
      const grace = graceMs > 0 ? setTimeout(closeIdle, graceMs) : void closeIdle()
    })
  }

  /** Includes sockets that Node forgets on CONNECT. */
  function destroyAll(): void {
    for (const socket of connections.keys()) socket.destroy()
  }
}

/** Ends in a turn without work, or after a second: closing the port resets connections not yet accepted. */
async function quietTurn(): Promise<void> {
  await new Promise(setImmediate)
  const end = performance.now() + 1_000
  for (let last = 0, now = performance.now(); now - last > QUIET && now < end; ) {
    await new Promise(setImmediate)
    last = now
    now = performance.now()
  }
}

/** In ms; an empty turn takes a tenth of it. */
const QUIET = 0.1

/** The unspecified address cannot be opened; loopback can. */
function hostOf(host: string, bound: string): string {
  const reachable = LOOPBACK_OF[bound] ?? host
  return reachable.includes(':') ? `[${reachable}]` : reachable
}

const LOOPBACK_OF: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
