import { count } from '../../src/lib/count.js'
import type { CallSite } from './call-site.js'
import type { RuleId } from './rules/index.js'

/** What a client did wrong. */
export interface Report {
  /** Whether there is no finding, apart from allowed ones. */
  readonly ok: boolean
  /** How many requests it covers. */
  readonly requests: number
  /** How many requests the journal has dropped; they are judged nevertheless. */
  readonly dropped: number
  /** What is certain. */
  readonly findings: readonly Finding[]
  /** What is likely, but has another explanation. */
  readonly notes: readonly Finding[]
}

/** One rule violated with one key. */
export interface Finding {
  readonly rule: RuleId
  /** The id of the key; null for requests without a valid one, and for a fault of every key. */
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
  /** The first few of them, for when the journal no longer has them. */
  readonly shown: readonly ShownRequest[]
  /** What they show, in sentences that name the requests: the first three. */
  readonly evidence: readonly string[]
  /** Whether the option `allow` lists this rule. */
  readonly allowed: boolean
  /**
   * The line that sent the first of its requests, where stacks are captured. Not enumerable: reports are
   * the same with and without it.
   */
  readonly sentFrom?: CallSite | undefined
}

/** What a finding shows of a request. */
export interface ShownRequest {
  readonly n: number
  /** By the double's clock. */
  readonly iso: string
  readonly method: string
  /** Path and query, of which long ones are cut. */
  readonly url: string
  /** Null when it was never answered. */
  readonly status: number | null
  /** The header as it was sent. */
  readonly retryAfter: string | null
}

/** The client was not polite, or nothing shows that it is. */
export class VerdictError extends Error {
  override readonly name = 'VerdictError'
  readonly report: Report

  /** @param text the report for people */
  constructor(report: Report, text: string = reportText(report, { withRequests: true })) {
    super(text)
    this.report = report
  }
}

/**
 * The report for people.
 *
 * @param options.withRequests also shows the first requests of each finding
 */
export function reportText(
  { requests, dropped, findings, notes }: Report,
  { withRequests = false } = {},
): string {
  const covered = `${count(requests, 'request')}${dropped > 0 ? ` (the journal has dropped ${dropped})` : ''}`
  const found = findings.length === 0 ? 'no violations' : count(findings.length, 'finding')
  const noted = notes.length === 0 ? '' : ` and ${count(notes.length, 'note')}`
  const textOf = withRequests ? findingText : row
  const rows = [
    ...findings.map(finding => textOf(finding, finding.allowed ? ' (allowed)' : '')),
    ...notes.map(note => textOf(note, ' (likely)')),
  ]
  const verdict = requests === 0 ? UNTESTED : `${found}${noted} in ${covered}.`
  return `Verdict: ${verdict}\n${rows.join('')}`
}

const UNTESTED =
  'no requests arrived, so nothing was checked. Does the client use the base URL of this store?'

/** A finding with its first requests. */
export function findingText(finding: Finding, mark = ''): string {
  const { requests, shown } = finding
  const more = requests.length - shown.length
  const last = more > 0 ? `    … and ${count(more, 'more request')}\n` : ''
  return row(finding, mark) + shown.map(requestLine).join('') + last
}

function row(
  { rule, key, iso, where, seen, fix, requests, evidence, sentFrom }: Finding,
  mark: string,
): string {
  const nobody = requests.length === 0 ? 'every key' : 'no valid key'
  const who = key === null ? nobody : `key ${key}`
  const place = where === null ? '' : `, ${where}`
  const from = sentFrom
    ? `    sent from: ${sentFrom.file}:${sentFrom.line}:${sentFrom.column}\n`
    : ''
  return `  ${rule}${mark} (${who}, first at ${iso}${place})\n    seen: ${seen}\n${from}${evidence.map(text => `    evidence: ${text}\n`).join('')}    fix: ${fix}\n`
}

function requestLine({ n, iso, method, url, status, retryAfter }: ShownRequest): string {
  const wait = retryAfter === null ? '' : `, Retry-After: ${retryAfter}`
  return `    request ${n}: ${method} ${url} at ${iso} -> ${status ?? 'no response'}${wait}\n`
}
