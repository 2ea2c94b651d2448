import assert from 'node:assert/strict'

/** Attributes that the schema of Jenkins' xUnit plugin (junit-10.xsd) knows; `!` marks required ones. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  testsuites: ['name', 'time', 'tests', 'failures', 'errors'],
  testsuite: ['name!', 'tests!', 'failures!', 'errors!', 'time', 'skipped'],
  testcase: ['name!', 'time', 'classname'],
  failure: ['type', 'message'],
  skipped: ['type', 'message'],
}

/** Checks the form of JUnit XML, whose elements may stand in these only. */
export function assertJUnit(xml: string): void {
  for (const [, element = '', text = ''] of xml.matchAll(/<(\w+)((?: \w+="[^"]*")*)\/?>/g)) {
    const given = [...text.matchAll(/ (\w+)="([^"]*)"/g)]
    const names = given.map(([, name = '']) => name)
    const known = ATTRIBUTES[element] ?? assert.fail(`<${element}>`)
    const required = known.filter(name => name.endsWith('!')).map(name => name.slice(0, -1))
    const unknown = names.filter(name => !known.includes(name) && !required.includes(name))
    assert.deepEqual(unknown, [], element)
    assert.ok(
      required.every(name => names.includes(name)),
      `<${element}${text}>`,
    )
    for (const [, name, value] of given)
      if (name === 'time') assert.match(`${value}`, /^\d+\.\d{3}$/)
  }
  const nesting = xml.replace(/="[^"]*"|>[^<]+/g, match => (match[0] === '>' ? '>' : ''))
  assert.match(
    nesting,
    /^<\?xml[^>]*><testsuites[^>]*><testsuite [^>]*>(<testcase[^>]*?(\/>|>(<(failure|skipped)[^>]*(\/>|><\/\4>))?<\/testcase>))*<\/testsuite><\/testsuites>$/,
  )
}
