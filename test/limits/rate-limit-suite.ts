import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision } from '../../src/limits/windows-and-bans.js'
import type { RateLimitStore } from '../../src/ports.js'
import { limitsOf, T0, VECTORS, type Vector } from './rate-limit-vectors.js'

/** The outcome of a request: a `Decision`, or the headers of a response. */
export type Reported = Pick<Decision, 'code' | 'limit' | 'remaining' | 'reset' | 'retryAfter'>

/** Without what no response shows. */
export function reported({ code, limit, remaining, reset, retryAfter }: Reported): Reported {
  return { code, limit, remaining, reset, retryAfter } as Reported
}

/** Something that consumes units: a function, a table, a server. */
export interface Consumer {
  /**
   * @param policy the second word of a vector's caller
   * @param isCompared whether the vector says what is reported; it does for the last of equal requests
   */
  consume(
    partition: string,
    policy: string,
    now: number,
    isCompared: boolean,
  ): Reported | Promise<Reported>
  /** Dumps the counts and restores them into an empty limiter. */
  restart(): void | Promise<void>
  close?(): Promise<void>
}

/** A rate limit store that is empty. */
export function consumerOf(limits: RateLimitStore): Consumer {
  return {
    consume: async (partition, policy, now) =>
      reported(await limits.consume(partition, limitsOf(policy), now)),
    async restart() {
      const dumped = JSON.parse(JSON.stringify(await limits.dump()))
      await limits.reset()
      assert.deepEqual(await limits.dump(), [])
      await limits.restore(dumped)
    },
  }
}

/** Runs every vector. `open` returns a consumer with no counts. */
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
  let last: Reported | undefined
  for (let n = 1; n <= count; n++) {
    last = await consumer.consume(partition, policy, T0 + at, n === count)
  }
  assert.deepEqual(
    { id, ...last },
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
