import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ERROR_STATUS } from '../src/index.js'
import {
  documentedOptions,
  optionTables,
  publicOptions,
  tableRows,
  withOptionTables,
} from './support/option-tables.js'
import { anchors, localLinks, namedFiles, type Page, readPages } from './support/pages.js'
import { ROOT } from './support/paths.js'

const pages = readPages()
const byPath = new Map(pages.map(page => [page.path, page]))

for (const page of pages) {
  test(`pages - no link in ${page.path} is broken`, () => {
    assert.deepEqual(brokenLinks(page), [])
  })
}

for (const page of pages) {
  test(`pages - every file that ${page.path} names exists`, () => {
    const missing = namedFiles(page).filter(path => !existsSync(join(ROOT, path)))
    assert.deepEqual(missing, [])
  })
}

test('pages - a broken file or anchor is found', () => {
  const text = '# One\n[file](missing.md) [anchor](#two) [fine](#one)\n```\n[code](no.md)\n```\n'
  assert.deepEqual(brokenLinks({ path: 'README.md', text }), [
    'line 2: missing.md',
    'line 2: README.md#two',
  ])
})

test('pages - what the pages of the package link to is in the package, except pictures', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const packed = ['README.md', 'LICENSE', ...files].map(
    entry => new RegExp(`^${entry.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`),
  )
  const isPacked = (path: string) => packed.some(entry => entry.test(path))
  const linked = pages
    .filter(({ path }) => isPacked(path))
    .flatMap(page => localLinks(page).map(({ path }) => path))
  assert.ok(linked.length > 100)
  assert.deepEqual(
    // npm shows the pictures of the repository, never those of a package.
    linked.filter(path => !path.endsWith('.png') && !isPacked(path)),
    [],
  )
})

const tables = pages.flatMap(({ text }) => optionTables(text))

test('pages - every function with options has a table', () => {
  // Fields of a constructor or of one call, described in prose.
  const inProse = [
    'ApiErrorOptions',
    'AssertPoliteOptions',
    'CallOptions',
    'CreateCallOptions',
    'CreateOptions',
    'ReplayOptions',
    'ReportOptions',
    'RestoreOptions',
    'ResumeOptions',
  ]
  const documented = [...tables, ...inProse]
  const undocumented = publicOptions().filter(name => !documented.includes(name))
  assert.deepEqual(undocumented, [])
})

for (const page of pages) {
  test(`pages - the tables of options in ${page.path} are those of the code; npm run docs writes them`, () => {
    assert.equal(withOptionTables(page.text), page.text)
  })
}

test('pages - every option is documented, with the default that the code has', () => {
  const options = tables.flatMap(documentedOptions)
  assert.ok(options.length > 50, `only ${options.length} options found`)
  for (const { name, meaning, default: documented, literal } of options) {
    assert.notEqual(meaning, '', name)
    assert.notEqual(documented, 'undocumented', name)
    if (literal !== undefined) assert.ok(documented.startsWith(literal), `${name}: ${documented}`)
  }
})

test('pages - the table of errors lists every code with its status', () => {
  const inTable = decisionsTable('Errors').map(
    ([status, code = '']) => `${code.trim()} ${status?.trim().slice(0, 3)}`,
  )
  const inCode = Object.entries(ERROR_STATUS).map(([code, status]) => `\`${code}\` ${status}`)
  assert.deepEqual([...new Set(inTable)].sort(), [...inCode, '`invalid_request` 408'].sort())
})

test('pages - every decision has a test that carries its id', () => {
  const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.includes('node_modules'))
    .map(path => readFileSync(join(ROOT, 'test', path), 'utf8'))
  const ids = decisionsTable('Decisions').map(([id = '']) => id.replaceAll('`', '').trim())
  assert.ok(ids.length > 20)
  const untested = ids.filter(
    id => !tests.some(text => new RegExp(`'(\\w+ - )?${id}(['":]| - )`).test(text)),
  )
  assert.deepEqual(untested, [])
})

function decisionsTable(heading: string): string[][] {
  return tableAfter('src/protocol/README.md', `## ${heading}`)
}

/** The first table of a page after a line. */
function tableAfter(path: string, line: string): string[][] {
  const text = byPath.get(path)?.text ?? ''
  const [, table = ''] = text.match(new RegExp(`^${line}\\n[^|]*((?:\\|.*\\n)+)`, 'm')) ?? []
  return tableRows(table)
}

function brokenLinks(page: Page): string[] {
  return localLinks(page)
    .filter(({ path, anchor }) => {
      if (!existsSync(join(ROOT, path))) return true
      if (anchor === '') return false
      const target = path === page.path ? page : byPath.get(path)
      return !target || !anchors(target).has(anchor)
    })
    .map(({ line, path, anchor }) => `line ${line}: ${path}${anchor && `#${anchor}`}`)
}
