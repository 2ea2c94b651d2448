import { durationText } from '../../src/lib/time.js'
import type { VerifyReport } from './verify.js'
import type { CheckResult } from './verify-options.js'

export function resultText({ id, level, source, title, failure }: CheckResult): string {
  if (!failure) return ''
  const evidence = failureText(failure, name => `  ${name.padEnd(10)}`)
  return `\n${level} ${level === 'MUST' ? 'broken' : 'not met'}: ${id}\n  ${title} (${source})\n${evidence}\n`
}

export function failureText(
  failure: NonNullable<CheckResult['failure']>,
  label: (name: string) => string,
): string {
  const names = ['sent', 'came', 'expected', 'hint'] as const
  const shown = names.filter(name => failure[name] !== undefined)
  return shown.map(name => `${label(name)}${failure[name]}`).join('\n')
}

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
