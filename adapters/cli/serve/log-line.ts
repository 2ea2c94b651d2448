import { printable } from '../../../src/lib/printable.js'
import type { Entry } from '../../verdict/log/log-entry.js'

/** An entry, perhaps with the reason why the request never reached the API. */
export type LoggedEntry = Entry & { readonly reason?: string | undefined }

/** Writes JSON with the time in ISO 8601 and pino's level for server failures. */
export function jsonLine({ at, durationMs, ...entry }: LoggedEntry): string {
  const level = entry.status !== null && entry.status < 500 ? 30 : 50
  return JSON.stringify({
    level,
    time: new Date(at).toISOString(),
    ...entry,
    durationMs: rounded(durationMs),
  })
}

/** `12:01:07  GET   /v1/pets?limit=1   429  demo-free   0/60   retry in 26 s   0.2 ms`, in UTC. */
export function prettyLine(colors: boolean): (entry: LoggedEntry) => string {
  const paint = colors ? colored : (_: Color, text: string) => text
  return entry => {
    const { at, method, path, query, status, keyId, remaining, limit, durationMs } = entry
    const target = printable(`${path || '-'}${query && `?${query}`}`)
    const budget = remaining === null ? '' : `${remaining}/${limit}`
    const outcome = outcomeOf(entry)
    return [
      paint('dim', new Date(at).toISOString().slice(11, 19)),
      printable(method || '-').padEnd(4),
      target.padEnd(30),
      paint(colorOf(entry), status === null ? '---' : String(status)),
      printable(keyId ?? '-').padEnd(15),
      budget.padStart(9),
      ...(outcome === '' ? [] : [paint(colorOf(entry), outcome)]),
      paint('dim', `${rounded(durationMs)} ms`),
    ].join('  ')
  }
}

function outcomeOf(entry: LoggedEntry): string {
  const { status, code, retryAfter, lost, replayed, shadowed, reason = '' } = entry
  if (status === null) return 'hangs, never answered'
  if (lost) return 'response lost'
  if (shadowed) return shadowed === 'api_key_banned' ? 'would be banned' : 'would be 429'
  if (replayed) return 'replayed'
  const isBanned = code === 'api_key_banned'
  if (retryAfter === null) return isBanned ? 'banned' : reason
  return `${isBanned ? 'banned for' : 'retry in'} ${waitText(retryAfter)}`
}

/** Rounds to `26 s`, `5 minutes`, `12 hours`: the header has the exact number. */
function waitText(seconds: number): string {
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 100 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}

function colorOf({ status, code }: Entry): Color {
  if (status === null || status >= 500 || code === 'api_key_banned') return 'red'
  if (status === 429) return 'yellow'
  return status >= 400 ? 'cyan' : 'green'
}

type Color = keyof typeof CODES
const CODES = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

function colored(color: Color, text: string): string {
  return `\x1b[${CODES[color]}m${text}\x1b[0m`
}

function rounded(ms: number | null): number {
  return Math.round((ms ?? 0) * 100) / 100
}
