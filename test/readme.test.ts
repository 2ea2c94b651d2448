import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testCodeBlocks } from './support/code-blocks.js'
import { readPages } from './support/pages.js'
import { ROOT } from './support/paths.js'
import { assertPrinted, printsOf } from './support/printed.js'

testCodeBlocks('node')

test('readme - output that differs from what a page shows is found', () => {
  const shown = printsOf('js', 'console.log(1) // prints 1\nconsole.log(now) // prints at …') ?? ''
  assertPrinted('1\nat 12:01\n', shown)
  for (const printed of ['', '1\n', '1\nat 12:01\n2\n', '11\nat 12:01\n', 'at 12:01\n1\n']) {
    assert.throws(() => assertPrinted(printed, shown), printed)
  }
})

test('readme - every command within a sentence of the set-ups is one that CI runs', () => {
  const [page] = readPages().filter(({ path }) => path.endsWith('recipes/README.md'))
  const sentences = (page?.text ?? '').replace(/^```[\s\S]*?^```$/gm, '')
  const spans = [...sentences.matchAll(/`((?:npx|node|npm|go|php|python3?) -?-?\w[^`]*)`/g)]
  const runner = readFileSync(join(ROOT, 'test/integration/recipes/run'), 'utf8')
  for (const [, command = ''] of spans) {
    assert.ok(runner.includes(command) || command === 'php -i', command)
  }
})

test('readme - a line that is only … stands for any lines', () => {
  assertPrinted('first\nsecond\nthird\nlast\n', 'first\n…\nlast\n')
  assert.throws(() => assertPrinted('first\nsecond\n', 'first\n…\nlast\n'))
})
