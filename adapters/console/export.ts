import { type HarSource, harOf } from '../exchanges/har.js'
import { redactedBody, redactorOf } from '../exchanges/redact.js'
import { detailOf, type Shown } from './exchange-detail.js'

/** Exchanges as a file, with whole bodies. It contains only public API keys. */
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
  const { method, path, query, key, status, at, ms, request, response } = wholeOf(shown, origin)
  return {
    at: at - (ms ?? 0),
    answeredAt: status === null ? null : at,
    key,
    method,
    url: query === '' ? path : `${path}?${query}`,
    status,
    requestHeaders: Object.fromEntries(request.headers),
    headers: Object.fromEntries(response.headers),
    fault: status === null ? 'hang' : null,
    origin,
    requestBody: redactedBody(shown.request.body, redactorOf(shown, 'words')),
    body: response.body,
  }
}
