import { durationText } from '../../src/lib/time.js'
import type { VerifyReport } from './verify.js'
import type { CheckResult } from './verify-options.js'

export function resultText({ id, level, source, title, failure }: CheckResult): string {
  if (!failure) return ''
  const { sent, came, expected, hint } = failure
  return `
${level} ${level === 'MUST' ? 'broken' : 'not met'}: ${id}
  ${title} (${source})
  sent      ${sent}
  came      ${came}
  expected  ${expected}
${hint === undefined ? '' : `  hint      ${hint}\n`}`
}

/** Counts results in one line, below the reasons for skipped checks. */
export function summaryText({ results, requestCount }: VerifyReport, ms: number): string {
  const count = (outcome: CheckResult['outcome'], level?: CheckResult['level']) =>
    results.filter(result => result.outcome === outcome && (level ?? result.level) === result.level)
      .length
  const reasons = new Map<string, number>()
  for (const { reason } of results) {
    if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  const skipped = [...reasons].map(([reason, times]) => `${times} skipped: ${reason}\n`)
  const counts = [
    `${count('passed')} passed`,
    `${count('failed', 'MUST')} MUST broken`,
    `${count('failed', 'SHOULD')} SHOULD not met`,
    `${count('skipped')} skipped`,
  ]
  return `\n${skipped.join('')}${counts.join(', ')}; ${requestCount} requests in ${durationText(ms)}\n`
}
