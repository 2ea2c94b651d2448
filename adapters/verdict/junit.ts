import { type JUnitCase, toJUnit } from './junit-xml.js'
import { findingText, type Report } from './report.js'
import { RULES } from './rules/index.js'

/**
 * The verdict as JUnit XML, with a test case for each rule. Findings are failures; allowed ones and
 * notes are skipped, as JUnit has no warnings.
 * @param untested why nothing was checked, which is a failure too
 */
export function verdictJUnit(report: Report, untested?: string): Iterable<string> {
  const wasCalled: JUnitCase = {
    group: 'requests',
    name: 'requests: the API was called',
    failure: untested === undefined ? undefined : { message: untested },
  }
  const rules = RULES.map(({ id }) => ruleCase(id, report))
  return toJUnit('animal-adoption-store verdict', [wasCalled, ...rules])
}

function ruleCase(name: string, report: Report): JUnitCase {
  const [group = ''] = name.split('.')
  const findings = report.findings.filter(({ rule }) => rule === name)
  const [note] = report.notes.filter(({ rule }) => rule === name)
  const failed = findings.filter(({ allowed }) => !allowed)
  if (failed[0]) {
    const details = failed.map(finding => findingText(finding)).join('')
    return { group, name, failure: { message: failed[0].seen, details } }
  }
  if (findings[0]) return { group, name, skipped: `allowed: ${findings[0].seen}` }
  return { group, name, skipped: note && `likely: ${note.seen}` }
}
