import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OptionError } from '../../src/lib/options.js'
import { bearerToken, createApiKeys } from '../../src/protocol/api-keys.js'

test('bearerToken - returns what follows the scheme, without surrounding spaces', () => {
  for (const [header, token] of [
    ['Bearer demo', 'demo'],
    ['bearer   d  ', 'd'],
    ['Bearer a, Bearer b', 'a, Bearer b'],
    ['Bearer', undefined],
    ['Bearer   ', undefined],
    ['Basic demo', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    assert.equal(bearerToken(header), token, header)
  }
})

test('bearerToken - takes linear time for a long run of spaces', { timeout: 5_000 }, () => {
  const spaces = ' '.repeat(400_000)
  assert.equal(bearerToken(`Bearer${spaces}`), undefined)
  assert.equal(bearerToken(`Bearer x${spaces}y\n\n`), undefined)
})

test('api keys - keys and ids are data, even if they name object properties', () => {
  const keys = createApiKeys({})
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(keys.find(name), undefined)
    keys.add(name, { id: name, plan: 'free' })
    assert.equal(keys.find(name)?.id, name)
  }
})

test('api keys - keys and ids are unique, and free again once removed', () => {
  const keys = createApiKeys({ demo: { id: 'a', plan: 'free' } })
  assert.throws(() => keys.add('demo', { id: 'b', plan: 'free' }), OptionError)
  assert.throws(() => keys.add('other', { id: 'a', plan: 'free' }), OptionError)
  assert.equal(keys.remove('demo'), true)
  keys.add('other', { id: 'a', plan: 'pro' })
  assert.equal(keys.find('other')?.plan, 'pro')
})

test('api keys - a key is printable ASCII without spaces', () => {
  for (const key of ['', ' ', 'a b', 'a\n', '\u007f', 'é', '\u{1f415}']) {
    assert.throws(() => createApiKeys({ [key]: { id: 'a', plan: 'free' } }), /printable ASCII/)
  }
  for (const key of ['!', '~', 'sk-live_1/2+3==']) {
    assert.equal(createApiKeys({ [key]: { id: 'a', plan: 'free' } }).find(key)?.id, 'a')
  }
})

test('api keys - no error message contains a key', () => {
  for (const key of ['has space secret', 'sécret', '', 'secret\n', 'secret']) {
    const add = () => createApiKeys({ [key]: { id: '', plan: 'free' } })
    assert.throws(add, error => error instanceof OptionError && !/s.cret/.test(error.message))
  }
  const keys = createApiKeys({ secret: { id: 'a', plan: 'free' } })
  const again = () => keys.add('secret', { id: 'b', plan: 'free' })
  assert.throws(again, error => error instanceof OptionError && !error.message.includes('secret'))
})
