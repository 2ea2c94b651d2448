import { withoutCommands } from '../../src/lib/printable.js'
import { type CallSite, callSiteOf, captureStack } from './call-site.js'
import { isOnGitHub } from './github.js'
import { type Finding, findingText, type Report, VerdictError } from './report.js'

/**
 * The error of `assertPolite`. On GitHub its message, which every test runner prints when the test fails,
 * ends with the annotations.
 */
export function verdictError(report: Report, text: string): VerdictError {
  if (!isOnGitHub()) return new VerdictError(report, text)
  const asked = callSiteOf(captureStack())
  const lines = problemsOf(report).map(([level, finding]) =>
    annotation(level, finding.rule, findingText(finding), finding.sentFrom ?? asked),
  )
  return new VerdictError(report, withoutCommands(text) + lines.join(''))
}

export type Level = 'error' | 'warning' | 'notice'

export function problemsOf({ findings, notes }: Report): readonly (readonly [Level, Finding])[] {
  return [...findings, ...notes]
    .filter(({ allowed }) => !allowed)
    .map(finding => [notes.includes(finding) ? 'warning' : 'error', finding])
}

/**
 * A line that GitHub Actions shows beside the code:
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
export function annotation(level: Level, title: string, text: string, site?: CallSite): string {
  const { file, line, column: col } = site ?? {}
  const properties = Object.entries({ file, line, col, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escaped(`${value}`).replace(/[:,]/g, percent)}`)
  return `::${level} ${properties.join(',')}::${escaped(text.trim())}\n`
}

function escaped(text: string): string {
  return text.replace(/[%\r\n]/g, percent)
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
