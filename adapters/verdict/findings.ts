import { callSiteOf } from './call-site.js'
import { traceIdOf } from './log/log-entry.js'
import type { Finding, Report, ShownRequest } from './report.js'
import { RULES, type Rule, type RuleId } from './rules/index.js'
import { type Beginning, endOf, MOST_SHOWN, type Seen, type Violation } from './rules/rule.js'

const MOST_TEXTS = 3
const MOST_REQUESTS = 4
const MOST_SENTENCES = 3

export interface Place {
  readonly number: number
  readonly where: string | null
}

interface Entry {
  readonly rule: string
  readonly keyId: string | null
  readonly isLikely: boolean
  readonly first: Beginning
  readonly place: Place
  readonly texts: Map<string, number>
  more: number
  readonly requests: Set<number>
  /** The first of `requests`, and the rejection that each ignored. */
  readonly shown: { readonly exchange: Seen; readonly cause: Seen | undefined }[]
  readonly evidence: string[]
}

/** Collects violations: one entry per rule and key, however often it happened. */
export function createFindings(entries: Map<string, Entry> = new Map()) {
  return {
    /** @param after leaves out exchanges up to this one, and violations that only these show */
    add(violations: readonly Violation[], place: Place, after = 0): void {
      for (const { rule, seen, exchanges, after: causes, began, isLikely = false } of violations) {
        const all = exchanges.map((exchange, at) => ({ exchange, cause: causes?.[at] }))
        const shown = all.filter(({ exchange }) => exchange.n > after)
        const first = shown[0]?.exchange ?? began
        if (!first) continue
        const { keyId } = first
        const id = `${rule} ${isLikely} ${keyId}`
        const entry: Entry = entries.get(id) ?? {
          ...{ rule, keyId, isLikely, first, place, texts: new Map(), more: 0 },
          ...{ requests: new Set(), shown: [], evidence: [] },
        }
        entries.set(id, entry)
        if (entry.texts.has(seen) || entry.texts.size < MOST_TEXTS) {
          entry.texts.set(seen, (entry.texts.get(seen) ?? 0) + 1)
        } else entry.more++
        if (entry.place.number === place.number) {
          for (const { exchange, cause } of shown) {
            if (cause && cause.n > after) show(entry, cause)
            show(entry, exchange, cause)
            if (cause && entry.evidence.length < MOST_SENTENCES) {
              entry.evidence.push(evidenceOf(exchange, cause))
            }
          }
        }
      }
    },
    list(allow: readonly RuleId[]): Pick<Report, 'findings' | 'notes'> {
      const all = [...entries.values()].sort(
        (a, b) => a.place.number - b.place.number || a.first.n - b.first.n,
      )
      const of = (likely: boolean) =>
        all.filter(({ isLikely }) => isLikely === likely).map(entry => findingOf(entry, allow))
      return { findings: of(false), notes: of(true) }
    },
    copy: () => structuredClone(entries),
  }
}

function show({ requests, shown }: Entry, exchange: Seen, cause?: Seen): void {
  if (requests.size >= MOST_SHOWN || requests.has(exchange.n)) return
  requests.add(exchange.n)
  if (shown.length < MOST_REQUESTS) shown.push({ exchange, cause })
}

function findingOf(entry: Entry, allow: readonly string[]): Finding {
  const { rule, keyId, first, place, texts, more, requests, shown, evidence } = entry
  const seen = [...texts].map(([text, times]) => (times === 1 ? text : `${text} (${times} times)`))
  const { fix, flag = null } = RULES.find(({ id }) => id === rule) as Rule
  const sentFrom = first.stack && callSiteOf(first.stack)
  const finding: Finding = {
    rule: rule as RuleId,
    keyId,
    seen: more === 0 ? seen.join('; ') : `${seen.join('; ')}; and ${more} more`,
    fix,
    flag,
    at: clockOf(first),
    iso: new Date(clockOf(first)).toISOString(),
    where: place.where,
    requests: [...requests],
    shown: shown.map(({ exchange, cause }) => requestOf(exchange, cause?.n)),
    evidence,
    allowed: allow.includes(rule),
  }
  return sentFrom ? Object.defineProperty(finding, 'sentFrom', { value: sentFrom }) : finding
}

/** Such as `request 3 came 0.02 s after request 2, which got 503 with Retry-After: 1`. */
function evidenceOf({ n, at }: Seen, cause: Seen): string {
  const gap = Math.max(0, at - endOf(cause)) / 1_000
  const { 'retry-after': retryAfter, 'x-ratelimit-reset': reset } = cause.headers
  const wait =
    retryAfter === undefined ? `X-RateLimit-Reset: ${reset}` : `Retry-After: ${retryAfter}`
  const seconds = gap < 1 ? Number(gap.toPrecision(2)) : Math.round(gap * 10) / 10
  return `request ${n} came ${seconds} s after request ${cause.n}, which got ${cause.status} with ${wait}`
}

function requestOf(exchange: Seen, tooEarlyAfter: number | null = null): ShownRequest {
  const { n, method, url, status, headers, requestHeaders } = exchange
  const traceId = traceIdOf(requestHeaders)
  const retryAfter = headers['retry-after'] ?? null
  const iso = new Date(clockOf(exchange)).toISOString()
  return { n, iso, method, url, status, retryAfter, tooEarlyAfter, traceId }
}

/** The time of the clock, without what clients have really waited. */
function clockOf({ at, lag }: Beginning): number {
  return at - (lag?.at ?? 0)
}
