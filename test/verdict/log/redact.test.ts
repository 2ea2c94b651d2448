import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hiderOf } from '../../../adapters/verdict/log/hide-secrets.js'
import { redactorOf } from '../../../adapters/verdict/log/redact.js'

const LABEL = () => '*'

test('secrets - are hidden wherever they are and however they are spelled', () => {
  const hide = hiderOf(['ab/cdEF+gh', 'demo-free'])
  for (const [text, shown] of [
    ['ab/cdEF+gh', '*'],
    ['xab/cdEF+ghx', 'x*x'],
    ['ab%2FcdEF%2Bgh', '*'],
    ['ab%2fcd%45F+gh', '*'],
    ['"ab\\/cdEF\\u002bgh"', '"*"'],
    ['a%62/cdEF+gh demo-free', '* *'],
    ['demo-free%2Fdemo-freedemo-free', '*%2F**'],
    ['AB/cdEF+gh demo-fre', 'AB/cdEF+gh demo-fre'],
    ['%', '%'],
    ['', ''],
  ] as const) {
    assert.equal(hide(text, LABEL), shown, text)
  }
})

test('secrets - one that contains a percent sign is found as it is and encoded', () => {
  const hide = hiderOf(['ab%41cdef', 'next-one'])
  assert.equal(hide('ab%41cdef ab%2541cdef abAcdef next%2Done', LABEL), '* * abAcdef *')
})

test('secrets - those that overlap or contain each other leave nothing behind', () => {
  const hide = hiderOf(['abcdefgh', 'cdefghijkl', 'abcdefghijklmnop', 'mnopqrst'])
  assert.equal(hide('abcdefghijkl', LABEL), '*')
  assert.equal(hide('abcdefghijklmnopqrst.', LABEL), '*.')
  assert.equal(hide('abcdefgh.cdefghijkl', LABEL), '*.*')
})

test('secrets - none, and an empty one, hide nothing', () => {
  assert.equal(hiderOf([])('text', LABEL), 'text')
  assert.equal(hiderOf(['', 'short'])('a short text', LABEL), 'a * text')
})

test('redaction - keys of fewer than eight characters stay, or are redacted as whole words', () => {
  const captured = {
    request: { method: 'GET', path: '/', query: '', headers: { authorization: 'Basic pw' } },
    keys: ['k3y', 'seven-7', 'eight-88'],
  }
  const text = 'k3y k3yboard "k%33y" pw seven-7 eight-88'
  assert.equal(redactorOf(captured, 'shown')(text), 'k3y k3yboard "k%33y" pw seven-7 REDACTED')
  const words = 'REDACTED k3yboard "REDACTED" REDACTED REDACTED REDACTED'
  assert.equal(redactorOf(captured, 'words')(text), words)
})
