import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { ApiError } from '../../src/api-error.js'
import type { ApiRequest } from '../../src/protocol/api-request.js'
import { bodyAlreadyRead, bodyEnded, collectBody, hostRefusal } from './target-and-body.js'

/**
 * Reads up to one byte above the limit: Node discards the rest.
 * @param isOurs true if nobody else reads the body, so that it can be read early
 */
export function bodyOf(
  message: IncomingMessage,
  maxBodyBytes: number,
  isOurs: boolean,
): ApiRequest['body'] {
  const { 'content-length': length, 'transfer-encoding': coding } = message.headers
  if (length === undefined && coding === undefined) return undefined
  if (message.complete && !message.readableEnded) {
    return isOurs ? readNow(message, maxBodyBytes) : () => readNow(message, maxBodyBytes)
  }
  let fail = (error: ApiError) => {
    failure = error
  }
  let failure: ApiError | undefined
  // The body may fail before it is read.
  message.on('error', error => fail(error instanceof ApiError ? error : bodyEnded()))
  // A body declared too large is not read at all.
  if (Number(length) > maxBodyBytes) return new Uint8Array()
  return () =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure)
      if (message.readableEnded) return reject(bodyAlreadyRead())
      // No event follows.
      if (message.destroyed) return reject(bodyEnded())
      fail = reject
      const body = collectBody(maxBodyBytes + 1)
      message.on('data', chunk => {
        if (body.add(chunk)) resolve(body.bytes())
      })
      message.on('end', () => resolve(body.bytes()))
    })
}

/** Newer versions of Node return one chunk per call, older ones all of them. */
function readNow(message: IncomingMessage, maxBodyBytes: number): Uint8Array {
  const body = collectBody(maxBodyBytes + 1)
  while (message.readableLength > 0) {
    if (body.add(message.read())) break
  }
  return body.bytes()
}

/** Translates an error of Node's parser; undefined if the client is gone. */
export function parserRefusal({ code }: NodeJS.ErrnoException): ApiError | undefined {
  if (code === 'ECONNRESET' || code === 'EPIPE') return undefined
  if (code === 'HPE_HEADER_OVERFLOW') return refusal(431, 'The header fields are too large.')
  const late = code === 'ERR_HTTP_REQUEST_TIMEOUT'
  if (late) return refusal(408, 'The request did not arrive in time.')
  if (code === 'HPE_INVALID_VERSION') return refusal(505, NOT_HTTP_1)
  return refusal(400, NOT_HTTP)
}

/** Rejects messages that Node's parser accepts, but RFC 9112 §3.2 or this server does not. */
export function messageRefusal({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  const { host, 'transfer-encoding': coding } = headers
  if (!httpVersion.startsWith('1.')) return refusal(505, NOT_HTTP_1)
  // An intermediary may have framed such a message differently (RFC 9112 §6.1).
  if (coding && httpVersion === '1.0') return refusal(400, NOT_HTTP)
  if (coding && !/^(.+,\s*)?chunked$/i.test(coding)) return refusal(400, NOT_HTTP)
  if (coding && coding.length > 7) return refusal(501, 'The Transfer-Encoding must be chunked.')
  if (host === undefined && httpVersion === '1.0') return undefined
  if (host === undefined || host.includes(',')) return refusal(400, 'Send the Host header, once.')
  return hostRefusal(host)
}

const NOT_HTTP = 'The request is not valid HTTP/1.1.'
const NOT_HTTP_1 = 'Send the request as HTTP/1.1.'

function refusal(status: number, message: string): ApiError {
  return new ApiError('invalid_request', message, { status })
}

/** Address that the outermost trusted proxy added to `X-Forwarded-For`; undefined if invalid. */
export function reportedAddress({ headers }: IncomingMessage, proxyHops: number) {
  const entries = String(headers['x-forwarded-for'] ?? '').split(',')
  return addressIn((entries.at(-proxyHops) ?? '').trim())
}

/** Ignores anything else, which could fill the table of callers. */
function addressIn(entry: string): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(entry) ?? []
  const address = v6 ?? v4 ?? entry
  return isIP(address) ? address : undefined
}

/** An IPv4 address, or the /64 of an IPv6 client. Loopback stands for itself: its /64 is elsewhere. */
export function addressKey(address: string | undefined): string | undefined {
  if (!address?.includes(':') || address === '::1') return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return address
  // The URL parser normalizes leading zeros and dotted numbers.
  const [head = [], tail = []] = new URL(`http://[${plain}]`).hostname
    .slice(1, -1)
    .split('::')
    .map(half => half.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${[...head, ...zeros, ...tail].slice(0, 4).join(':')}::/64`
}
