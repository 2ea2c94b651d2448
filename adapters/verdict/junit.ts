import { toXml } from '../shared/xml.js'
import { type Finding, findingText, type Report } from './report.js'
import { RULES } from './rules.js'

/**
 * The verdict as JUnit XML, with a test case for each rule. Findings are failures; allowed ones and
 * notes are skipped, as JUnit has no warnings.
 *
 * @param untested why nothing was checked, which is a failure too
 */
export function verdictJUnit({ findings, notes }: Report, untested?: string): string {
  const cases = [
    requestCase(untested),
    ...RULES.map(({ id }) => {
      const ofRule = ({ rule }: Finding) => rule === id
      return ruleCase(id, findings.filter(ofRule), notes.filter(ofRule))
    }),
  ]
  const failures = cases.filter(one => one.includes('<failure')).length
  const skipped = cases.filter(one => one.includes('<skipped')).length
  const counts = `tests="${cases.length}" failures="${failures}" skipped="${skipped}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite name="animal-adoption-store verdict" ${counts}>
${cases.join('\n')}
</testsuite>
</testsuites>
`
}

function requestCase(untested: string | undefined): string {
  const head = '<testcase classname="requests" name="requests: the API was called"'
  return untested === undefined
    ? `${head}/>`
    : `${head}><failure message="${toXml(untested)}"/></testcase>`
}

function ruleCase(id: string, findings: readonly Finding[], notes: readonly Finding[]): string {
  const [group = ''] = id.split('.')
  const head = `<testcase classname="${group}" name="${id}"`
  const failed = findings.filter(({ allowed }) => !allowed)
  const [first] = failed
  if (first) {
    const details = toXml(failed.map(finding => findingText(finding)).join(''))
    return `${head}><failure message="${toXml(first.seen)}">${details}</failure></testcase>`
  }
  const [forgiven] = findings
  const [likely] = notes
  if (forgiven)
    return `${head}><skipped message="${toXml(`allowed: ${forgiven.seen}`)}"/></testcase>`
  if (likely) return `${head}><skipped message="${toXml(`likely: ${likely.seen}`)}"/></testcase>`
  return `${head}/>`
}
