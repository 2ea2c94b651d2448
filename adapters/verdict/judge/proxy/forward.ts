import { once } from 'node:events'
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  request as sendHead,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { ApiRequest } from '../../../../src/protocol/api-request.js'
import { collectBody } from '../../../http/target-and-body.js'
import { setImmediate } from '../../../platform.js'
import type { ConnectionSpan } from '../../log/callers.js'
import type { Observed } from '../observer.js'
import { watchBody } from '../response-body.js'
import { decoderFor } from './decode.js'
import { errorAnswer, failureOf, timedOut, type UpstreamFailure } from './failure.js'
import { pairsOf, withHost, withoutHopByHop } from './headers.js'

export interface Link extends ConnectionSpan {
  readonly agent: Agent
  /** The end of the latest exchange: pipelined requests are sent one after the other. */
  turn: Promise<void>
  pending: number
}

export interface Forwarding {
  readonly request: ApiRequest
  readonly response: ServerResponse
  readonly link: Link
  readonly service: URL
  readonly timeoutMs: number
  readonly observed: Observed | undefined
  readonly failures: UpstreamFailure[]
}

/** The API accepts no larger body. */
const MOST_BYTES = 1_048_576

/** Sends one request to the service and its response to the client. Resolves at the end of both. */
export async function forward(forwarding: Forwarding): Promise<void> {
  const { request, response, timeoutMs, observed, failures } = forwarding
  const { socket: client } = response.req
  if (!client.writable) return observed?.lost('hang')
  let outgoing: ClientRequest | undefined
  let incoming: IncomingMessage | undefined
  let silence: UpstreamFailure | undefined
  const closed = new Promise<void>(resolve => {
    response.on('close', () => {
      if (incoming?.complete !== true) outgoing?.destroy()
      resolve()
    })
  })
  response.sendDate = false
  client.on('end', passHalfClose)
  try {
    outgoing = openRequest(forwarding)
    outgoing.on('finish', passHalfClose)
    outgoing.on('timeout', onSilence)
    sendRequest(forwarding, outgoing)
    ;[incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    await sendResponse(forwarding, incoming, outgoing.shouldKeepAlive)
  } catch (error) {
    fail(silence ?? failureOf(error as Error))
  }
  await closed
  client.off('end', passHalfClose)

  /** A client that ends its side may have gone or still read: the service decides. */
  function passHalfClose(): void {
    if (client.readableEnded && outgoing?.writableFinished) outgoing.socket?.end()
  }

  function onSilence(): void {
    const own = outgoing?.socket
    const received = own?.bytesRead
    // After a pause of this process, arrived data is read first.
    setImmediate(() => {
      if (incoming?.complete) return
      if (isClientsTurn() || own?.bytesRead !== received) return void own?.setTimeout(timeoutMs)
      silence = timedOut(timeoutMs)
      ;(incoming ?? outgoing)?.destroy(new Error(silence.reason))
    })
  }

  /** The client has yet to send its body, or to read the response. */
  function isClientsTurn(): boolean {
    if (incoming) return response.writableNeedDrain
    return !response.req.complete && !outgoing?.writableNeedDrain && !outgoing?.socket?.connecting
  }

  function fail(failure: UpstreamFailure): void {
    const hasFollowed = !silence && client.readableEnded && outgoing?.writableFinished
    if (response.destroyed || hasFollowed) {
      if (!incoming) observed?.lost('hang')
      return void endEarly(response)
    }
    failures.push(failure)
    observed?.lost(incoming ? 'truncate' : 'reset')
    if (response.headersSent) return void endEarly(response)
    const message = `The service gave no response: ${failure.reason}.`
    const { status, headers, body } = errorAnswer(request.method, { ...failure, message })
    // Its connection to the service is gone.
    response.shouldKeepAlive = false
    response.writeHead(status, headers as OutgoingHttpHeaders).end(body)
  }
}

function endEarly(response: ServerResponse): void {
  if (response.socket) response.socket.destroySoon()
  else response.destroy()
}

function openRequest({ request, response, link, service, timeoutMs }: Forwarding): ClientRequest {
  const { method = '', url = '', rawHeaders, headers, socket: client } = response.req
  const fields = withHost(withoutHopByHop(rawHeaders, 'transfer-encoding'), service.host)
  const isFramed = 'content-length' in headers || 'transfer-encoding' in headers
  // Node would frame a missing body in chunks.
  if (!isFramed && HAS_CONTENT.test(method)) fields.push('Content-Length', '0')
  // With the agent of TLS, it sends over TLS.
  const outgoing = sendHead(service, {
    method,
    path: url.startsWith('/') ? url : `${request.path}?${request.query}`,
    headers: fields,
    agent: link.agent,
    timeout: timeoutMs,
    joinDuplicateHeaders: true,
  })
  outgoing.on('socket', own => pair(own, client, link))
  return outgoing
}

/** The methods with which Node expects a body. */
const HAS_CONTENT = /^(?!GET$|HEAD$|DELETE$|OPTIONS$|TRACE$|CONNECT$)/

/** Ends the two connections of a link together, unless one has an exchange to end first. */
function pair(own: Socket, client: Socket, link: Link): void {
  if (PAIRED.has(own)) return
  PAIRED.add(own)
  client.on('close', () => own.destroy())
  own.on('close', () => {
    if (link.pending === 0) client.end()
  })
}

const PAIRED = new WeakSet<Socket>()

function sendRequest(
  { request: { body }, response, observed }: Forwarding,
  outgoing: ClientRequest,
): void {
  const { req: message } = response
  const copy = collectBody(MOST_BYTES)
  outgoing.on('error', () => message.unpipe(outgoing).resume())
  outgoing.on('upgrade', (_, own) => {
    own.destroy()
    outgoing.emit('error', new Error('it switched protocols'))
  })
  outgoing.on('continue', () => response.writeContinue())
  if (body instanceof Uint8Array) {
    copy.add(body)
    outgoing.write(body)
  }
  message.on('data', chunk => copy.add(chunk))
  if (message.readableEnded) onEnd()
  else message.on('end', onEnd)
  // The client has gone, or has sent bytes that are not HTTP.
  message.on('error', () => message.socket.destroy())
  message.pipe(outgoing)

  function onEnd(): void {
    observed?.sent(copy.bytes())
    passTrailers(message, outgoing)
  }
}

async function sendResponse(
  { response, observed }: Forwarding,
  incoming: IncomingMessage,
  isKept: boolean,
): Promise<void> {
  const { statusCode: status = 0, statusMessage, rawHeaders } = incoming
  const headers = incoming.headers as Readonly<Record<string, string>>
  const fields = withoutHopByHop(rawHeaders)
  if (!isKept) response.shouldKeepAlive = false
  // Node would add how long it keeps idle connections.
  if (response.shouldKeepAlive) fields.push('Connection', 'keep-alive')
  response.writeHead(status, statusMessage, fields)
  // Sent now and as bytes: `flushHeaders` would encode them as UTF-8.
  response.write('', 'latin1')
  observed?.answered(status, headers)
  const isBodyless = response.req.method === 'HEAD' || status === 204 || status === 304
  const watched =
    observed && !isBodyless
      ? watchBody(status, headers, observed, decoderFor(headers['content-encoding']))
      : undefined
  incoming.on('data', chunk => watched?.add(chunk))
  await pipeline(incoming, response, { end: false })
  watched?.complete()
  passTrailers(incoming, response)
  response.end()
}

/** RFC 9110 §6.5.1: trailers that cannot be passed on may be left out. */
function passTrailers({ rawTrailers }: IncomingMessage, to: ClientRequest | ServerResponse): void {
  if (rawTrailers.length === 0) return
  try {
    to.addTrailers(pairsOf(rawTrailers))
  } catch {
    // Node parses trailers that it refuses to send.
  }
}
