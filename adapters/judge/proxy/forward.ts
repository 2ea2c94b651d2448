import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { collectBody } from '../../http/api-request.js'
import type { Observed } from '../observer.js'
import { watchBody } from '../response-body.js'
import { decoderFor } from './decode.js'
import { joined, pairsOf, withHost, withoutHopByHop } from './hop-by-hop.js'
import type { Line } from './line.js'
import { refuse } from './refuse.js'
import { failureOf, timedOut, type UpstreamFailure } from './upstream-failure.js'

export interface Forwarding {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly line: Line
  readonly service: URL
  readonly timeoutMs: number
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expecting: boolean
  readonly observed: Observed | undefined
  readonly onFailure: (failure: UpstreamFailure) => void
}

/** More than servers accept, in bytes. */
export const LONGEST_HEAD = 65_536

/** The API accepts no larger body. */
const MOST_BYTES = 1_048_576

/** Sends one request to the service and its response to the client. Resolves when it is over. */
export function forward(forwarding: Forwarding): Promise<void> {
  const { request, response, observed, onFailure } = forwarding
  if (response.destroyed || request.socket.destroyed) {
    observed?.lost('hang')
    return Promise.resolve()
  }
  const outgoing = openRequest(forwarding)
  const silence = watchSilence(outgoing, forwarding, fail)
  let incoming: IncomingMessage | undefined
  let isOver = false

  return new Promise(resolve => {
    response.on('close', () => {
      leave()
      resolve()
    })
    outgoing.on('response', message => {
      if (isOver) return
      incoming = message
      silence.respond(message)
      try {
        sendResponse(forwarding, message, outgoing.shouldKeepAlive, end, fail)
      } catch (error) {
        fail(failureOf(error as Error))
      }
    })
    outgoing.on('error', error => fail(failureOf(error)))
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy()
      fail(failureOf(new Error('it switched protocols')))
    })
    if (forwarding.expecting) outgoing.on('continue', () => response.writeContinue())
    outgoing.on('information', info => sendInformation(response, info))
    sendRequest(request, outgoing, observed, leave)
    passHalfClose(request, response, outgoing)
  })

  /** The client has gone, unless it has everything. */
  function leave(): void {
    if (!isOver && incoming === undefined) observed?.lost('hang')
    end()
  }

  function end(): void {
    isOver = true
    silence.end()
    if (incoming?.complete !== true) outgoing.destroy()
  }

  /** The service failed: before its response with an error in its place, within it with an early end. */
  function fail(failure: UpstreamFailure): void {
    if (isOver) return
    // The server has only followed its client.
    if (failure.status === 502 && request.socket.readableEnded && outgoing.writableFinished) {
      leave()
      cutOff(response)
      return
    }
    isOver = true
    silence.end()
    onFailure(failure)
    observed?.lost(incoming ? 'truncate' : 'reset')
    outgoing.destroy()
    if (response.headersSent) {
      cutOff(response)
      return
    }
    const { status, code, reason } = failure
    // The connection to the service that belongs to this one is gone.
    response.shouldKeepAlive = false
    refuse(response, status, `The service gave no response: ${reason}.`, code)
  }
}

/** A client that ends its side may have gone or still read: the server decides what that means. */
function passHalfClose(
  { socket }: IncomingMessage,
  response: ServerResponse,
  outgoing: ClientRequest,
): void {
  const pass = () => {
    if (socket.readableEnded && outgoing.writableFinished) outgoing.socket?.end()
  }
  socket.on('end', pass)
  outgoing.on('finish', pass)
  response.on('close', () => socket.off('end', pass))
}

/** What has come arrives, and then the connection ends. */
function cutOff(response: ServerResponse): void {
  if (response.headersSent) response.flushHeaders()
  if (response.socket) response.socket.destroySoon()
  else response.destroy()
}

function openRequest({ request, line, service }: Forwarding): ClientRequest {
  const { method, url, rawHeaders } = request
  const headers = withHost(withoutHopByHop(rawHeaders, ['transfer-encoding']), service.host)
  if (!hasBody(request) && HAS_CONTENT.test(method ?? '') && !hasLength(request)) {
    // Node would frame nothing in chunks.
    headers.push('Content-Length', '0')
  }
  const send = service.protocol === 'https:' ? httpsRequest : httpRequest
  const outgoing = send({
    hostname: service.hostname.replace(/^\[|\]$/g, ''),
    port: service.port,
    method,
    path: url,
    headers,
    agent: line.agent,
    maxHeaderSize: LONGEST_HEAD,
  })
  outgoing.on('socket', socket => {
    if (!socket.listeners('close').includes(line.onServiceEnd)) {
      socket.on('close', line.onServiceEnd)
    }
  })
  return outgoing
}

/** The methods with which Node expects a body. */
const HAS_CONTENT = /^(?!GET$|HEAD$|DELETE$|OPTIONS$|TRACE$|CONNECT$)/

function hasLength({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function sendRequest(
  request: IncomingMessage,
  outgoing: ClientRequest,
  observed: Observed | undefined,
  leave: () => void,
): void {
  if (!hasBody(request)) {
    outgoing.end()
    return
  }
  const copy = collectBody(MOST_BYTES)
  request.on('data', (chunk: Buffer) => {
    copy.add(chunk)
    if (!outgoing.write(chunk)) request.pause()
  })
  outgoing.on('drain', () => request.resume())
  request.on('end', () => {
    observed?.sent(copy.bytes())
    passTrailers(request, outgoing)
    outgoing.end()
  })
  request.on('error', leave)
}

/** RFC 9110 §6.5.1: those that cannot be passed on may be left out. */
function passTrailers({ rawTrailers }: IncomingMessage, to: ClientRequest | ServerResponse): void {
  if (rawTrailers.length === 0) return
  try {
    to.addTrailers(pairsOf(rawTrailers))
  } catch {
    // Node parses more than it sends.
  }
}

/** RFC 9110 §15.2: interim responses are forwarded. */
function sendInformation(
  response: ServerResponse,
  { statusCode, statusMessage, rawHeaders }: InterimResponse,
): void {
  // `100 Continue` has its own event.
  if (statusCode === 100 || response.headersSent) return
  const pairs = pairsOf(withoutHopByHop(rawHeaders)).map(([name, value]) => `${name}: ${value}\r\n`)
  response.socket?.write(
    `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${pairs.join('')}\r\n`,
    'latin1',
  )
}

interface InterimResponse {
  readonly statusCode: number
  readonly statusMessage: string
  readonly rawHeaders: string[]
}

function sendResponse(
  { request, response, observed }: Forwarding,
  incoming: IncomingMessage,
  isKept: boolean,
  end: () => void,
  fail: (failure: UpstreamFailure) => void,
): void {
  const { statusCode: status = 0, statusMessage, rawHeaders } = incoming
  const headers = joined(rawHeaders)
  if (!isKept) response.shouldKeepAlive = false
  response.writeHead(status, statusMessage, withoutHopByHop(rawHeaders))
  observed?.answered(status, headers)
  const isBodyless = request.method === 'HEAD' || status === 204 || status === 304
  const watched =
    observed && !isBodyless
      ? watchBody(status, headers, observed, decoderFor(headers['content-encoding']))
      : undefined
  // Headers leave with the first chunk, or by themselves when that takes its time.
  const flushing = setImmediate(() => response.flushHeaders())
  incoming.on('data', (chunk: Buffer) => {
    clearImmediate(flushing)
    watched?.add(chunk)
    if (!response.write(chunk)) incoming.pause()
  })
  response.on('drain', () => incoming.resume())
  incoming.on('end', () => {
    clearImmediate(flushing)
    if (!incoming.complete) return
    watched?.complete()
    passTrailers(incoming, response)
    response.end()
    end()
  })
  incoming.on('error', error => fail(failureOf(error)))
}

/** Ends an exchange when the service is silent although it is its turn. */
function watchSilence(
  outgoing: ClientRequest,
  { request, response, timeoutMs }: Forwarding,
  fail: (failure: UpstreamFailure) => void,
) {
  let incoming: IncomingMessage | undefined
  let isSilent = true
  const timer = setTimeout(check, timeoutMs).unref()
  if (hasBody(request)) {
    request.on('data', refresh)
    request.on('end', refresh)
    outgoing.on('drain', refresh)
  }
  outgoing.on('information', refresh)

  return {
    respond(message: IncomingMessage): void {
      incoming = message
      refresh()
      message.on('data', refresh)
      response.on('drain', refresh)
    },
    end: () => clearTimeout(timer),
  }

  function refresh(): void {
    isSilent = false
    timer.refresh()
  }

  function check(): void {
    if (isClientsTurn()) {
      refresh()
      return
    }
    // After a pause of this process, what has come in the meantime is read first.
    isSilent = true
    setImmediate(() => {
      if (isSilent) fail(timedOut(timeoutMs))
    })
  }

  /** The client is still to send its body, or to read the response. */
  function isClientsTurn(): boolean {
    if (incoming) return incoming.isPaused()
    const isConnected = outgoing.socket !== null && !outgoing.socket.connecting
    return isConnected && !request.complete && !outgoing.writableNeedDrain
  }
}
