import type { Exchange } from '../exchange.js'
import type { JournalState } from '../journal.js'
import { RULES } from './rules.js'

/** What a client did wrong, as far as the journal can tell it for certain. */
export interface Report {
  /** Whether no rule was broken. */
  readonly ok: boolean
  /** How many exchanges it is about. */
  readonly requests: number
  /** How many more there were, too many for the journal. */
  readonly dropped: number
  readonly findings: readonly Finding[]
}

/** One rule broken with one key. */
export interface Finding {
  readonly rule: string
  /** The id of the key; null for requests without a valid one. */
  readonly key: string | null
  readonly seen: string
  readonly mend: string
  /** When it was first seen, by the double's clock. */
  readonly at: number
  readonly iso: string
  /** The `n` of the exchanges that show it. */
  readonly requests: readonly number[]
}

export function reportOn({ exchanges, dropped }: JournalState): Report {
  const findings = byCaller(exchanges).flatMap(findingsOf)
  findings.sort((a, b) => (a.requests[0] ?? 0) - (b.requests[0] ?? 0))
  return { ok: findings.length === 0, requests: exchanges.length, dropped, findings }
}

/** The report for people. */
export function reportText({ requests, dropped, findings }: Report): string {
  const count = requests === 1 ? '1 request' : `${requests} requests`
  const seen = `${count}${dropped > 0 ? ` (${dropped} before them are forgotten)` : ''}`
  if (findings.length === 0) return `Verdict: nothing wrong in ${seen}.\n`
  const rows = findings.map(({ rule, key, iso, seen, mend }) =>
    [
      `  ${rule} (${key === null ? 'no valid key' : `key ${key}`}, first at ${iso})`,
      `    seen: ${seen}`,
      `    mend: ${mend}`,
    ].join('\n'),
  )
  const found = findings.length === 1 ? '1 finding' : `${findings.length} findings`
  return `Verdict: ${found} in ${seen}.\n${rows.join('\n')}\n`
}

/** Clients with one key that say by their User-Agent that they are not the same. */
function byCaller(exchanges: readonly Exchange[]): readonly Exchange[][] {
  const callers = new Map<string, Exchange[]>()
  for (const exchange of exchanges) {
    const caller = `${exchange.key}\n${exchange.requestHeaders['user-agent']}`
    const known = callers.get(caller)
    if (known) known.push(exchange)
    else callers.set(caller, [exchange])
  }
  return [...callers.values()]
}

function findingsOf(exchanges: readonly Exchange[]): readonly Finding[] {
  return RULES.flatMap(({ id, of, mend, find }) => {
    const isAbout = exchanges[0]?.key === null ? 'stranger' : 'holder'
    const breaches = of === isAbout ? find(exchanges) : []
    const [first] = breaches
    if (!first?.exchanges[0]) return []
    const { at, key } = first.exchanges[0]
    return {
      rule: id,
      key,
      seen: some(breaches.map(({ seen }) => seen)),
      mend,
      at,
      iso: new Date(at).toISOString(),
      requests: breaches.flatMap(breach => breach.exchanges.map(({ n }) => n)),
    }
  })
}

function some(texts: readonly string[]): string {
  const told = texts.slice(0, 3).join('; ')
  return texts.length > 3 ? `${told}; and ${texts.length - 3} times more` : told
}
