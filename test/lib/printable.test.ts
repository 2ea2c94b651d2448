import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printable } from '../../src/lib/printable.js'

test('printable - nothing moves the cursor, turns the direction of text, or commands a runner', () => {
  for (const [text, shown] of [
    ['Zoë 🐾', 'Zoë 🐾'],
    ['a\nb\x1b[31m', 'a\\nb\\x1b[31m'],
    ['abc\u202efdp.exe', 'abc\\u{202e}fdp.exe'],
    ['\u2066\u200b\ufeff', '\\u{2066}\\u{200b}\\u{feff}'],
    ['##[error]x', '##\\u005berror]x'],
  ] as const) {
    assert.equal(printable(text), shown)
  }
})
