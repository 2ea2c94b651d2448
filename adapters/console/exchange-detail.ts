import { curlOf } from '../exchanges/curl.js'
import type { Answered } from '../exchanges/entry.js'
import { textOf } from '../exchanges/exchange.js'
import { type Redact, redactedBody, redactedHeaders, redactorOf } from '../exchanges/redact.js'
import type { ReadRequest } from '../shared/read-request.js'

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
export function detailOf(
  exchange: Answered & { readonly request: ReadRequest },
  isPublic: (key: string) => boolean,
  origin: string,
): ExchangeDetail {
  const { request, response } = exchange
  const redact = redactorOf(exchange, 'words')
  const headers = shownHeaders(request, redact, isPublic)
  const { method, path, query } = request
  const target = redact(path) + (query && `?${redact(query)}`)
  const body = redactedBody(request.body, redact)
  return {
    request: { headers: Object.entries(headers), ...shortened(textOf(body)) },
    response: {
      headers: Object.entries(response.headers).map(([name, value]) => [name, redact(value)]),
      ...shortened(redact(response.body)),
    },
    curl: curlOf({ method: redact(method), target, headers, body }, origin, CURL),
  }
}

const CURL = { print: '-i', separator: ' \\\n  ' } as const

function shownHeaders(
  { headers }: ReadRequest,
  redact: Redact,
  isPublic: (key: string) => boolean,
): Record<string, string> {
  const shown = redactedHeaders(headers, redact)
  const { authorization = '' } = headers
  const [, scheme, token = ''] = /^(bearer) +(\S+)$/i.exec(authorization) ?? []
  return isPublic(token) ? { ...shown, authorization: `${scheme} ${token}` } : shown
}

function shortened(text: string): Pick<Side, 'body' | 'omitted'> {
  return { body: text.slice(0, MAX_BODY), omitted: Math.max(0, text.length - MAX_BODY) }
}
