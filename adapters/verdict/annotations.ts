import { type CallSite, callSiteOf, captureStack, isOnGitHub } from './call-site.js'
import { type Finding, findingText, type Report, VerdictError } from './report.js'

/**
 * The error of `assertPolite`. On GitHub its message, which every test runner prints when the test fails,
 * ends with the annotations.
 */
export function verdictError(report: Report, text: string): VerdictError {
  if (!isOnGitHub()) return new VerdictError(report, text)
  const lines = annotationsOf(report, { site: callSiteOf(captureStack()) })
  return new VerdictError(report, text + lines.map(line => `${line}\n`).join(''))
}

interface Context {
  /** Where a finding belongs whose requests came from an unknown place. */
  readonly site?: CallSite | undefined
  /** What else to say of each finding, such as a command that repeats it. */
  readonly more?: readonly string[]
}

/**
 * A line for each finding and note that GitHub Actions shows beside the code:
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
export function annotationsOf({ findings, notes }: Report, context: Context): readonly string[] {
  const isCounted = ({ allowed }: Finding) => !allowed
  return [
    ...findings.filter(isCounted).map(finding => annotation('error', finding, context)),
    ...notes.filter(isCounted).map(note => annotation('warning', note, context)),
  ]
}

function annotation(level: 'error' | 'warning', finding: Finding, context: Context): string {
  const { rule, sentFrom = context.site } = finding
  const { file, line, column: col } = sentFrom ?? {}
  const properties = Object.entries({ file, line, col, title: rule })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escaped(`${value}`).replace(/[:,]/g, percent)}`)
  const text = [findingText(finding).trim(), ...(context.more ?? [])].join('\n')
  return `::${level} ${properties.join(',')}::${escaped(text)}`
}

function escaped(text: string): string {
  return text.replace(/[%\r\n]/g, percent)
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
