import type { Recorded } from '../exchanges/exchange.js'
import { type HarSource, harOf, harSourceOf } from '../exchanges/har.js'
import { detailOf, type Shown } from './exchange-detail.js'

/** Exchanges as a file, with whole bodies. JSON contains public API keys, HAR none. */
export function exported(
  format: 'har' | 'json',
  exchanges: readonly Shown[],
  origin: string,
): string {
  const file =
    format === 'har'
      ? harOf(exchanges.map(shown => sourceOf(shown, origin)))
      : { exchanges: exchanges.map(shown => wholeOf(shown, origin)) }
  return `${JSON.stringify(file, null, 2)}\n`
}

function wholeOf(shown: Shown, origin: string) {
  const { programs: _, ...detail } = detailOf(shown, origin, Number.POSITIVE_INFINITY)
  return detail
}

/** A console does not see the connections of requests. */
function sourceOf(shown: Shown, origin: string): HarSource {
  const { n, at, ms, response } = shown
  const { about, status } = response
  const recorded: Recorded = {
    ...shown,
    n,
    at: at - (ms ?? 0),
    operation: about?.operation,
    key: about?.key?.id,
    connection: null,
    sequential: false,
    overlap: 'none',
    fault: status === 0 ? 'hang' : null,
    answer: status === 0 ? undefined : { at, response },
  }
  return harSourceOf(recorded, true, origin)
}
