import { fetchCodeOf } from '../exchanges/code.js'
import { curlOf } from '../exchanges/curl.js'
import { type Entry, entryOf } from '../exchanges/entry.js'
import { messageOf, textOf } from '../exchanges/exchange.js'
import { type Redact, redactedBody, redactedHeaders, redactorOf } from '../exchanges/redact.js'
import type { Kept } from './activity.js'
import { hintsOf } from './hints.js'

/** A request in the list. It contains only public API keys, as everything here does. */
export interface Listed extends Entry {
  readonly n: number
  /** That of the Error body. */
  readonly message: string | null
  /** What its sender probably meant, or would have got without shadow mode. */
  readonly hints: readonly string[]
}

/** Everything about one exchange, as JSON. */
export interface ExchangeDetail extends Listed {
  readonly request: Side
  readonly response: Side
  /** Programs that send the request again. */
  readonly programs: { readonly curl: string; readonly fetch: string }
}

export interface Side {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
  /** How many bytes or characters of the body are left out. */
  readonly omitted: number
}

/** An exchange with the keys to redact in it, and those that the page may show. */
export interface Shown extends Kept {
  readonly keys: readonly string[]
  readonly publicKeys: readonly string[]
  readonly isPublicKey: (key: string) => boolean
}

const MAX_BODY = 64 * 1024

export function listedOf(shown: Shown): Listed {
  const { n, request, response, publicKeys } = shown
  const redact = redactorOf(shown, 'words')
  const message = messageOf(response)
  return {
    n,
    ...entryOf(shown),
    message: message === null ? null : redact(message),
    hints: hintsOf({ request, response, redact, publicKeys }),
  }
}

/**
 * @param origin where the API is, for the programs
 * @param longest how much of a body to show
 */
export function detailOf(shown: Shown, origin: string, longest = MAX_BODY): ExchangeDetail {
  const { request, response } = shown
  const redact = redactorOf(shown, 'words')
  const headers = shownHeaders(shown, redact)
  const { method, path, query } = request
  const target = redact(path) + (query && `?${redact(query)}`)
  const body = redactedBody(request.body, redact)
  const again = { method: redact(method), target, headers, body }
  return {
    ...listedOf(shown),
    request: { headers: Object.entries(headers), ...shortened(textOf(body), longest) },
    response: {
      headers: Object.entries(response.headers).map(([name, value]) => [name, redact(value)]),
      ...shortened(redact(response.body), longest),
    },
    programs: {
      curl: curlOf(again, origin, CURL),
      fetch: fetchCodeOf(again, origin),
    },
  }
}

/** Whether a text occurs in what the page shows of an exchange, in any case. */
export function contains(shown: Shown, text: string): boolean {
  const { request, response } = shown
  const redact = redactorOf(shown, 'words')
  const parts = [request.path, request.query, textOf(request.body), response.body]
  return parts.some(part => redact(part).toLowerCase().includes(text.toLowerCase()))
}

const CURL = { print: '-i', separator: ' \\\n  ' } as const

function shownHeaders(
  { request: { headers }, isPublicKey }: Shown,
  redact: Redact,
): Record<string, string> {
  const shown = redactedHeaders(headers, redact)
  const { authorization = '' } = headers
  const [, scheme, token = ''] = /^(bearer) +(\S+)$/i.exec(authorization) ?? []
  return isPublicKey(token) ? { ...shown, authorization: `${scheme} ${token}` } : shown
}

function shortened(text: string, longest: number): Pick<Side, 'body' | 'omitted'> {
  return { body: text.slice(0, longest), omitted: Math.max(0, text.length - longest) }
}
