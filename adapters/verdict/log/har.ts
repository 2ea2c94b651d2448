import { utf8Length } from '../../../src/lib/utf8.js'
import { splitTarget } from '../../http/target-and-body.js'
import { utf8Text } from './copy-as-curl.js'
import { type Exchange, exchangeOf, originOf, type Recorded } from './exchange.js'
import { FAULT_KINDS } from './fault-kinds.js'
import { redactedBody, redactorOf } from './redact.js'

/** HTTP Archive 1.2, which the developer tools of browsers open. Plain JSON. */
export type Har = ReturnType<typeof harOf>
export type HarEntry = ReturnType<typeof entryOf>

/** An exchange without credentials, with the bytes of its bodies if available. */
export interface HarSource extends Pick<Exchange, Shown> {
  /** Origin of the request, such as `http://127.0.0.1:4280`. */
  readonly origin: string
  readonly requestBody: Uint8Array | string | null
  readonly body: Uint8Array | string | null
}

type Message = 'method' | 'url' | 'status' | 'requestHeaders' | 'headers'
type Shown = Message | 'at' | 'answeredAt' | 'keyId' | 'fault' | 'connection'

/** Redacts short keys too, because files are shared. */
export function harSourceOf(recorded: Recorded, origin: string): HarSource {
  const redact = redactorOf(recorded, 'words')
  return {
    ...exchangeOf(recorded, redact),
    origin: originOf(recorded.request.headers, origin),
    requestBody: redactedBody(recorded.request.body, redact),
  }
}

/** @param exchanges in any order; the archive lists them by time */
export function harOf(exchanges: Iterable<HarSource>) {
  const entries = [...exchanges].sort((one, other) => one.at - other.at).map(entryOf)
  // The creator's version is that of the entries' form.
  const creator = { name: 'animal-adoption-store', version: '1' }
  // Optional in HAR 1.2, but Firefox imports nothing without `pages`.
  return { log: { version: '1.2', creator, pages: [] as never[], entries } }
}

/** Times are ms by the store's clock. */
function entryOf(source: HarSource) {
  const { at, answeredAt, connection } = source
  const time = answeredAt === null ? 0 : Math.max(0, answeredAt - at)
  const comment = commentOf(source)
  return {
    startedDateTime: new Date(at).toISOString(),
    time,
    request: requestOf(source),
    response: responseOf(source),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    ...(connection !== null && { connection: String(connection) }),
    ...(comment !== '' && { comment }),
  }
}

function requestOf({ method, origin, url, requestHeaders, requestBody }: HarSource) {
  const { size, text, encoding } = contentOf(requestBody)
  const mimeType = requestHeaders['content-type'] ?? ''
  // HAR 1.2 has no field for request bytes that are not text.
  const postData = { mimeType, text, ...(encoding && { _encoding: encoding }) }
  return {
    method,
    url: origin + url,
    ...messageOf(requestHeaders, size),
    queryString: pairsOf(new URLSearchParams(splitTarget(url).query)),
    ...(size > 0 && { postData }),
  }
}

/** Status 0 stands for a missing response. */
function responseOf({ status, headers, body }: HarSource) {
  const { size, text, encoding } = contentOf(body)
  const mimeType = headers['Content-Type'] ?? 'x-unknown'
  return {
    status: status ?? 0,
    statusText: '',
    ...messageOf(headers, status === null ? -1 : size),
    content: { size, mimeType, ...(size > 0 && { text }), ...(encoding && { encoding }) },
    redirectURL: '',
  }
}

/** Header sizes on the wire are unknown. */
function messageOf(headers: Readonly<Record<string, string>>, bodySize: number) {
  return {
    httpVersion: 'HTTP/1.1',
    cookies: [] as never[],
    headers: pairsOf(Object.entries(headers)),
    headersSize: -1,
    bodySize,
  }
}

function pairsOf(pairs: Iterable<[name: string, value: string]>) {
  return Array.from(pairs, ([name, value]) => ({ name, value }))
}

function contentOf(body: HarSource['body']) {
  const text = body instanceof Uint8Array ? utf8Text(body) : (body ?? '')
  if (text !== undefined) return { size: utf8Length(text), text, encoding: undefined }
  const characters = Array.from(body as Uint8Array, byte => String.fromCharCode(byte)).join('')
  return { size: characters.length, text: btoa(characters), encoding: 'base64' as const }
}

function commentOf({ keyId, fault, answeredAt }: HarSource): string {
  const notes = [
    ...(keyId === null ? [] : [`API key: ${keyId}`]),
    ...(fault === null ? [] : [`fault: ${fault}, ${FAULT_KINDS[fault].comment}`]),
    ...(answeredAt === null && fault !== 'hang' ? ['still in flight'] : []),
  ]
  return notes.join('; ')
}
