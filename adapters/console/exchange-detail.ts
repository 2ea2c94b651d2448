import type { ReadRequest } from '../shared/read-request.js'
import { REDACTED, redactor } from './entry.js'
import type { Recorded } from './recorder.js'

/** Which API keys may be shown. */
interface Keys {
  readonly secret: readonly string[]
  readonly isPublic: (key: string) => boolean
}

/** Everything about one exchange, as JSON. It contains only public API keys. */
export interface ExchangeDetail {
  readonly request: Side
  readonly response: Side
  /** A command that sends the request again. */
  readonly curl: string
}

interface Side {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  /** How many bytes or characters of the body are left out. */
  readonly omitted: number
}

const MAX_BODY = 64 * 1024

/** @param origin where the API is, for curl */
export function detailOf(exchange: Recorded, keys: Keys, origin: string): ExchangeDetail {
  const { request, response } = exchange
  const redact = redactor(request, keys.secret)
  const requestHeaders = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, headerValue(name, value, redact, keys)] as const],
  )
  const body = bodyText(request.body)
  return {
    request: { headers: requestHeaders, ...shortened(redact(body)) },
    response: {
      headers: Object.entries(response.headers).map(([name, value]) => [name, redact(value)]),
      ...shortened(redact(response.body)),
    },
    curl: curlOf(request, requestHeaders, redact, origin),
  }
}

function headerValue(
  name: string,
  value: string,
  redact: (text: string) => string,
  keys: Keys,
): string {
  if (name !== 'authorization') return redact(value)
  const [, scheme, token = ''] = /^(bearer) +(\S+)$/i.exec(value) ?? []
  return keys.isPublic(token) ? `${scheme} ${token}` : redact(value)
}

function bodyText(body: ReadRequest['body']): string {
  return typeof body === 'string' || body === undefined
    ? (body ?? '')
    : new TextDecoder().decode(body)
}

function shortened(text: string): Pick<Side, 'body' | 'omitted'> {
  return { body: text.slice(0, MAX_BODY), omitted: Math.max(0, text.length - MAX_BODY) }
}

/** Headers that curl sends by itself, or that describe a connection. */
const NOT_FOR_CURL = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
  'user-agent',
])

function curlOf(
  { method, path, query, body }: ReadRequest,
  headers: ExchangeDetail['request']['headers'],
  redact: (text: string) => string,
  origin: string,
): string {
  const url = `${origin}${redact(path)}${query && `?${redact(query)}`}`
  const content = redact(bodyText(body))
  const words = [
    'curl -i',
    ...(method === 'GET' || (method === 'POST' && content !== '') ? [] : [methodOption(method)]),
    quote(url),
    ...headers
      .filter(([name, value]) => !NOT_FOR_CURL.has(name) && `${name}: ${value}` !== 'accept: */*')
      .map(
        ([name, value]) => `-H ${quote(`${titled(name)}: ${value}`).replace(REDACTED, API_KEY)}`,
      ),
    ...(content === '' ? [] : [`--data-raw ${quote(content)}`]),
  ]
  return words.join(' \\\n  ')
}

/** Closes the single quotes around a value that the shell expands. */
const API_KEY = `'"$API_KEY"'`

function methodOption(method: string): string {
  return method === 'HEAD' ? '-I' : `-X ${quote(method)}`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function titled(name: string): string {
  return name.replace(/(^|-)[a-z]/g, letter => letter.toUpperCase())
}
