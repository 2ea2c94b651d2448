import { toXml } from '../shared/xml.js'
import type { CheckResult } from './options.js'
import type { ConformanceReport } from './verify.js'

/** The report as JUnit XML. Only a broken MUST is a failure there; JUnit has no warnings. */
export function reportJUnit({ results }: ConformanceReport): string {
  const isFailure = ({ level, outcome }: CheckResult) => level === 'MUST' && outcome === 'failed'
  const failures = results.filter(isFailure).length
  const skipped = results.filter(({ outcome }) => outcome !== 'passed').length - failures
  const counts = `tests="${results.length}" failures="${failures}" skipped="${skipped}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite name="animal-adoption-store verify" ${counts}>
${results.map(testCase).join('\n')}
</testsuite>
</testsuites>
`
}

function testCase({ id, level, source, title, reason, failure }: CheckResult): string {
  const [group = ''] = id.split('.')
  const head = `<testcase classname="${group}" name="${toXml(`${id}: ${title}`)}"`
  if (reason !== undefined) return `${head}><skipped message="${toXml(reason)}"/></testcase>`
  if (!failure) return `${head}/>`
  const { sent, came, expected, hint } = failure
  const details = toXml(
    `sent: ${sent}\ncame: ${came}\nexpected: ${expected}${hint === undefined ? '' : `\nhint: ${hint}`}`,
  )
  if (level === 'SHOULD') {
    const message = toXml(`SHOULD not met (${source}): expected ${expected}; came ${came}`)
    return `${head}><skipped message="${message}"/></testcase>`
  }
  const message = toXml(`MUST (${source}): expected ${expected}`)
  return `${head}><failure message="${message}">${details}</failure></testcase>`
}
