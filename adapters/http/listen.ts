import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, Server, type Socket } from 'node:net'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../src/api.js'
import { type Awaitable, isPromise } from '../../src/awaitable.js'
import { isCount, isSize, isText, type Rules, readOptions } from '../../src/options.js'
import { type Connection, createConnection } from './connection.js'
import { endIdleConnections } from './idle.js'
import { readRequest } from './read-request.js'
import { refusalOf } from './refusals.js'
import { writeAnswer } from './write-answer.js'

export interface ListenOptions {
  /** 0 picks a free one. @default 4280 */
  readonly port?: number
  /** @default '127.0.0.1', which no other machine can reach */
  readonly host?: string
  /**
   * How many proxies in front are to be believed about the address, by `X-Forwarded-For`. @default
   * 0
   */
  readonly proxyHops?: number
  /** Until when the headers have to be there, in ms. @default 10_000 */
  readonly headersTimeout?: number
  /** Until when the whole request has to be there, in ms. @default 30_000 */
  readonly requestTimeout?: number
  /** How long an idle connection is kept, in ms. @default 5_000 */
  readonly keepAliveTimeout?: number
}

export interface HttpServer extends AsyncDisposable {
  /** The base address, such as `http://127.0.0.1:4280/v1`. */
  readonly url: string
  /** The same without the path. */
  readonly origin: string
  readonly port: number
  /**
   * Takes no new connection, finishes the requests in flight, closes every socket; those of clients
   * that do not read their answers after twice `requestTimeout`. Can be called again.
   */
  close(): Promise<void>
}

/**
 * Serves a store, or anything around one, over HTTP/1.1.
 *
 * @throws OptionError naming an option that is not right, and its value
 */
export async function listen(
  handler: ApiHandler,
  options: ListenOptions = {},
): Promise<HttpServer> {
  const { port, host, proxyHops, headersTimeout, requestTimeout, keepAliveTimeout } = readOptions(
    options,
    DEFAULTS,
    RULES,
  )
  const connections = new Map<Socket, Connection>()
  let closing: Promise<void> | undefined

  const server = createServer({
    // The headers are part of the request.
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(1_000, headersTimeout, requestTimeout),
    joinDuplicateHeaders: true,
    // Node would answer a request without Host by itself, and not with an Error body.
    requireHostHeader: false,
  })
  // Node would close on a client that has sent all and says so, and not send what it waits for.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', socket => {
    connections.set(socket, createConnection(socket, handler.connect?.()))
    // What Node would do to a socket between two requests is done below, for all of them.
    socket.setTimeout = () => socket
    socket.on('close', () => connections.delete(socket))
  })
  server.on('request', onRequest)
  // Without a listener Node answers 417 to an expectation, and nothing at all to CONNECT.
  server.on('checkExpectation', onRequest)
  server.on('connect', (_request, socket) => refuse(new Error('CONNECT'), socket as Socket))
  server.on('clientError', refuse)

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const stopLooking = endIdleConnections(connections, keepAliveTimeout)
  const bound = (server.address() as AddressInfo).port
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`

  return {
    origin,
    url: origin + handler.basePath,
    port: bound,
    close,
    [Symbol.asyncDispose]: close,
  }

  function onRequest(message: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(message.socket) as Connection
    connection.add(response)
    try {
      const request = readRequest(message, connection, handler.maxBodyBytes, proxyHops)
      // What is there at once is sent at once: to wait for it would cost more than to find it.
      const sent = isPromise(request)
        ? request.then(whole => respond(whole, response, connection))
        : respond(request, response, connection)
      // The client went away in the middle of its body, or the handler broke its contract.
      if (isPromise(sent)) sent.catch(() => message.socket.destroy())
    } catch {
      message.socket.destroy()
    }
  }

  function respond(
    request: ApiRequest,
    response: ServerResponse,
    connection: Connection,
  ): Awaitable<void> {
    const answer = handler.handle(request)
    // While closing, the last answer ends the connection, and what came in the same piece is not
    // seen yet.
    return isPromise(answer) || closing
      ? Promise.resolve(answer).then(later => send(later, response, connection))
      : send(answer, response, connection)
  }

  function send(answer: ApiResponse, response: ServerResponse, connection: Connection): void {
    if (answer.deliver) {
      connection.handOver()
      answer.deliver(response)
      if (closing) response.req.socket.destroySoon()
      return
    }
    writeAnswer(response, answer, closing !== undefined && connection.isLast(response))
  }

  /** What Node's parser cannot read is answered as well, after the requests before it. */
  function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const refusal = refusalOf(error)
    const connection = connections.get(socket)
    connection?.end(async () => {
      if (!refusal || !socket.writable) return undefined
      const { client } = connection
      return handler.handle({ method: '', path: '', query: '', headers: {}, client, refusal })
    })
  }

  function close(): Promise<void> {
    closing ??= new Promise(resolve => {
      // Node's own would cut answers that are not sent yet, and no longer time requests out: that
      // comes last, to stop its timer.
      Server.prototype.close.call(server, () => {
        clearTimeout(deadline)
        stopLooking()
        server.close()
        resolve()
      })
      // A client that does not read its answer would hold the server for as long as it likes. It
      // has as long for that as a request has to arrive, and Node a second to see that one did not.
      const deadline = setTimeout(() => server.closeAllConnections(), 2 * requestTimeout + 1_000)
      for (const connection of connections.values()) connection.closeWhenIdle()
    })
    return closing
  }
}

const DEFAULTS = {
  port: 4280,
  host: '127.0.0.1',
  proxyHops: 0,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
}

const RULES: Rules<ListenOptions> = {
  port: {
    expected: 'an integer from 0 to 65535',
    accepts: port => isSize.accepts(port) && Number(port) <= 65_535,
  },
  host: { ...isText, expected: 'a host name or an address' },
  proxyHops: isSize,
  headersTimeout: isCount,
  requestTimeout: isCount,
  keepAliveTimeout: isCount,
}
