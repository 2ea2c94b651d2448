import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecrets } from '../../../adapters/verdict/log/hide-secrets.js'
import { redactorOf } from '../../../adapters/verdict/log/redact.js'

const LABEL = () => '*'

test('secrets - are hidden wherever they are and however they are spelled', () => {
  const secrets = createSecrets(['ab/cdEF+gh', 'demo-free'])
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
    assert.equal(secrets.hide(text, LABEL), shown, text)
  }
})

test('secrets - one that contains a percent sign is found as it is and encoded', () => {
  const secrets = createSecrets(['ab%41cdef', 'next-one'])
  assert.equal(secrets.hide('ab%41cdef ab%2541cdef abAcdef next%2Done', LABEL), '* * abAcdef *')
})

test('secrets - those that overlap or contain each other leave nothing behind', () => {
  const secrets = createSecrets(['abcdefgh', 'cdefghijkl', 'abcdefghijklmnop', 'mnopqrst'])
  assert.equal(secrets.hide('abcdefghijkl', LABEL), '*')
  assert.equal(secrets.hide('abcdefghijklmnopqrst.', LABEL), '*.')
  assert.equal(secrets.hide('abcdefgh.cdefghijkl', LABEL), '*.*')
})

test('secrets - none, and an empty one, hide nothing', () => {
  assert.equal(createSecrets([]).hide('text', LABEL), 'text')
  assert.equal(createSecrets(['', 'short']).hide('a short text', LABEL), 'a * text')
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
