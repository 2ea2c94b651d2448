import type { IncomingMessage } from 'node:http'
import type { ApiRequest } from '../../src/api.js'
import type { Awaitable } from '../../src/awaitable.js'
import { invalidRequest } from '../../src/errors.js'
import type { Connection } from './connection.js'
import { subscriber } from './subscriber.js'

/**
 * The request as plain values, with as much of the body as says whether it is too large.
 *
 * @throws when the client goes away in the middle of the body
 */
export function readRequest(
  message: IncomingMessage,
  connection: Connection,
  maxBodyBytes: number,
  proxyHops: number,
): Awaitable<ApiRequest> {
  const { headers } = message
  const announced = headers['content-length']
  const bodyless = announced === undefined && headers['transfer-encoding'] === undefined
  // Too large already by its own word: none of it is read.
  if (bodyless || Number(announced) > maxBodyBytes) {
    return toRequest(message, connection, proxyHops, undefined)
  }
  return withBody(message, connection, proxyHops, maxBodyBytes + 1)
}

function withBody(
  message: IncomingMessage,
  connection: Connection,
  proxyHops: number,
  limit: number,
): Promise<ApiRequest> {
  return new Promise((resolve, reject) => {
    readAtMost(message, limit, body => resolve(toRequest(message, connection, proxyHops, body)))
    message.on('error', reject)
  })
}

function toRequest(
  message: IncomingMessage,
  connection: Connection,
  proxyHops: number,
  body: Uint8Array | undefined,
): ApiRequest {
  const { method = '', url = '' } = message
  const target = url.startsWith('/') ? url : withoutAuthority(url)
  const queryAt = target.indexOf('?')
  return {
    method,
    path: queryAt < 0 ? target : target.slice(0, queryAt),
    query: queryAt < 0 ? '' : target.slice(queryAt + 1),
    headers: message.headers as ApiRequest['headers'],
    body,
    client: clientOf(message, connection, proxyHops),
    refusal: hasOneHost(message) ? undefined : invalidRequest('Send the Host header, once.'),
    connection: connection.identity,
  }
}

/**
 * The first chunks of the body, up to the one that reaches `limit` bytes; Node discards the rest
 * unread.
 */
function readAtMost(message: IncomingMessage, limit: number, done: (body: Buffer) => void): void {
  let bytes: Buffer | undefined
  let length = 0
  message.on('data', (chunk: Buffer) => {
    if (length >= limit) return
    bytes = bytes === undefined ? chunk : append(bytes, length, chunk)
    length += chunk.length
    if (length >= limit) done(bytes.subarray(0, length))
  })
  message.on('end', () => {
    if (length < limit) done(bytes?.subarray(0, length) ?? Buffer.alloc(0))
  })
}

/** In one growing buffer, as a chunk of one byte that is kept costs hundreds. */
function append(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  const needed = length + chunk.length
  const roomy = needed <= bytes.length ? bytes : Buffer.allocUnsafe(Math.max(2 * length, needed))
  if (roomy !== bytes) bytes.copy(roomy, 0, 0, length)
  chunk.copy(roomy, length)
  return roomy
}

/** RFC 9112 §3.2.2: a client of a proxy sends the whole URL, which means its path here. */
function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '')
}

/** RFC 9112 §3.2: HTTP/1.1 without it, or any request with several, is to be answered 400. */
function hasOneHost({ headers: { host }, httpVersion }: IncomingMessage): boolean {
  return host === undefined ? httpVersion === '1.0' : !host.includes(',')
}

function clientOf(
  { headers }: IncomingMessage,
  connection: Connection,
  proxyHops: number,
): string | undefined {
  if (proxyHops === 0) return connection.client
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  const address = forwarded.at(-proxyHops)?.trim()
  return address ? subscriber(address) : connection.client
}
