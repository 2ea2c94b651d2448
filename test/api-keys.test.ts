import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerToken, createApiKeys } from '../src/api-keys.js'
import { OptionError } from '../src/options.js'

test('bearerToken - the token is what stands after the scheme, without the spaces around it', () => {
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

test('bearerToken - a long run of spaces costs no more than its length', { timeout: 5_000 }, () => {
  const spaces = ' '.repeat(400_000)
  assert.equal(bearerToken(`Bearer${spaces}`), undefined)
  assert.equal(bearerToken(`Bearer x${spaces}y\n\n`), undefined)
})

test('api keys - keys and ids are data, also those that name properties', () => {
  const keys = createApiKeys({})
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(keys.find(name), undefined)
    keys.add(name, { id: name, plan: 'free' })
    assert.equal(keys.find(name)?.id, name)
  }
})

test('api keys - a key and an id are given once, and are free again when the key is removed', () => {
  const keys = createApiKeys({ demo: { id: 'a', plan: 'free' } })
  assert.throws(() => keys.add('demo', { id: 'b', plan: 'free' }), OptionError)
  assert.throws(() => keys.add('other', { id: 'a', plan: 'free' }), OptionError)
  assert.equal(keys.remove('demo'), true)
  keys.add('other', { id: 'a', plan: 'pro' })
  assert.equal(keys.find('other')?.plan, 'pro')
})

test('api keys - no message of an error tells the key', () => {
  for (const key of ['has space secret', 'sécret', '', 'secret\n', 'secret']) {
    const add = () => createApiKeys({ [key]: { id: '', plan: 'free' } })
    assert.throws(add, error => error instanceof OptionError && !/s.cret/.test(error.message))
  }
  const keys = createApiKeys({ secret: { id: 'a', plan: 'free' } })
  const again = () => keys.add('secret', { id: 'b', plan: 'free' })
  assert.throws(again, error => error instanceof OptionError && !error.message.includes('secret'))
})
