import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision } from '../../src/rate-limit.js'
import { T0, VECTORS, type Vector } from './rate-limit-vectors.js'

/** What a request was told: as a `Decision`, or read from the headers of an answer. */
export type Told = Pick<Decision, 'code' | 'limit' | 'remaining' | 'reset' | 'retryAfter'>

/** A way to ask for a unit: a function, a table, a server. */
export interface Consumer {
  /** `policy` is the second word of a vector's caller. */
  consume(partition: string, policy: string, now: number): Told | Promise<Told>
  /** Dumps what is counted and goes on with an empty limiter into which it is restored. */
  restart(): void | Promise<void>
  close?(): Promise<void>
}

/** Runs every vector through a way to consume. `open` gives one that has counted nothing. */
export function rateLimitSuite(subject: string, open: () => Consumer | Promise<Consumer>): void {
  for (const letter of new Set(VECTORS.map(([id]) => id[0]))) {
    test(`${subject} - vectors ${letter}`, async () => {
      const consumer = await open()
      try {
        for (const vector of VECTORS.filter(([id]) => id[0] === letter)) await run(vector, consumer)
      } finally {
        await consumer.close?.()
      }
    })
  }
}

const CODES = { RL: 'rate_limit_exceeded', BAN: 'api_key_banned' } as const

async function run(vector: Vector, consumer: Consumer): Promise<void> {
  const [id, at, caller, count, outcome, limit, remaining, reset, retryAfter] = vector
  const [partition = '', policy = ''] = caller.split(' ')
  if (id === 'O2') await consumer.restart()
  let told: Told | undefined
  for (let n = 0; n < count; n++) told = await consumer.consume(partition, policy, T0 + at)
  assert.deepEqual(
    { id, ...told },
    {
      id,
      code: outcome === 'ok' ? undefined : CODES[outcome],
      limit,
      remaining,
      reset: T0 / 1000 + reset,
      retryAfter,
    },
  )
}
