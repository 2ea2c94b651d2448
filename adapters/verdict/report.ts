import { brand } from '../../src/lib/brand.js'
import { count } from '../../src/lib/pluralize.js'
import type * as z from '../../src/lib/zod.js'
import type { CallSite } from './call-site.js'
import type { findingSchema, Plain, reportSchema, shownRequestSchema } from './schema.js'

/** The violations of a client. */
export interface Report extends Plain<Omit<z.infer<typeof reportSchema>, 'findings' | 'notes'>> {
  /** Certain violations. */
  readonly findings: readonly Finding[]
  /** Likely violations, which have another explanation. */
  readonly notes: readonly Finding[]
}

/** One rule violated with one key. */
export interface Finding extends Plain<z.infer<typeof findingSchema>> {
  /** The line that sent its first request, on GitHub. Not enumerable, so that reports stay equal. */
  readonly sentFrom?: CallSite | undefined
}

/** A request in a finding. */
export interface ShownRequest extends Plain<z.infer<typeof shownRequestSchema>> {}

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
brand({ VerdictError })

/**
 * The report for people.
 * @param options.withRequests also shows the first requests of each finding
 * @example
 * import { createTestDouble, reportText } from 'animal-adoption-store/test-double'
 *
 * const text = reportText(createTestDouble().report(), { withRequests: true })
 * console.log(text) // prints Verdict: no requests arrived, so nothing was checked. …
 */
export function reportText(report: Report, { withRequests = false } = {}): string {
  const { requestCount, dropped, findings, notes } = report
  const covered = `${count(requestCount, 'request')}${dropped > 0 ? ` (the journal has dropped ${dropped})` : ''}`
  const found = findings.length === 0 ? 'no violations' : count(findings.length, 'finding')
  const noted = notes.length === 0 ? '' : ` and ${count(notes.length, 'note')}`
  const textOf = withRequests ? findingText : row
  const rows = [
    ...findings.map(finding => textOf(finding, finding.allowed ? ' (allowed)' : '')),
    ...notes.map(note => textOf(note, ' (likely)')),
  ]
  const verdict = requestCount === 0 ? UNTESTED : `${found}${noted} in ${covered}.`
  return `Verdict: ${verdict}\n${rows.join('')}`
}

/** Where nothing was checked, the reason takes the place of an empty report. */
export function resultText(report: Report, untested: string | undefined, aside = ''): string {
  const text = reportText(report, { withRequests: true })
  if (untested === undefined) return text + aside
  if (report.requestCount === 0) return text.replace(`Verdict: ${UNTESTED}`, () => untested) + aside
  const isEmpty = report.findings.length + report.notes.length === 0
  return `${isEmpty ? '' : text}${aside}${untested}\n`
}

const UNTESTED =
  'no requests arrived, so nothing was checked. Does the client use the base URL of this store?'

export function findingText(finding: Finding, mark = ''): string {
  const { requests, shown } = finding
  const more = requests.length - shown.length
  const last = more > 0 ? `    … and ${count(more, 'more request')}\n` : ''
  return row(finding, mark) + shown.map(requestLine).join('') + last
}

function row(finding: Finding, mark: string): string {
  const { rule, keyId, iso, where, seen, fix, requests, evidence, sentFrom } = finding
  const nobody = requests.length === 0 ? 'every key' : 'no valid key'
  const who = keyId === null ? nobody : `key ${keyId}`
  const place = where === null ? '' : `, ${where}`
  const from = sentFrom
    ? `    sent from: ${sentFrom.file}:${sentFrom.line}:${sentFrom.column}\n`
    : ''
  return `  ${rule}${mark} (${who}, first at ${iso}${place})\n    seen: ${seen}\n${from}${evidence.map(text => `    evidence: ${text}\n`).join('')}    fix: ${fix}\n`
}

function requestLine({ n, iso, method, url, status, retryAfter, traceId }: ShownRequest): string {
  const wait = retryAfter === null ? '' : `, Retry-After: ${retryAfter}`
  const trace = traceId === null ? '' : `, trace ${traceId}`
  return `    request ${n}: ${method} ${url} at ${iso} -> ${status ?? 'no response'}${wait}${trace}\n`
}
