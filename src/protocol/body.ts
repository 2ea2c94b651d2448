import { invalidRequest, payloadTooLarge, unsupportedMediaType } from '../api-error.js'
import { type Awaitable, chain } from '../lib/async.js'
import { parseJson } from '../lib/json.js'
import { decodeUtf8, utf8Length } from '../lib/utf8.js'
import type { ApiRequest } from './api-request.js'

export const MAX_BODY_BYTES = 1_048_576

/** @throws ApiError `payload_too_large`, `unsupported_media_type` or `invalid_request`, in this order */
export function readBody(request: ApiRequest, maxBodyBytes: number): Awaitable<unknown> {
  const { headers, body = '' } = request
  const isUnread = typeof body === 'function'
  const length = Math.max(isUnread ? 0 : lengthOf(body), Number(headers['content-length'] ?? 0))
  if (length > maxBodyBytes) throw payloadTooLarge(maxBodyBytes)
  if (!/^\s*(application\/json\s*)?(;|$)/i.test(headers['content-type'] ?? '')) {
    const got = quoted(headers['content-type'])
    throw unsupportedMediaType(`The Content-Type must be application/json, got ${got}.`)
  }
  if ((headers['content-encoding'] || 'identity').toLowerCase() !== 'identity') {
    const got = quoted(headers['content-encoding'])
    throw unsupportedMediaType(`Send the body uncompressed: its Content-Encoding is ${got}.`)
  }
  return isUnread ? chain(body(), read => parse(read, maxBodyBytes)) : parse(body, maxBodyBytes)
}

const LONGEST_SHOWN = 80

function quoted(text = ''): string {
  return `'${text.slice(0, LONGEST_SHOWN)}'`
}

function parse(body: Uint8Array | string, maxBodyBytes: number): unknown {
  if (lengthOf(body) > maxBodyBytes) throw payloadTooLarge(maxBodyBytes)
  const text = textOf(body)
  if (text === '') throw invalidRequest('The body is missing; send a JSON object.')
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidRequest('The body is not valid JSON.')
    throw error
  }
}

function lengthOf(body: Uint8Array | string): number {
  return typeof body === 'string' ? utf8Length(body) : body.length
}

function textOf(body: Uint8Array | string): string {
  if (typeof body === 'string') return body.startsWith('\ufeff') ? body.slice(1) : body
  try {
    return decodeUtf8(body)
  } catch {
    throw invalidRequest('The body is not valid UTF-8.')
  }
}
