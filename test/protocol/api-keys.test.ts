import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import { OptionError } from '../../src/lib/check-options.js'
import { PLANS } from '../../src/limits/plans.js'
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

test('api keys - keys are unique, and an id is free for another plan once its keys are removed', () => {
  const keys = createApiKeys({ demo: { id: 'a', plan: 'free' } })
  assert.throws(() => keys.add('demo', { id: 'b', plan: 'free' }), OptionError)
  assert.throws(() => keys.add('other', { id: 'a', plan: 'pro' }), OptionError)
  assert.equal(keys.find('other'), undefined)
  assert.equal(keys.remove('demo'), true)
  keys.add('other', { id: 'a', plan: 'pro' })
  assert.equal(keys.find('other')?.plan, 'pro')
})

test('api keys - keys with one id share its budget, so that a key can be replaced without a gap', async () => {
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { old: { id: 'a', plan: 'free' } },
    clock: () => 0,
  })
  const remaining = async (key: string) => {
    const pets = store.forKey(key)
    await pets.listPets()
    return pets.rateLimit?.remaining
  }
  assert.equal(await remaining('old'), 59)
  store.apiKeys.add('new', { id: 'a', plan: 'free' })
  assert.deepEqual([await remaining('new'), await remaining('old')], [58, 57])
  assert.equal(store.apiKeys.remove('old'), true)
  assert.equal(await remaining('new'), 56)
  await assert.rejects(remaining('old'), { code: 'unauthorized' })
  // The other key of the id still decides its plan.
  assert.throws(() => store.apiKeys.add('old', { id: 'a', plan: 'pro' }), /same plan and limits$/)
  const limits = { perMinute: 1, perDay: 2 }
  store.apiKeys.add('e1', { id: 'e', plan: 'enterprise', limits })
  store.apiKeys.add('e2', { id: 'e', plan: 'enterprise', limits: { ...limits } })
  for (const other of [{ perMinute: 2 }, { perDay: 3 }, { banAfterRejections: 4 }]) {
    const record = { id: 'e', plan: 'enterprise', limits: { ...limits, ...other } } as const
    assert.throws(() => store.apiKeys.add('e3', record), /same plan and limits$/)
  }
})

test('api keys - a key is invalid from the instant of `expiresAt` on, and its budget remains', async () => {
  let now = 1e11 - 1
  const store = createStore({
    storage: memoryStorage(),
    apiKeys: { old: { id: 'a', plan: 'free', expiresAt: 1e11 } },
    clock: () => now,
  })
  const list = () => store.forKey('old').listPets()
  await list()
  assert.equal(store.apiKeys.find('old', now)?.id, 'a')
  now = 1e11
  await assert.rejects(list(), { code: 'unauthorized' })
  assert.equal(store.apiKeys.find('old', 1e11), undefined)
  assert.equal(store.apiKeys.find('old')?.expiresAt, 1e11)
  for (const expiresAt of ['soon', 1e11 - 1, Number.NaN, null]) {
    const record = { id: 'b', plan: 'free', expiresAt } as never
    assert.throws(() => store.apiKeys.add('k', record), /`apiKeys\['b'\]\.expiresAt`/)
  }
})

test('api keys - a key may be given by its digest, which is not a key itself', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const digest = `sha256:${sha256('s3cret')}`
  const keys = createApiKeys({ [digest]: { id: 'a', plan: 'free' } }, PLANS, sha256)
  assert.equal(keys.find('s3cret')?.id, 'a')
  assert.equal(keys.copy().find('s3cret')?.id, 'a')
  assert.equal(keys.find(digest), undefined)
  assert.equal(keys.find('s3cret2'), undefined)
  assert.deepEqual([...keys.keys()], [])
  assert.deepEqual([keys.remove('s3cret'), keys.remove(digest)], [false, true])
  assert.equal(keys.find('s3cret'), undefined)
  for (const broken of ['sha256:', 'sha256:abc', digest.toUpperCase().replace('SHA', 'sha')]) {
    assert.throws(() => keys.add(broken, { id: 'b', plan: 'free' }), /64 lower-case hex digits$/)
  }
  const without = () => createApiKeys({ [digest]: { id: 'a', plan: 'free' } })
  assert.throws(without, { message: 'API keys given by their digest need the option `sha256`' })
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
