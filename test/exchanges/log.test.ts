import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../adapters/exchanges/log.js'

test('log - keeps the latest items within a number', () => {
  const log = createLog<string>({ capacity: 2, bytes: 100 })
  assert.deepEqual([log.first(), log.last(), log.since()], [1, 0, []])
  for (const item of ['a', 'b', 'c']) log.add(item, 1)
  assert.deepEqual([log.first(), log.last(), log.dropped()], [2, 3, 1])
  assert.deepEqual([log.since(), log.since(2), log.since(3)], [['b', 'c'], ['c'], []])
  assert.deepEqual([1, 2, 3, 4].map(log.find), [undefined, 'b', 'c', undefined])
})

test('log - keeps them within a size, and an item may grow', () => {
  const log = createLog<string>({ capacity: 9, bytes: 10 })
  for (const item of ['a', 'b', 'c']) log.add(item, 3)
  log.grow(3, 1)
  assert.deepEqual(log.since(), ['a', 'b', 'c'])
  log.grow(3, 1)
  assert.deepEqual(log.since(), ['b', 'c'])
  log.grow(1, 99)
  assert.deepEqual(log.since(), ['b', 'c'])
  log.add('d', 11)
  assert.deepEqual([log.since(), log.dropped(), log.last()], [[], 4, 4])
})

test('log - may keep some whatever their size', () => {
  const log = createLog<string>({ capacity: 9, bytes: 10, least: 1 })
  for (const item of ['a', 'b']) log.add(item, 20)
  assert.deepEqual([log.since(), log.dropped()], [['b'], 1])
})

test('log - clearing forgets what was dropped, not the numbers', () => {
  const log = createLog<string>({ capacity: 2, bytes: 9, begin: { last: 5, dropped: 3 } })
  log.add('a', 9)
  log.add('b', 1)
  assert.deepEqual([log.dropped(), log.find(7)], [4, 'b'])
  log.clear()
  assert.deepEqual([log.dropped(), log.since(), log.first(), log.last()], [0, [], 8, 7])
  log.add('c', 9)
  assert.deepEqual([log.since(), log.last(), log.dropped()], [['c'], 8, 0])
})
