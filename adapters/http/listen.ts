import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { ApiHandler } from '../../src/api.js'
import { readRequest, subscriber } from './read-request.js'
import { refusalOf } from './refusals.js'
import { writeAnswer, writeLastAnswer } from './write-answer.js'

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
   * Takes no new connection, finishes the requests in flight, closes every socket. Can be called
   * again.
   */
  close(): Promise<void>
}

/** Serves a store, or anything around one, over HTTP/1.1. */
export async function listen(
  handler: ApiHandler,
  options: ListenOptions = {},
): Promise<HttpServer> {
  const { port = 4280, host = '127.0.0.1', proxyHops = 0 } = options
  const { headersTimeout = 10_000, requestTimeout = 30_000, keepAliveTimeout = 5_000 } = options
  const connections = new Map<Socket, Connection>()
  let closing: Promise<void> | undefined

  const server = createServer({
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(1_000, headersTimeout),
    joinDuplicateHeaders: true,
    // Node would answer a request without Host by itself, and not with an Error body.
    requireHostHeader: false,
  })
  server.on('connection', socket => {
    connections.set(socket, { open: 0 })
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
  const bound = (server.address() as AddressInfo).port
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`

  return {
    origin,
    url: origin + handler.basePath,
    port: bound,
    close,
    [Symbol.asyncDispose]: close,
  }

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = connections.get(request.socket) as Connection
    connection.open++
    connection.last = request
    try {
      const answer = await handler.handle(
        await readRequest(request, handler.maxBodyBytes, proxyHops),
      )
      writeAnswer(response, answer, closing !== undefined && connection.open === 1)
    } catch {
      // The client went away in the middle of its body: there is nobody to answer.
      request.socket.destroy()
    }
    connection.open--
    if (connection.refused) response.once('close', connection.refused)
  }

  /** What Node's parser cannot read is answered as well, after the requests before it. */
  function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = connections.get(socket)
    const refusal = refusalOf(error)
    if (!connection || !refusal || !socket.writable) {
      socket.destroy()
      return
    }
    const unread = connection.last?.complete === false ? 1 : 0
    const client = subscriber(socket.remoteAddress)
    const answer = async () => {
      const request = { method: '', path: '', query: '', headers: {}, client, refusal }
      writeLastAnswer(socket, await handler.handle(request))
    }
    if (connection.open > unread) connection.refused = answer
    else void answer()
  }

  function close(): Promise<void> {
    closing ??= new Promise(resolve => {
      server.close(() => resolve())
      for (const [socket, { open }] of connections) if (open === 0) socket.destroy()
    })
    return closing
  }
}

interface Connection {
  /** Requests that came and are not answered yet. */
  open: number
  /** The request that came last: its body may still be on the way. */
  last?: IncomingMessage
  /** Answers what could not be read behind them. */
  refused?: () => Promise<void>
}
