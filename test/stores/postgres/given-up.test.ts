import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  createDatabase,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type Row,
} from '../../../adapters/stores/postgres/pool.js'
import { createStatements } from '../../../adapters/stores/postgres/statements.js'
import { createStorage } from '../../../adapters/stores/postgres/storage.js'
import type { IsGone } from '../../../src/ports.js'
import { gate } from '../../support/waiting.js'
import { once } from '../kit/once.js'

const TIMEOUT = 500

for (const isKeyed of [false, true]) {
  const what = isKeyed ? 'a create with a key' : 'a create'

  test(`postgres - ${what} whose client hangs up while its batch waits for a connection is never sent`, async t => {
    const { create, clock, pool } = open(t, isKeyed)
    let isGone = false
    const gone = create('gone', () => isGone)
    await clock.until(50)
    assert.equal(pool.asked, 1)
    isGone = true
    pool.recover()
    assert.match(await clock.failure(gone), /^The client hung up before/)
    await create('next')
    assert.deepEqual(pool.sent, [['next']])
  })

  test(`postgres - ${what} that is given up is left out of its batch`, async t => {
    const { create, clock, pool } = open(t, isKeyed)
    const first = create('first')
    await clock.until(50)
    const late = create('late', undefined, 'key')
    await clock.until(100)
    // With the same key, it is no replay: what was never sent has not used the key.
    const [one, other] = [create('one', undefined, 'key'), create('other')]
    await clock.failure(first)
    await clock.failure(late)
    pool.recover()
    assert.deepEqual([(await one).id, (await other).id], [1, 2])
    assert.deepEqual(pool.sent, [['one', 'other']])
  })

  test(`postgres - ${what} that was sent stays in its batch, which is sent again as it was`, async t => {
    const { create, clock, pool } = open(t, isKeyed)
    const first = create('first')
    await clock.until(50)
    const late = create('late')
    await clock.until(100)
    const other = create('other')
    await clock.failure(first)
    const lose = pool.hang()
    pool.recover()
    // The batch is sent, and may be committed.
    await clock.failure(late)
    lose()
    assert.equal((await other).id, 2)
    assert.deepEqual(pool.sent, [
      ['late', 'other'],
      ['late', 'other'],
    ])
  })
}

function open(t: TestContext, isKeyed: boolean) {
  const clock = mockClock(t)
  const pool = busyPool()
  const statements = createStatements('"s"', { prepare: true, timeline: true })
  const { insert, insertOnce } = createStorage({
    database: createDatabase(pool, TIMEOUT),
    timeoutMs: TIMEOUT,
    schema: '"s"',
    statements,
    writer: '00000000-0000-0000-0000-000000000000',
    closePool: async () => {},
  })
  return { clock, pool, create }

  async function create(name: string, isGone?: IsGone, key = name) {
    const pet = { name, categoryId: 1 }
    if (!isKeyed) return insert(pet, isGone)
    const inserted = await insertOnce(pet, once(key), 0, isGone)
    assert.equal(inserted.replayed, false)
    return inserted.pet
  }
}

/** A clock that goes on by a millisecond with each turn of the event loop, while somebody waits for it. */
function mockClock(t: TestContext) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return { until, failure }

  async function until(end: number): Promise<void> {
    while (now < end) await tick()
  }

  /** The message that a promise is rejected with. */
  async function failure(promise: Promise<unknown>): Promise<string> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    while (!isSettled) await tick()
    return promise.then(
      () => assert.fail('It was not rejected'),
      (error: Error) => error.message,
    )
  }

  async function tick(): Promise<void> {
    now++
    t.mock.timers.tick(1)
    await new Promise(setImmediate)
  }
}

/** A pool that has no free connection until it recovers, and then answers all inserts. */
function busyPool() {
  const recovered = gate()
  let hanging: Promise<void> | undefined
  let next = 1
  const pool = {
    asked: 0,
    /** The names of each batch of inserts. */
    sent: [] as string[][],
    recover: recovered.open,
    /** Lets the next query hang until the returned function cuts its connection. */
    hang() {
      let cut = () => {}
      hanging = new Promise((_, reject) => {
        cut = () => reject(new Error('Connection terminated unexpectedly'))
      })
      return () => cut()
    },
    async connect(): Promise<PostgresClient> {
      pool.asked++
      await recovered.passed
      return client
    },
    on() {},
    off() {},
  } satisfies PostgresPool & Record<string, unknown>
  const client: PostgresClient = {
    async query({ text, values }: PostgresQuery) {
      if (!text.startsWith('WITH')) return { rows: [] }
      const [names] = values as [string[]]
      pool.sent.push(names.map(name => JSON.parse(name)))
      const cut = hanging
      hanging = undefined
      await cut
      const first = next
      next += names.length
      const rows: Row[] = names.map((name, at) => ({
        first,
        n: at + 1,
        pet: `${first + at},${name},"1",""`,
        fingerprint: 'f',
        replayed: 'false',
      }))
      return { rows }
    },
    release() {},
    on() {},
    off() {},
  }
  return pool
}
