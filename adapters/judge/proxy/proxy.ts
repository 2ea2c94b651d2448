import { once } from 'node:events'
import {
  createServer,
  Agent as HttpAgent,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { keepForConnect } from '../../http/after-connect.js'
import { splitTarget } from '../../http/api-request.js'
import { isLoopbackHost } from '../../http/loopback.js'
import { createConnections } from '../../verdict/callers.js'
import type { Observer } from '../observer.js'
import { forward, LONGEST_HEAD } from './forward.js'
import { joined } from './hop-by-hop.js'
import type { Line } from './line.js'
import { refuse, refuseSocket } from './refuse.js'
import type { UpstreamFailure } from './upstream-failure.js'

export interface ProxyOptions {
  /** The service; its path is that of the proxy. */
  readonly baseUrl: string
  readonly observer: Observer
  /** How long the service may be silent, in ms: while connecting, before its response, and within. */
  readonly timeoutMs: number
}

/** A server on loopback that passes everything on to one service, and lets the verdict see it. */
export interface ServiceProxy {
  /** What stands for the base URL of the service. */
  readonly url: string
  /** How often the service failed, and how it did first. */
  failures(): { readonly count: number; readonly first: UpstreamFailure | undefined }
  /** Cuts off what is still going on. */
  close(): Promise<void>
}

export async function openProxy({
  baseUrl,
  observer,
  timeoutMs,
}: ProxyOptions): Promise<ServiceProxy> {
  const service = new URL(baseUrl)
  const Agent = service.protocol === 'https:' ? HttpsAgent : HttpAgent
  const connect = createConnections()
  const lines = new Map<Socket, Line>()
  let count = 0
  let first: UpstreamFailure | undefined

  // The service decides how long an idle connection is kept, and a body may take its time.
  const server = createServer({
    keepAliveTimeout: 0,
    requestTimeout: 0,
    requireHostHeader: false,
    maxHeaderSize: LONGEST_HEAD,
  })
  // Node would close on a client that half-closes, and drop the responses it waits for.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (socket: Socket) => {
    const line: Line = {
      span: connect(),
      agent: new Agent({ keepAlive: true, maxSockets: 1 }),
      takeOver: keepForConnect(socket),
      turn: Promise.resolve(),
      pending: 0,
      latest: undefined,
      onServiceEnd() {
        if (line.pending === 0) socket.end()
      },
    }
    lines.set(socket, line)
    socket.on('end', () => line.span.end())
    socket.on('close', () => {
      line.span.end()
      line.agent.destroy()
      lines.delete(socket)
    })
    // A client that goes away.
    socket.on('error', () => {})
  })
  server.on('request', (request, response) => onRequest(request, response, false))
  server.on('checkContinue', (request, response) => onRequest(request, response, true))
  server.on('checkExpectation', (request, response) => onRequest(request, response, false))
  server.on('connect', (_, socket) => {
    lines.get(socket as Socket)?.takeOver()
    refuseLast(socket as Socket, 405, NOT_OPEN)
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) =>
    refuseLast(socket as Socket, code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, NOT_HTTP),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}${service.pathname.replace(/\/+$/, '')}`,
    failures: () => ({ count, first }),
    async close() {
      const turns = [...lines.values()].map(({ turn }) => turn)
      const closed = once(server, 'close')
      server.close()
      // Also what Node no longer knows: on CONNECT, it forgets a connection.
      for (const socket of lines.keys()) socket.destroy()
      await Promise.all([closed, ...turns])
    },
  }

  function onRequest(request: IncomingMessage, response: ServerResponse, expecting: boolean): void {
    const line = lines.get(request.socket)
    if (!line) return
    line.latest = request
    response.sendDate = false
    const refusal = refusalOf(request)
    if (refusal) {
      refuse(response, ...refusal)
      return
    }
    const headers = joined(request.rawHeaders)
    const observed = observer.begin({
      method: request.method ?? '',
      ...splitTarget(request.url ?? ''),
      headers,
      client: request.socket.remoteAddress,
      connection: line.span,
      pipelined: line.pending > 0,
    })
    line.pending++
    const send = () =>
      forward({ request, response, line, service, timeoutMs, expecting, observed, onFailure })
    line.turn = line.turn
      .then(send)
      // Node refuses to send it: nothing that a parser has read, as far as is known.
      .catch(() => void request.socket.destroy())
      .finally(() => {
        line.pending--
      })
  }

  /** After the responses that the client waits for; a body that ends early ends its exchange. */
  function refuseLast(socket: Socket, status: number, message: string): void {
    const line = lines.get(socket)
    if (line?.latest?.complete === false) socket.destroy()
    else void line?.turn.then(() => refuseSocket(socket, status, message))
  }

  function onFailure(failure: UpstreamFailure): void {
    count++
    first ??= failure
  }
}

const NOT_HTTP = 'The request is not valid HTTP/1.1, or its head is too long.'
const NOT_OPEN = 'This proxy reaches one service only: send the path, not a URL.'

/** RFC 9112 §3.2: a URL or an authority would be for a proxy to other origins. */
function refusalOf({ url = '', headers }: IncomingMessage): [number, string] | undefined {
  if (!url.startsWith('/')) return [400, NOT_OPEN]
  if (!isLoopbackHost(headers.host)) return [403, 'This proxy answers over loopback only.']
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !/^chunked$/i.test(coding)) {
    return [501, 'The Transfer-Encoding must be chunked.']
  }
  return undefined
}
