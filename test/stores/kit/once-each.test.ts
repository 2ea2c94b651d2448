import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Waiting } from '../../../adapters/stores/kit/batches.js'
import { type KeyedInsert, onceEach } from '../../../adapters/stores/kit/keyed-inserts.js'
import type { InsertedOnce } from '../../../src/ports.js'
import { once } from './once.js'

test('once each - a key that comes again after its end is inserted by a call of its own', async () => {
  const calls: string[][] = []
  let lastId = 0
  const run = onceEach<KeyedInsert>(async inserts => {
    calls.push(inserts().map(({ once, now }) => `${once.idempotencyKey} at ${now}`))
    return inserts().map(insertOf)
  })
  const answers: string[] = []
  await run(
    [
      ['a', 0],
      ['b', 0],
      ['a', 99],
      ['a', 100],
      ['a', 150],
      ['b', 99],
    ].map(waiting),
  )
  assert.deepEqual(calls, [['a at 0', 'b at 0'], ['a at 100']])
  assert.deepEqual(answers.toSorted(), [
    ...['0: pet 1', '1: pet 2', '2: pet 1 again', '3: pet 3', '4: pet 3 again', '5: pet 2 again'],
  ])

  function insertOf({ once }: KeyedInsert): InsertedOnce {
    const { fingerprint } = once
    return { pet: { id: ++lastId, name: 'Rex', categoryId: 1 }, fingerprint, replayed: false }
  }

  function waiting(
    [key, now]: (string | number)[],
    at: number,
  ): Waiting<KeyedInsert, InsertedOnce> {
    const used = once(`${key}`, Number(now) + 100)
    return {
      item: { pet: { name: 'Rex', categoryId: 1 }, once: used, now: Number(now) },
      resolve: ({ pet, replayed }) =>
        answers.push(`${at}: pet ${pet.id}${replayed ? ' again' : ''}`),
      reject: error => assert.fail(String(error)),
      since: 0,
      isGone: undefined,
      isDropped: false,
    }
  }
})
