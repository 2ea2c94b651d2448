import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { anchors, localLinks, type Page, ROOT, readPages } from './support/pages.js'

const pages = readPages()
const byPath = new Map(pages.map(page => [page.path, page]))

for (const page of pages) {
  test(`pages - every link of ${page.path} leads somewhere`, () => {
    assert.deepEqual(brokenLinks(page), [])
  })
}

test('pages - a broken file or anchor is found', () => {
  const text = '# One\n[file](missing.md) [anchor](#two) [fine](#one)\n```\n[code](no.md)\n```\n'
  assert.deepEqual(brokenLinks({ path: 'README.md', text }), [
    'line 2: missing.md',
    'line 2: README.md#two',
  ])
})

test('pages - the README has at most 250 lines', () => {
  const lines = byPath.get('README.md')?.text.trimEnd().split('\n') ?? []
  assert.ok(lines.length > 50 && lines.length <= 250, `${lines.length} lines`)
})

test('pages - every page travels in the package', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const packed = (path: string) =>
    ['README.md', ...files].some(entry =>
      new RegExp(`^${entry.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(path),
    )
  assert.deepEqual(
    pages.map(({ path }) => path).filter(path => !packed(path)),
    [],
  )
})

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
