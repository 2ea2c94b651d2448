import type { Finding, ShownRequest } from './report.js'
import { type Beginning, type Breach, MOST_SHOWN, RULES, type RuleId, type Seen } from './rules.js'

const MOST_TEXTS = 3
const MOST_REQUESTS = 3

/** Where something was seen: the number of the period, and its name in the report. */
export interface PeriodName {
  /** 1, 2, 3 … */
  readonly number: number
  readonly where: string | null
}

/** What was violated so far: one entry per rule and key, however often it happened. */
export interface Tally {
  add(breaches: readonly Breach[], period: PeriodName): void
  /** In the order in which they began. */
  list(
    allow: readonly RuleId[],
  ): readonly { readonly isLikely: boolean; readonly finding: Finding }[]
  copy(): Tally
}

interface Entry {
  readonly rule: RuleId
  readonly key: string | null
  readonly isLikely: boolean
  readonly first: Beginning
  readonly period: PeriodName
  /** How often each was seen. */
  readonly texts: Map<string, number>
  /** How many others there were. */
  more: number
  readonly requests: Set<number>
  /** The first of these. */
  readonly shown: Seen[]
}

export function createTally(entries: Map<string, Entry> = new Map()): Tally {
  return {
    add(breaches, period) {
      for (const { rule, seen, exchanges, began, isLikely = false } of breaches) {
        const [first = began] = exchanges
        if (!first) continue
        const { key } = first
        const id = `${rule} ${isLikely} ${key}`
        const entry = entries.get(id) ?? {
          ...{ rule, key, isLikely, first, period },
          ...{ texts: new Map(), more: 0, requests: new Set() },
          shown: [],
        }
        entries.set(id, entry)
        if (entry.texts.has(seen) || entry.texts.size < MOST_TEXTS) {
          entry.texts.set(seen, (entry.texts.get(seen) ?? 0) + 1)
        } else entry.more++
        if (entry.period.number !== period.number) continue
        for (const exchange of exchanges) show(entry, exchange)
      }
    },
    list(allow) {
      return [...entries.values()].sort(byBeginning).map(entry => ({
        isLikely: entry.isLikely,
        finding: findingOf(entry, allow),
      }))
    },
    copy() {
      const copies = [...entries].map(([id, { texts, requests, shown, ...entry }]) => {
        const lists = { texts: new Map(texts), requests: new Set(requests), shown: [...shown] }
        return [id, { ...entry, ...lists }] as const
      })
      return createTally(new Map(copies))
    },
  }
}

function show({ requests, shown }: Entry, exchange: Seen): void {
  if (requests.size >= MOST_SHOWN || requests.has(exchange.n)) return
  requests.add(exchange.n)
  if (shown.length < MOST_REQUESTS) shown.push(exchange)
}

function byBeginning(one: Entry, other: Entry): number {
  return one.period.number - other.period.number || one.first.n - other.first.n
}

function findingOf(
  { rule, key, first, period, texts, more, requests, shown }: Entry,
  allow: readonly RuleId[],
): Finding {
  const seen = [...texts].map(([text, times]) => (times === 1 ? text : `${text} (${times} times)`))
  return {
    rule,
    key,
    seen: more === 0 ? seen.join('; ') : `${seen.join('; ')}; and ${more} more`,
    fix: RULES.find(({ id }) => id === rule)?.fix ?? '',
    at: first.at,
    iso: new Date(first.at).toISOString(),
    where: period.where,
    requests: [...requests],
    shown: shown.map(requestOf),
    allowed: allow.includes(rule),
  }
}

function requestOf({ n, at, method, url, status, headers }: Seen): ShownRequest {
  const retryAfter = headers['retry-after'] ?? null
  return { n, iso: new Date(at).toISOString(), method, url, status, retryAfter }
}
