import { toJson } from '../../src/lib/json.js'
import { isPast, startOfDay } from '../../src/limits/memory-rate-limits.js'
import type { RateLimitSnapshot } from '../../src/ports.js'
import { subtleCrypto, TextEncoder } from '../platform.js'
import type { Exchange } from '../verdict/log/exchange.js'
import type { JournalState } from '../verdict/log/recorder.js'

/** Returns SHA-256 in hex, independent of the order of fields. */
export async function digestOf(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(toJson(sorted(value)))
  const hash = await subtleCrypto().digest('SHA-256', bytes)
  return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]))
}

/** Omits usage that the next request may forget, and the addresses of callers. */
export function usageThatCounts(usage: RateLimitSnapshot, now: number): readonly unknown[] {
  const start = startOfDay(now)
  return usage
    .filter(([, counts]) => !isPast(counts, start))
    .map(([partition, counts]) => toJson(sorted([partition.replace(/^addr:.*/s, 'addr:'), counts])))
    .sort()
}

/** Omits connections and most headers, which depend on the network and the entry point. */
export function withoutNetwork({ connections: _, exchanges, ...journal }: JournalState) {
  return { ...journal, exchanges: exchanges.map(withoutConnection) }
}

function withoutConnection({ requestHeaders, headers, ...exchange }: Exchange) {
  const { connection: _, sequential: __, overlap: ___, ...rest } = exchange
  // Sent over HTTP, and by default not in process.
  const own = Object.entries(headers).filter(([name]) => !/^(Access-Control-|Vary$)/.test(name))
  return {
    ...rest,
    headers: own,
    requestHeaders: OWN_HEADERS.map(name => requestHeaders[name] ?? null),
  }
}

/** Headers that can change the response; clients add others, such as user-agent. */
const OWN_HEADERS = ['content-type', 'origin']
