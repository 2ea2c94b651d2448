import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { createTestDouble, reportText } from '../../adapters/test-double/index.js'
import { readAnnotations } from '../support/annotations.js'
import { BUILD_URL, ROOT } from '../support/paths.js'

const run = promisify(execFile)
const TSX = import.meta.resolve('tsx')

// Below the package, so that it is imported by its name; the workspace is this folder.
const workspace = mkdtempSync(fileURLToPath(new URL('call-sites-', BUILD_URL)))
after(() => rmSync(workspace, { recursive: true }))
const source = readFileSync(join(ROOT, 'test/test-double/call-sites/callers.ts'), 'utf8')
mkdirSync(join(workspace, 'node_modules/wrapper'), { recursive: true })
writeFileSync(join(workspace, 'node_modules/wrapper/package.json'), '{ "main": "index.js" }')
writeFileSync(
  join(workspace, 'node_modules/wrapper/index.js'),
  readFileSync(join(ROOT, 'test/test-double/call-sites/wrapper.cjs'), 'utf8'),
)

const WAYS = {
  'as TypeScript through tsx': { file: 'callers.ts', words: ['--import', TSX] },
  'compiled, with source maps': {
    file: 'callers.ts',
    words: ['--enable-source-maps'],
    compiled: { name: 'out.mjs', sourcemap: 'inline', format: 'esm' },
  },
  'as a module': { file: 'plain.mjs', words: [], compiled: { name: 'plain.mjs', format: 'esm' } },
  'as CommonJS': { file: 'plain.cjs', words: [], compiled: { name: 'plain.cjs', format: 'cjs' } },
} as const

for (const [way, { file, words, ...rest }] of Object.entries(WAYS)) {
  test(`call sites - every finding names the line that sent its request: ${way}`, async () => {
    writeFileSync(join(workspace, 'callers.ts'), source)
    let program = 'callers.ts'
    if ('compiled' in rest) {
      const { name, ...options } = rest.compiled
      const settings = { loader: 'ts', sourcefile: 'callers.ts', target: 'node20' } as const
      writeFileSync(join(workspace, name), transformSync(source, { ...settings, ...options }).code)
      program = name
    }
    const { stdout } = await run(process.execPath, [...words, program], {
      cwd: workspace,
      env: { PATH: process.env['PATH'], GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: workspace },
    })
    const { keys, log } = JSON.parse(stdout) as { keys: string[]; log: string }
    const lines = readFileSync(join(workspace, file), 'utf8').split('\n')
    const expected = keys.map(key => ({
      file,
      line:
        lines.findIndex(line => line.includes(`as("${key}")`) || line.includes(`as('${key}')`)) + 1,
    }))
    assert.equal(new Set(keys).size, 16)
    assert.deepEqual(
      readAnnotations(log).map(({ properties: { file, line } }) => ({ file, line: Number(line) })),
      expected,
    )
  })
}

test('call sites - the journal, the report and a snapshot are the same with and without them', async () => {
  const plain = createTestDouble({ callSites: false })
  const traced = createTestDouble({ callSites: true })
  for (const double of [plain, traced]) await double.fetch('pets/1', { headers: KEY })
  assert.deepEqual(traced.requests(), plain.requests())
  assert.deepEqual(traced.report(), plain.report())
  assert.equal(await traced.digest(), await plain.digest())
  assert.equal(plain.report().findings[0]?.sentFrom, undefined)
  const { sentFrom } = traced.report().findings[0] ?? {}
  assert.match(sentFrom?.file ?? '', /call-sites\.test\.[jt]s$/)
  assert.match(reportText(traced.report()), /^ {4}sent from: .*call-sites\.test\.[jt]s:\d+:\d+$/m)
})

// This project's own CI sets it.
delete process.env['GITHUB_ACTIONS']

test('annotations - there are none outside of GitHub Actions', async () => {
  const double = createTestDouble()
  await double.fetch('pets/1', { headers: KEY })
  assert.throws(
    () => double.assertPolite(),
    ({ message }: Error) => !message.includes('::'),
  )
})

test('annotations - what a client sends is escaped', async t => {
  t.after(() => delete process.env['GITHUB_ACTIONS'])
  const double = createTestDouble({ allow: ['deprecated.called'] })
  process.env['GITHUB_ACTIONS'] = 'true'
  await double.fetch('pets/1?a%25%0D%0A::error%2Cb=1', { headers: KEY })
  assert.throws(
    () => double.assertPolite(),
    ({ message }: Error) => {
      const [one, ...more] = readAnnotations(message)
      assert.deepEqual(more, [])
      assert.deepEqual([one?.level, one?.properties['title']], ['error', 'name.unknown'])
      assert.match(one?.properties['file'] ?? '', /call-sites\.test\.[jt]s$/)
      assert.match(one?.message ?? '', /seen: `a%\r\n::error,b` was sent\n {4}fix: /)
      return true
    },
  )
})

test('annotations - a request over a socket has the line that asks for the verdict', async t => {
  t.after(() => delete process.env['GITHUB_ACTIONS'])
  await using double = createTestDouble()
  process.env['GITHUB_ACTIONS'] = 'true'
  const { url } = await double.listen()
  await (await fetch(`${url}/pets/1`, { headers: KEY })).text()
  assert.throws(
    () => double.assertPolite(),
    ({ message }: Error) => {
      const { file = '', line } = readAnnotations(message)[0]?.properties ?? {}
      assert.match(file, /call-sites\.test\.[jt]s$/)
      assert.match(lineOf(file, Number(line)), /double\.assertPolite\(\)/)
      return true
    },
  )
})

function lineOf(file: string, line: number): string {
  return readFileSync(join(ROOT, file), 'utf8').split('\n')[line - 1] ?? ''
}

const KEY = { authorization: 'Bearer demo-free' }
