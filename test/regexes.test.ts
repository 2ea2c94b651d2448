import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { parse } from 'acorn'
import { simple } from 'acorn-walk'
import { analyse } from 'scslre'
import { BUILD_URL } from './support/paths.js'

/** Bundled code of others. */
const FOREIGN = /page\/page\.js$|^src\/lib\/(zod|lossless-json)\.js$/

test('regexes - the time of each grows with the text, never with its square', async () => {
  const slow: string[] = []
  let count = 0
  for await (const { file, pattern, flags } of regexes()) {
    count++
    const { reports } = analyse({ source: pattern, flags })
    if (reports.length > 0) slow.push(`${file}: /${pattern}/${flags}`)
  }
  assert.ok(count > 150, `${count}`)
  assert.deepEqual(slow, [])
})

test('regexes - one whose time grows with the square is found', () => {
  for (const source of ['\\s*,\\s*', '\\/+$', '(a+)+b']) {
    assert.notDeepEqual(analyse({ source, flags: '' }).reports, [], source)
  }
})

async function* regexes() {
  for (const folder of ['src/', 'adapters/']) {
    for (const name of await readdir(new URL(folder, BUILD_URL), { recursive: true })) {
      const file = `${folder}${name.replaceAll('\\', '/')}`
      if (!file.endsWith('.js') || FOREIGN.test(file)) continue
      const code = await readFile(new URL(file, BUILD_URL), 'utf8')
      const found: { pattern: string; flags: string }[] = []
      simple(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
        Literal: ({ regex }) => void (regex && found.push(regex)),
      })
      for (const regex of found) yield { file, ...regex }
    }
  }
}
