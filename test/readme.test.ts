import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testCodeBlocks } from './support/code-blocks.js'
import { assertPrinted, printsOf } from './support/printed.js'

testCodeBlocks('node')

test('readme - output that differs from what a page shows is found', () => {
  const shown = printsOf('js', 'console.log(1) // prints 1\nconsole.log(now) // prints at …') ?? ''
  assertPrinted('1\nat 12:01\n', shown)
  for (const printed of ['', '1\n', '1\nat 12:01\n2\n', '11\nat 12:01\n', 'at 12:01\n1\n']) {
    assert.throws(() => assertPrinted(printed, shown), printed)
  }
})

test('readme - a line that is only … stands for any lines', () => {
  assertPrinted('first\nsecond\nthird\nlast\n', 'first\n…\nlast\n')
  assert.throws(() => assertPrinted('first\nsecond\n', 'first\n…\nlast\n'))
})
