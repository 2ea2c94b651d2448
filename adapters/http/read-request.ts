import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { ApiRequest } from '../../src/api.js'
import { invalidRequest } from '../../src/errors.js'
import type { ConnectedRequest, ConnectionSpan } from './connection-span.js'

/**
 * The request as plain values, with as much of the body as says whether it is too large.
 *
 * @throws when the client goes away in the middle of the body
 */
export function readRequest(
  message: IncomingMessage,
  connection: ConnectionSpan,
  maxBodyBytes: number,
  proxyHops: number,
): ConnectedRequest | Promise<ConnectedRequest> {
  const { method = '', url = '', headers } = message
  const target = url.startsWith('/') ? url : withoutAuthority(url)
  const queryAt = target.indexOf('?')
  const request: ConnectedRequest = {
    method,
    path: queryAt < 0 ? target : target.slice(0, queryAt),
    query: queryAt < 0 ? '' : target.slice(queryAt + 1),
    headers: headers as ApiRequest['headers'],
    body: undefined,
    client: clientOf(message, proxyHops),
    refusal: hasOneHost(message) ? undefined : invalidRequest('Send the Host header, once.'),
    connection,
  }
  const announced = headers['content-length']
  if (announced === undefined && headers['transfer-encoding'] === undefined) return request
  // Too large already by its own word: none of it is read.
  if (Number(announced) > maxBodyBytes) return request
  return readAtMost(message, maxBodyBytes + 1).then(body => ({ ...request, body }))
}

/**
 * The first chunks of the body, up to the one that reaches `limit` bytes; Node discards the rest
 * unread.
 */
function readAtMost(message: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer | undefined
    let length = 0
    message.on('data', (chunk: Buffer) => {
      if (length >= limit) return
      bytes = bytes === undefined ? chunk : append(bytes, length, chunk)
      length += chunk.length
      if (length >= limit) resolve(bytes.subarray(0, length))
    })
    message.on('end', () => resolve(bytes?.subarray(0, length) ?? Buffer.alloc(0)))
    message.on('error', reject)
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

function clientOf({ socket, headers }: IncomingMessage, proxyHops: number): string | undefined {
  const forwarded = proxyHops > 0 ? headers['x-forwarded-for'] : undefined
  const address = forwarded && String(forwarded).split(',').at(-proxyHops)?.trim()
  return subscriber(address || socket.remoteAddress)
}

/** One subscriber has one IPv4 address, but a whole /64 of IPv6: its first four groups. */
export function subscriber(address: string | undefined): string | undefined {
  if (address === undefined || !address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return address
  const [head = '', tail] = plain.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill('0'), ...after]
  const network = groups.slice(0, 4).map(group => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
