import type { Clock } from '../../../src/ports.js'
import type { Exchange } from '../exchange.js'
import { type Breach, MOST_SHOWN, RULES, type RuleId, type Seen, type Watch } from './rules.js'
import { KEY_WATCHES, STRANGER_WATCHES } from './watches.js'

/** What a client did wrong. */
export interface Report {
  /** Whether there is no finding, apart from allowed ones. */
  readonly ok: boolean
  /** How many requests it covers. */
  readonly requests: number
  /** How many earlier requests the journal has dropped. */
  readonly dropped: number
  /** What is certain. */
  readonly findings: readonly Finding[]
  /** What is likely, but has another explanation. */
  readonly notes: readonly Finding[]
}

/** One rule violated with one key. */
export interface Finding {
  readonly rule: RuleId
  /** The id of the key; null for requests without a valid one. */
  readonly key: string | null
  readonly seen: string
  readonly fix: string
  /** When it was first seen, by the double's clock. */
  readonly at: number
  readonly iso: string
  /** Where it was first seen, such as 'world w1, after reset 2'; null for the journal. */
  readonly where: string | null
  /** The `n` of the exchanges there that show it: the first hundred. */
  readonly requests: readonly number[]
  /** Whether the option `allow` lists this rule. */
  readonly allowed: boolean
}

/** Listens to everything that happens, however often a double is reset. */
export interface Verdict {
  /** Starts a period that a reset ends. */
  record(where: string | null, now: Clock): Recording
  report(): Report
}

export interface Recording {
  /** A request has arrived. */
  arrive(): void
  /** It has been answered, or never will be. */
  see(exchange: Exchange): void
  end(): void
}

/** The verdict on all worlds, and which of them this is. */
export interface Above {
  readonly verdict: Verdict
  readonly world: string
}

interface Period {
  /** 1, 2, 3 … */
  readonly number: number
  readonly where: string | null
  readonly now: Clock
  readonly callers: Map<string | null, Caller>
}

interface Caller {
  readonly watches: readonly Watch[]
  /** The first connections, as many as it takes to recognize a pool. */
  readonly connections: Set<number | null>
}

/** Node's `fetch` alternates between two connections even when it sends one request at a time. */
const MOST_ALTERNATING = 2

/**
 * @param allow rules that a test breaks on purpose: listed, but not held against the client
 * @param above hears everything as well, as of that world
 */
export function createVerdict(allow: readonly RuleId[] = [], above?: Above): Verdict {
  const past = createTally()
  // Not a Set, whose discarded tables would keep the periods of earlier resets alive.
  let periods: readonly Period[] = []
  let started = 0
  let requests = 0

  return {
    record(where, now) {
      const period: Period = { number: ++started, where, now, callers: new Map() }
      periods = [...periods, period]
      const world = above && `world ${above.world}`
      const other = above?.verdict.record(where === null ? `${world}` : `${world}, ${where}`, now)
      return {
        arrive() {
          requests++
          other?.arrive()
        },
        see(exchange) {
          const { watches, connections } = callerOf(period, exchange.key)
          if (connections.size <= MOST_ALTERNATING) connections.add(exchange.connection)
          const isOneByOne = exchange.sequential || connections.size <= MOST_ALTERNATING
          const seen = seenOf(exchange, isOneByOne)
          for (const watch of watches) past.add(watch.see(seen), exchange.key, period)
          other?.see(exchange)
        },
        end() {
          if (periods.includes(period)) addOpen(past, period)
          periods = periods.filter(other => other !== period)
          other?.end()
        },
      }
    },
    report() {
      const tally = past.copy()
      for (const period of periods) addOpen(tally, period)
      const all = tally.list(allow)
      const findings = all.filter(({ isLikely }) => !isLikely).map(({ finding }) => finding)
      const notes = all.filter(({ isLikely }) => isLikely).map(({ finding }) => finding)
      const ok = findings.every(({ allowed }) => allowed)
      return { ok, requests, dropped: 0, findings, notes }
    },
  }
}

/** The verdict on a journal. */
export function reportOn(
  journal: { readonly exchanges: readonly Exchange[]; readonly dropped: number },
  now: number,
  allow?: readonly RuleId[],
): Report {
  const verdict = createVerdict(allow)
  const recording = verdict.record(null, () => now)
  for (const _ of journal.exchanges) recording.arrive()
  const complete = journal.exchanges.filter(
    ({ answeredAt, fault }) => answeredAt !== null || fault === 'hang',
  )
  for (const exchange of complete.sort(byAnswer)) recording.see(exchange)
  return { ...verdict.report(), dropped: journal.dropped }
}

/** The report for people. */
export function reportText({ requests, dropped, findings, notes }: Report): string {
  if (requests === 0) {
    return 'Verdict: no requests arrived, so nothing was checked. Does the client use the base URL of this store?\n'
  }
  const covered = `${count(requests, 'request')}${dropped > 0 ? ` (${dropped} earlier ones were dropped)` : ''}`
  const found = findings.length === 0 ? 'no violations' : count(findings.length, 'finding')
  const noted = notes.length === 0 ? '' : ` and ${count(notes.length, 'note')}`
  const rows = [
    ...findings.map(finding => row(finding, finding.allowed ? ' (allowed)' : '')),
    ...notes.map(note => row(note, ' (likely)')),
  ]
  return `Verdict: ${found}${noted} in ${covered}.\n${rows.join('')}`
}

function row({ rule, key, iso, where, seen, fix }: Finding, mark: string): string {
  const who = key === null ? 'no valid key' : `key ${key}`
  const place = where === null ? '' : `, ${where}`
  return `  ${rule}${mark} (${who}, first at ${iso}${place})\n    seen: ${seen}\n    fix: ${fix}\n`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** A copy without bodies, as the journal may keep much more of an exchange than the rules do. */
function seenOf(exchange: Exchange, isOneByOne: boolean): Seen {
  return {
    n: exchange.n,
    at: exchange.at,
    answeredAt: exchange.answeredAt,
    key: exchange.key,
    operation: exchange.operation,
    requestDigest: exchange.requestDigest,
    unknown: exchange.unknown,
    status: exchange.status,
    code: exchange.code,
    headers: headersThatCount(exchange.headers),
    fault: exchange.fault,
    connection: exchange.connection,
    sequential: exchange.sequential,
    isOneByOne,
  }
}

const HEADERS = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after', 'www-authenticate']

function headersThatCount(headers: Exchange['headers']): Exchange['headers'] {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (HEADERS.includes(lower)) kept[lower] = headers[name] as string
  }
  return kept
}

function callerOf({ callers }: Period, key: string | null): Caller {
  const known = callers.get(key)
  if (known) return known
  const watches = (key === null ? STRANGER_WATCHES : KEY_WATCHES).map(watch => watch())
  const caller = { watches, connections: new Set<number | null>() }
  callers.set(key, caller)
  return caller
}

function addOpen(tally: Tally, period: Period): void {
  for (const [key, { watches }] of period.callers) {
    for (const watch of watches) tally.add(watch.open(period.now()), key, period)
  }
}

function byAnswer(one: Exchange, other: Exchange): number {
  return (one.answeredAt ?? one.at) - (other.answeredAt ?? other.at) || one.n - other.n
}

const MOST_TEXTS = 3

/** What was violated so far: one entry a rule and key, however often it happened. */
interface Tally {
  add(breaches: readonly Breach[], key: string | null, period: Period): void
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
  readonly first: Seen
  readonly period: Pick<Period, 'number' | 'where'>
  /** How often each was seen. */
  readonly texts: Map<string, number>
  /** How many others there were. */
  more: number
  readonly requests: Set<number>
}

function createTally(entries: Map<string, Entry> = new Map()): Tally {
  return {
    add(breaches, key, { number, where }) {
      for (const { rule, seen, exchanges, isLikely = false } of breaches) {
        const [first] = exchanges
        if (!first) continue
        const id = `${rule} ${isLikely} ${key}`
        const entry = entries.get(id) ?? {
          ...{ rule, key, isLikely, first, period: { number, where } },
          ...{ texts: new Map(), more: 0, requests: new Set() },
        }
        entries.set(id, entry)
        if (entry.texts.has(seen) || entry.texts.size < MOST_TEXTS) {
          entry.texts.set(seen, (entry.texts.get(seen) ?? 0) + 1)
        } else entry.more++
        if (entry.period.number !== number) continue
        for (const { n } of exchanges) if (entry.requests.size < MOST_SHOWN) entry.requests.add(n)
      }
    },
    list(allow) {
      return [...entries.values()].sort(byBeginning).map(entry => ({
        isLikely: entry.isLikely,
        finding: findingOf(entry, allow),
      }))
    },
    copy() {
      const copies = [...entries].map(([id, { texts, requests, ...entry }]) => {
        return [id, { ...entry, texts: new Map(texts), requests: new Set(requests) }] as const
      })
      return createTally(new Map(copies))
    },
  }
}

function byBeginning(one: Entry, other: Entry): number {
  return one.period.number - other.period.number || one.first.n - other.first.n
}

function findingOf(
  { rule, key, first, period, texts, more, requests }: Entry,
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
    allowed: allow.includes(rule),
  }
}
