import { type JUnitCase, toJUnit } from '../verdict/junit-xml.js'
import { failureText } from './report-text.js'
import type { VerifyReport } from './verify.js'
import type { CheckResult } from './verify-options.js'

/** Writes JUnit XML, which has no warnings: only a broken MUST is a failure. */
export function reportJUnit({ results }: VerifyReport): Iterable<string> {
  return toJUnit('animal-adoption-store verify', results.map(testCase))
}

function testCase({ id, level, source, title, reason, failure }: CheckResult): JUnitCase {
  const [group = ''] = id.split('.')
  const name = `${id}: ${title}`
  if (reason !== undefined) return { group, name, skipped: reason }
  if (!failure) return { group, name }
  const { came, expected } = failure
  if (level === 'SHOULD') {
    const skipped = `SHOULD not met (${source}): expected ${expected}; came ${came}`
    return { group, name, skipped }
  }
  const details = failureText(failure, name => `${name}: `)
  return { group, name, failure: { message: `MUST (${source}): expected ${expected}`, details } }
}
