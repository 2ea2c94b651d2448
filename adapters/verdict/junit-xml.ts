/** A test case of JUnit, which passes without `failure` and `skipped`. */
export interface JUnitCase {
  readonly group: string
  readonly name: string
  readonly failure?: { readonly message: string; readonly details?: string } | undefined
  /** Why it says nothing, or what is allowed. */
  readonly skipped?: string | undefined
}

/** One suite as JUnit XML, as CI systems read it. */
export function toJUnit(suite: string, cases: readonly JUnitCase[]): string {
  const failures = cases.filter(({ failure }) => failure).length
  const skipped = cases.filter(({ skipped }) => skipped !== undefined).length
  const counts = `tests="${cases.length}" failures="${failures}" skipped="${skipped}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite name="${toXml(suite)}" ${counts}>
${cases.map(caseOf).join('\n')}
</testsuite>
</testsuites>
`
}

function caseOf({ group, name, failure, skipped }: JUnitCase): string {
  const head = `<testcase classname="${toXml(group)}" name="${toXml(name)}"`
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
