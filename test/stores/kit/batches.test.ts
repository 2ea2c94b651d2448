import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import {
  type BatchLimits,
  createBatches,
  type QueueLimits,
  type Waiting,
} from '../../../adapters/stores/kit/batches.js'
import { gate } from '../../support/waiting.js'

const LIMITS = { items: 10, size: 1_000, sizeOf: () => 1, name: 'test' }
const QUEUE: QueueLimits = {
  timeoutMs: 20,
  items: 3,
  late: () => new Error('late'),
  full: () => new Error('full'),
}

test('batches - an item that waits too long is rejected, and never sent', async () => {
  const { add, batches, release, idle } = held({ ...LIMITS, queue: QUEUE })
  const first = add('first')
  await batches.next()
  const second = add('second')
  // The batch in progress may have been stored; the one that waits was not.
  await assert.rejects(first, /^Error: late$/)
  await assert.rejects(second, /^Error: late$/)
  const third = add('third')
  release()
  assert.equal(await third, 'third')
  await idle()
  assert.deepEqual(batches.sent, [['first'], ['third']])
})

test('batches - an item that comes while a batch hangs waits no longer than the others', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { add } = createBatches<string, string>(() => new Promise(() => {}), {
    ...LIMITS,
    queue: QUEUE,
  })
  for (const name of ['first', 'second', 'third']) {
    const added = add(name)
    await new Promise(setImmediate)
    now += QUEUE.timeoutMs
    t.mock.timers.tick(QUEUE.timeoutMs)
    await assert.rejects(added, /^Error: late$/, name)
  }
})

test('batches - the wait is counted from the arrival of each item', async () => {
  const { add, batches, release } = held({ ...LIMITS, queue: { ...QUEUE, timeoutMs: 60_000 } })
  const first = add('first')
  await batches.next()
  const second = add('second')
  release()
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second'])
})

test('batches - beyond the most that may wait, an item is rejected and the others are not', async () => {
  const { add, batches, release } = held({ ...LIMITS, queue: { ...QUEUE, timeoutMs: 60_000 } })
  const first = add('first')
  await batches.next()
  const waiting = ['a', 'b', 'c'].map(one => add(one))
  await assert.rejects(add('d'), /^Error: full$/)
  release()
  assert.deepEqual(await Promise.all([first, ...waiting]), ['first', 'a', 'b', 'c'])
  assert.equal(await add('e'), 'e')
})

test('batches - an answer that came while this process was busy counts', async () => {
  const limits = { ...LIMITS, queue: QUEUE }
  const batches = createBatches<string, string>(async ([one]) => {
    // As from a socket: the answer lies there after the busy turn, and is read after the timers.
    const { port1, port2 } = new MessageChannel()
    port2.postMessage('')
    await once(port1, 'message')
    port1.close()
    one?.resolve('answer')
  }, limits)
  const answer = batches.add('first')
  await new Promise(setImmediate)
  for (const end = performance.now() + 3 * QUEUE.timeoutMs; performance.now() < end; );
  assert.equal(await answer, 'answer')
})

test('batches - an item whose caller has gone is rejected when its batch is formed, and never sent', async () => {
  const { add, batches, release } = held(LIMITS)
  let gone = false
  const first = add('first', () => gone)
  await batches.next()
  const left = add('left', () => gone)
  const stays = add('stays', () => false)
  gone = true
  release()
  // A batch that was sent cannot be taken back.
  assert.equal(await first, 'first')
  await assert.rejects(left, { code: 'storage_unavailable', message: /^The client hung up/ })
  assert.equal(await stays, 'stays')
  assert.deepEqual(batches.sent, [['first'], ['stays']])
})

test('batches - a lone caller goes first ever more often, and callers in a row share', async () => {
  const sent: number[][] = []
  const { add, mayGoFirst, idle } = createBatches<number, number>(batch => {
    sent.push(batch.map(({ item }) => item))
    for (const { item, resolve } of batch) resolve(item)
  }, LIMITS)
  const streaks: number[] = []
  while (streaks.length < 9) {
    await add(0)
    let first = 0
    while (mayGoFirst()) {
      // Another one, without a microtask in between.
      assert.equal(mayGoFirst(), false)
      first++
      await undefined
    }
    streaks.push(first)
  }
  assert.deepEqual(streaks, [1, 2, 4, 8, 16, 32, 64, 64, 64])
  await Promise.all([add(1), add(2)])
  assert.equal(mayGoFirst(), false, 'two callers are there')
  await idle()
  assert.deepEqual(sent.slice(9), [[1, 2]])
  await add(3)
  assert.equal(mayGoFirst(), true)
  await undefined
  assert.equal(mayGoFirst(), false, 'trust begins anew')
})

/** Batches that are answered from `release` on; `next` resolves when one is sent. */
function held(limits: BatchLimits<string>) {
  const sent: string[][] = []
  let arrived = gate()
  const released = gate()
  const { add, idle } = createBatches<string, string>(
    async (batch: readonly Waiting<string, string>[]) => {
      sent.push(batch.map(({ item }) => item))
      arrived.open()
      await released.passed
      for (const { item, resolve } of batch) resolve(item)
    },
    limits,
  )
  const next = () => {
    arrived = gate()
    return arrived.passed
  }
  return { add, idle, release: released.open, batches: { sent, next } }
}
