import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { prettyJson, writeOutputs } from '../../../adapters/cli/read-and-write-files.js'
import { readAnnotations } from '../../support/annotations.js'
import { borrowedCommand } from '../../support/borrowed-command.js'
import { type Ended, runInThread, scriptCommand } from '../../support/command.js'
import { assertJUnit } from '../../support/junit.js'
import { BUILD_URL } from '../../support/paths.js'

const folder = mkdtempSync(join(tmpdir(), 'adoption-report-'))
after(() => rmSync(folder, { recursive: true }))
const REPORT = join(folder, 'report.json')
const SUMMARY = join(folder, 'summary.md')

const isValid: ValidateFunction<Json> = new Ajv2020({ strict: false }).compile<Json>(
  JSON.parse(readFileSync(new URL('report.schema.json', BUILD_URL), 'utf8')),
)

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
/** Sends a request again before the end of its Retry-After, and a name that begins a cell of a table. */
const EARLY = `
const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key, ADOPTION_STORE_CONTROL_URL: control } = process.env
const headers = { authorization: 'Bearer ' + key, traceparent: '00-${TRACE}-00f067aa0ba902b7-01' }
const get = async path => (await fetch(url + path, { headers })).text()
const fault = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"kind":"status","status":503,"retryAfter":9}' }
await fetch(control + '/faults', fault)
await get('/pets?limit=2')
await get('/pets?limit=2')
await get('/pets?%7C%3Cb%3E%0A=1')
`
const TWICE = `
const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
const create = () => fetch(url + '/pets', { method: 'POST', headers, body: '{"name":"Ada","categoryId":1}' })
await create().catch(create)
`

test('report - has for a machine what the text says, and the commands that repeat it', async () => {
  const { code, stderr } = await exec(['--strict', '--report', REPORT], EARLY, {}, scriptCommand)
  const report = read()
  const { n: first, curl } = report.findings[0].shown[0]
  const [, second] = report.findings[0].shown
  assert.equal(code, 1)
  assert.deepEqual(
    [report.version, report.exitCode, report.ok, report.untested, report.requestCount],
    [1, 1, false, null, 3],
  )
  assert.deepEqual(
    report.findings.map(({ rule, flag }: Json) => [rule, flag]),
    [
      ['retry-after.early', null],
      ['name.unknown', null],
    ],
  )
  assert.deepEqual([second.tooEarlyAfter, second.traceId], [first, TRACE])
  assert.match(
    curl,
    /^curl -sS 'http:\/\/127\.0\.0\.1:4280\/v1\/pets\?limit=2' -H "authorization: Bearer \$ADOP/,
  )
  assert.match(stderr, new RegExp(`request 2: GET .* -> 200, trace ${TRACE}\n`))
  assert.match(report.repeat, /^npx animal-adoption-store exec --strict=findings -- \S+node /)
  assert.equal(report.command[0], process.execPath)
  assert.doesNotMatch(stderr, /^::/m)
})

test('report - of exec --explore names the flag, and each failure has its verdict and command', async () => {
  const flags = ['--explore', '--faults', 'reset', '--strict=notes', '--report', REPORT]
  const { code } = await exec(flags, TWICE)
  const { version, ok, failures } = read()
  assert.deepEqual([code, version, ok, failures.length], [1, 1, false, 1])
  const [{ schedule, repeat, report, exitCode }] = failures
  assert.deepEqual([schedule, exitCode], ['createPet#1=reset', 0])
  assert.match(repeat, / exec --strict=notes --schedule 'createPet#1=reset' -- /)
  const [{ rule, flag, fix, shown }] = report.notes
  assert.deepEqual([rule, flag], ['create.repeated', '--idempotency'])
  assert.match(fix, /--idempotency/)
  assert.match(shown[0].curl, /^curl -sS -X POST .* --data-raw '\{"name":"Ada","categoryId":1\}'$/)
})

test('report - of a run that ends without a result says so, and takes the place of an earlier one', async () => {
  const junit = join(folder, 'report.xml')
  const files = ['--report', REPORT, '--junit', junit]
  for (const [words, problem] of [
    [['exec', ...files, '--', 'no-such-command'], /^exec cannot run no-such-command: ENOENT/],
    [['exec', ...files, '--allow', 'politeness', '--', 'true'], /^--allow takes a rule/],
    [['exec', ...files, '--clients', '0', '--', 'true'], /^--clients takes a whole number/],
    [['verify', ...files.slice(2), 'http://127.0.0.1:1/v1', '--api-key', 'k'], /ECONNREFUSED/],
  ] as const) {
    for (const file of [REPORT, junit]) writeFileSync(file, 'of yesterday')
    assert.equal((await runInThread([...words])).code, 2)
    const xml = readFileSync(junit, 'utf8')
    assertJUnit(xml)
    assert.match(xml, / failures="1" .*<failure message="/s)
    if (words[0] === 'verify') continue
    const { ok, problem: written } = read()
    assert.deepEqual([ok, xml.includes(written.slice(0, 20))], [false, true])
    assert.match(written, problem)
  }
})

test('report - is written even if the text before it cannot be made, and in pieces', async () => {
  const value = { a: [{ b: { c: ['"\n', {}, []] } }, 1], d: {}, e: undefined, f: null }
  const text = () => {
    throw new RangeError('Invalid string length')
  }
  const outputs = [
    { flag: '--har', path: join(folder, 'run.har'), text },
    { flag: '--report', path: REPORT, text: () => prettyJson(value) },
  ]
  await assert.rejects(writeOutputs(outputs), { message: /^--har cannot write .*: Invalid string/ })
  assert.equal(readFileSync(REPORT, 'utf8'), `${JSON.stringify(value, null, 2)}\n`)
})

test('report - is not ok without a request', async () => {
  await exec(['--report', REPORT], '')
  const { ok, untested, exitCode } = read()
  assert.deepEqual([ok, exitCode], [false, 0])
  assert.match(untested, /^Verdict: no requests arrived/)
})

test('github - findings are annotations, and the summary has them as a table', async () => {
  const flags = ['--allow', 'name.unknown', '--record', join(folder, 'run.json')]
  const { stderr } = await exec(flags, EARLY, ON_GITHUB)
  const [one, ...more] = readAnnotations(stderr)
  assert.deepEqual(more, [])
  assert.deepEqual([one?.level, one?.properties], ['error', { title: 'retry-after.early' }])
  assert.match(one?.message ?? '', new RegExp(`trace ${TRACE}\nTo repeat: npx animal-adoption-`))
  assert.match(one?.message ?? '', /\nTo see it: npx animal-adoption-store replay \S+run\.json$/)
  const summary = takeSummary()
  assert.match(
    summary,
    /^### Verdict: 2 findings in 3 requests\.\n\n\| what \| seen \| fix \|\n\|---\|---\|---\|\n\| retry-after\.early \| 1 request came [^|\n]* \| Wait [^|\n]* \|\n\n- To repeat: [^\n]*\n- To see it: [^\n]*replay [^\n]*\n\n$/,
  )
})

test('github - what a client sends is text in the summary, and a clean run is a line', async () => {
  await exec(['--allow', 'retry-after.early'], EARLY, ON_GITHUB)
  assert.match(takeSummary(), /\n\| name\.unknown \| &#96;&#124;&#60;b&#62; &#96; was sent \| /)
  const { stderr } = await exec(
    [],
    `${EARLY.split('await fetch(control')[0]} await get('/pets')`,
    ON_GITHUB,
  )
  assert.deepEqual(readAnnotations(stderr), [])
  assert.match(takeSummary(), /^### Verdict: no violations in 1 request\.\n\n- To repeat: /)
})

test('github - the runner obeys nothing that a client has sent', async () => {
  const sent = `/pets?${encodeURIComponent('##[error]sent ##[add-mask]a')}=`
  const { stdout, stderr } = await exec([], EARLY.replace('/pets?%7C%3Cb%3E%0A=', sent), ON_GITHUB)
  assert.match(stderr, /##\\u005b/)
  assert.doesNotMatch(stdout + stderr, /##\[/)
  assert.equal(readAnnotations(stderr).length, 2)
})

test('github - a cause of exec --explore is an annotation, and so are ten at most', async () => {
  const flags = ['--explore', '--strict=notes', '--faults']
  const many = `${TWICE} const answer = await create(); if (!answer.ok) process.exit(answer.status)`
  const statuses = Array.from({ length: 12 }, (_, n) => `status:${520 + n}`).join()
  const { stderr: all } = await exec(
    [...flags, statuses, '--allow', 'create.repeated'],
    many,
    ON_GITHUB,
  )
  const levels = readAnnotations(all).map(({ level, message }) => [level, message.split('\n')[0]])
  assert.deepEqual([levels.length, levels.at(-1)], [11, ['notice', 'and 3 more']])
  takeSummary()
  const { stderr } = await exec([...flags, 'reset'], TWICE, ON_GITHUB)
  assert.deepEqual(
    readAnnotations(stderr).map(({ level, properties }) => [level, properties['title']]),
    [['error', 'createPet#1=reset']],
  )
  assert.match(
    takeSummary(),
    /\n\| createPet#1=reset \| the verdict: create\.repeated \| npx animal-/,
  )
})

const ON_GITHUB = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: SUMMARY }

function exec(
  flags: readonly string[],
  script: string,
  more = {},
  commandOf = borrowedCommand,
): Promise<Ended> {
  const { GITHUB_ACTIONS: _, GITHUB_STEP_SUMMARY: __, ...env } = process.env
  return runInThread(['exec', ...flags, '--', ...commandOf(script)], { ...env, ...more })
}

// biome-ignore lint/suspicious/noExplicitAny: the schema is what says its type
type Json = any

function read(): Json {
  const report: Json = JSON.parse(readFileSync(REPORT, 'utf8'))
  assert.ok(isValid(report), JSON.stringify(isValid.errors, null, 2))
  return report
}

function takeSummary(): string {
  const summary = readFileSync(SUMMARY, 'utf8')
  rmSync(SUMMARY)
  return summary
}
