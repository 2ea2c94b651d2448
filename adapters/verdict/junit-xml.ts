/** A test case of JUnit, which passes without `failure` and `skipped`. */
export interface JUnitCase {
  readonly group: string
  readonly name: string
  readonly failure?: { readonly message: string; readonly details?: string } | undefined
  /** Why it says nothing, or what is allowed. */
  readonly skipped?: string | undefined
  readonly seconds?: number
}

/**
 * One suite as JUnit XML that the schema of Jenkins' xUnit plugin accepts, in pieces, as all of it
 * may be longer than a string can be.
 */
export function* toJUnit(suite: string, cases: readonly JUnitCase[]): Generator<string> {
  const failures = cases.filter(({ failure }) => failure).length
  const skipped = cases.filter(({ skipped }) => skipped !== undefined).length
  const time = timeOf(cases.reduce((sum, { seconds = 0 }) => sum + seconds, 0))
  const counts = `tests="${cases.length}" failures="${failures}" errors="0"${time}`
  yield `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite name="${toXml(suite)}" ${counts} skipped="${skipped}">
`
  for (const one of cases) yield `${caseOf(one)}\n`
  yield '</testsuite>\n</testsuites>\n'
}

function timeOf(seconds: number): string {
  return seconds === 0 ? '' : ` time="${seconds.toFixed(3)}"`
}

function caseOf({ group, name, failure, skipped, seconds = 0 }: JUnitCase): string {
  const head = `<testcase classname="${toXml(group)}" name="${toXml(name)}"${timeOf(seconds)}`
  if (failure) return `${head}>${failureOf(failure)}</testcase>`
  if (skipped !== undefined) return `${head}><skipped message="${toXml(skipped)}"/></testcase>`
  return `${head}/>`
}

function failureOf({ message, details }: NonNullable<JUnitCase['failure']>): string {
  const head = `<failure message="${toXml(message)}"`
  return details === undefined ? `${head}/>` : `${head}>${toXml(details)}</failure>`
}

/** For text and attributes, without the characters that XML 1.0 cannot hold. */
function toXml(text: string): string {
  return text
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
}
