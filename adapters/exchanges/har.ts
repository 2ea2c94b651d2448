import { utf8Length } from '../../src/lib/utf8.js'
import { splitTarget } from '../http/api-request.js'
import type { Exchange } from './exchange.js'
import { FAULT_KINDS } from './fault-kinds.js'

/** An exchange without credentials, with the bytes of its bodies where they are at hand. */
export interface HarSource
  extends Pick<
    Exchange,
    | 'at'
    | 'answeredAt'
    | 'key'
    | 'method'
    | 'url'
    | 'status'
    | 'requestHeaders'
    | 'headers'
    | 'fault'
  > {
  /** Where it was sent, such as `http://127.0.0.1:4280`. */
  readonly origin: string
  readonly requestBody: Uint8Array | string | null
  readonly body: Uint8Array | string | null
}

/** HTTP Archive 1.2: what the developer tools of browsers open. Plain JSON. */
export interface Har {
  readonly log: {
    readonly version: '1.2'
    readonly creator: { readonly name: string; readonly version: string }
    /** Optional in HAR 1.2, but Firefox imports nothing without it. */
    readonly pages: readonly never[]
    readonly entries: readonly HarEntry[]
  }
}

export interface HarEntry {
  /** ISO 8601, by the store's clock. */
  readonly startedDateTime: string
  /** Ms. */
  readonly time: number
  readonly request: HarRequest
  readonly response: HarResponse
  readonly cache: Readonly<Record<string, never>>
  readonly timings: { readonly send: number; readonly wait: number; readonly receive: number }
  readonly comment?: string
}

interface HarRequest extends HarMessage {
  readonly method: string
  readonly url: string
  readonly queryString: readonly HarPair[]
  readonly postData?: HarPostData
}

interface HarPostData {
  readonly mimeType: string
  readonly text: string
  /** HAR 1.2 has no field for bytes that are not text. */
  readonly _encoding?: 'base64'
}

interface HarResponse extends HarMessage {
  /** 0 where there was no response. */
  readonly status: number
  readonly statusText: string
  readonly content: {
    readonly size: number
    readonly mimeType: string
    readonly text?: string
    readonly encoding?: 'base64'
  }
  readonly redirectURL: string
}

interface HarMessage {
  readonly httpVersion: string
  readonly cookies: readonly HarPair[]
  readonly headers: readonly HarPair[]
  readonly headersSize: number
  readonly bodySize: number
}

interface HarPair {
  readonly name: string
  readonly value: string
}

/** @param exchanges in any order; the archive lists them by time */
export function harOf(exchanges: Iterable<HarSource>): Har {
  const entries = [...exchanges].sort((one, other) => one.at - other.at).map(entryOf)
  return { log: { version: '1.2', creator: CREATOR, pages: [], entries } }
}

/** Its version is that of the form of the entries. */
const CREATOR = { name: 'animal-adoption-store', version: '1' }

function entryOf(source: HarSource): HarEntry {
  const { at, answeredAt } = source
  const time = answeredAt === null ? 0 : Math.max(0, answeredAt - at)
  const comment = commentOf(source)
  return {
    startedDateTime: new Date(at).toISOString(),
    time,
    request: requestOf(source),
    response: responseOf(source),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    ...(comment !== '' && { comment }),
  }
}

function requestOf({ method, origin, url, requestHeaders, requestBody }: HarSource): HarRequest {
  const body = contentOf(requestBody)
  const mimeType = requestHeaders['content-type'] ?? ''
  const postData = body && {
    mimeType,
    text: body.text,
    ...(body.encoding && { _encoding: body.encoding }),
  }
  return {
    method,
    url: origin + url,
    ...messageOf(requestHeaders, body?.size ?? 0),
    queryString: pairsIn(splitTarget(url).query),
    ...(postData && { postData }),
  }
}

function responseOf({ status, headers, body }: HarSource): HarResponse {
  const { size = 0, ...content } = contentOf(body) ?? {}
  return {
    status: status ?? 0,
    statusText: '',
    ...messageOf(headers, status === null ? -1 : size),
    content: { size, mimeType: headers['Content-Type'] ?? 'x-unknown', ...content },
    redirectURL: '',
  }
}

/** Sizes of headers are those of the wire, which nobody has measured. */
function messageOf(headers: Readonly<Record<string, string>>, bodySize: number): HarMessage {
  return {
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    headersSize: -1,
    bodySize,
  }
}

function pairsIn(query: string): readonly HarPair[] {
  return [...new URLSearchParams(query)].map(([name, value]) => ({ name, value }))
}

interface Content {
  readonly size: number
  readonly text: string
  readonly encoding?: 'base64'
}

function contentOf(body: HarSource['body']): Content | undefined {
  if (body === null || body.length === 0) return undefined
  if (typeof body === 'string') return { size: utf8Length(body), text: body }
  const size = body.length
  try {
    return { size, text: STRICT.decode(body) }
  } catch {
    const characters = Array.from(body, byte => String.fromCharCode(byte)).join('')
    return { size, text: btoa(characters), encoding: 'base64' }
  }
}

/** Keeps a byte order mark, which is part of the body. */
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function commentOf({ key, fault, answeredAt }: HarSource): string {
  const notes = [
    ...(key === null ? [] : [`API key: ${key}`]),
    ...(fault === null ? [] : [`fault: ${fault}, ${FAULT_KINDS[fault].comment}`]),
    ...(answeredAt === null && fault !== 'hang' ? ['still in flight'] : []),
  ]
  return notes.join('; ')
}
