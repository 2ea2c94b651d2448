import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyModel } from './model/keys.js'

const untrue = { invariant: 'response.true' }

test('idempotency keys - a key in use names its animal, and no other', () => {
  const keys = createKeyModel(100, () => {})
  keys.use('k', 'a', 0).stored(1)
  keys.use('k', 'a', 99).replayed(1)
  keys.use('k', 'b', 99).reused()
  assert.deepEqual([...keys.inUse()], [['k', 1]])
  assert.throws(() => keys.use('k', 'a', 99).stored(2), untrue)
  assert.throws(() => keys.use('k', 'b', 99).stored(2), untrue)
  assert.throws(() => keys.use('k', 'a', 99).replayed(2), untrue)
  assert.throws(() => keys.use('k', 'a', 99).reused(), untrue)
})

test('idempotency keys - a key is free when its time is over', () => {
  const keys = createKeyModel(100, () => {})
  keys.use('k', 'a', 0).stored(1)
  assert.throws(() => keys.use('k', 'a', 100).replayed(1), untrue)
  assert.throws(() => keys.use('k', 'b', 100).reused(), untrue)
  const again = keys.use('k', 'a', 100)
  assert.equal(again.most, 2)
  again.stored(2)
  keys.use('k', 'a', 199).replayed(2)
})

test('idempotency keys - a clock that goes back may bring a key back that was over, or not', () => {
  const over = () => {
    const keys = createKeyModel(100, () => {})
    keys.use('k', 'a', 0).stored(1)
    keys.use('other', 'b', 150).stored(2)
    assert.deepEqual([...keys.inUse().keys()], ['other'])
    return keys
  }
  over().use('k', 'a', 50).replayed(1)
  over().use('k', 'c', 50).reused()
  over().use('k', 'c', 50).stored(3)
  assert.throws(() => over().use('k', 'a', 50).replayed(2), untrue)
  const unanswered = over()
  unanswered.use('k', 'c', 50)
  unanswered.crash()
  unanswered.use('k', 'c', 60).reused()
})

test('idempotency keys - a refused create stores nothing, and a lost one may have', () => {
  const keys = createKeyModel(100, () => {})
  keys.use('k', 'a', 0).refused()
  assert.throws(() => keys.use('k', 'b', 1).reused(), untrue)
  keys.use('l', 'a', 0)
  keys.use('l', 'b', 1).reused()
})

test('idempotency keys - a restore brings back the keys of its snapshot', () => {
  const keys = createKeyModel(100, () => {})
  keys.use('k', 'a', 0).stored(1)
  const saved = keys.save()
  keys.use('l', 'b', 1).stored(2)
  keys.use('k', 'c', 200).stored(3)
  keys.replace(saved)
  assert.deepEqual([...keys.inUse()], [['k', 1]])
  assert.throws(() => keys.use('l', 'c', 2).reused(), untrue)
})
