import { type HarSource, harOf } from '../exchanges/har.js'
import { redactedBody, redactedHeaders, redactorOf } from '../exchanges/redact.js'
import { detailOf, type Shown } from './exchange-detail.js'

/** Exchanges as a file, with whole bodies. JSON contains public API keys, HAR none. */
export function exported(
  format: 'har' | 'json',
  exchanges: readonly Shown[],
  origin: string,
): string {
  const file =
    format === 'har'
      ? harOf(exchanges.map(shown => harSourceOf(shown, origin)))
      : { exchanges: exchanges.map(shown => wholeOf(shown, origin)) }
  return `${JSON.stringify(file, null, 2)}\n`
}

function wholeOf(shown: Shown, origin: string) {
  const { programs: _, ...detail } = detailOf(shown, origin, Number.POSITIVE_INFINITY)
  return detail
}

function harSourceOf(shown: Shown, origin: string): HarSource {
  const { method, path, query, key, status, at, ms, response } = wholeOf(shown, origin)
  const redact = redactorOf(shown, 'words')
  return {
    at: at - (ms ?? 0),
    answeredAt: status === null ? null : at,
    key,
    method,
    url: query === '' ? path : `${path}?${query}`,
    status,
    requestHeaders: redactedHeaders(shown.request.headers, redact),
    headers: Object.fromEntries(response.headers),
    fault: status === null ? 'hang' : null,
    origin,
    requestBody: redactedBody(shown.request.body, redact),
    body: response.body,
  }
}
