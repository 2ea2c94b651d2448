import type { SqliteRateLimits } from '../../../adapters/stores/sqlite/index.js'
import type { RateLimitStore } from '../../../src/index.js'
import { isPromise } from '../../../src/lib/async.js'
import type { Backend } from '../engine.js'
import { LONGEST_PAUSE } from '../http-door.js'
import type { Counter, Expectation } from '../model/api.js'
import { createLimitModel } from '../model/limits.js'
import type { Scheduler } from '../scheduler.js'
import { ensure } from '../violation.js'
import type { Counted } from './counts.js'
import { PATIENCE, type SqliteMachine, type SqliteProcess } from './machine.js'

export interface WatchOptions {
  readonly process: SqliteProcess
  readonly limits: SqliteRateLimits
  /** Those of the file. */
  readonly counts: { readonly limits: Counter }
  readonly machine: SqliteMachine
  readonly scheduler: Scheduler
  /** What is found wrong in the middle of a call of the server is not for the server. */
  readonly attempt: (task: () => void) => void
}

/** The time limit of the counters, in ms. */
const LIMITS_PATIENCE = 100
/** The server counts that request by itself when it learns of this. */
export interface NotCounted extends Error {
  readonly decide: () => void
}

/** A request waits for both, each asks again within some ms, and its body may come in pieces. */
const LONGEST_CALL = LIMITS_PATIENCE + PATIENCE + 50 + LONGEST_PAUSE

/** Has the model decide when the limiter does, with the counts that it uses. */
export function watchLimits(options: WatchOptions): Pick<Backend, 'rateLimits' | 'admit'> {
  const { process, limits, counts, machine, scheduler, attempt } = options
  const [addresses, alone] = [createLimitModel(), createLimitModel()]
  /** When a client was last answered. */
  const ends = new Map<string, number>()
  let arriving: Expectation | undefined

  const consume: RateLimitStore['consume'] = (partition, policy, now) => {
    const expected = arriving
    arriving = undefined
    if (partition.startsWith('addr:')) {
      expected?.decided(addresses)
      return limits.consume(partition, policy, now)
    }
    const counted = { partition, policy, now }
    process.asked.add(counted)
    const begin = { at: scheduler.now(), failures: machine.calls.failures().lasting }
    const told = <T>(decision: T): T => {
      decided(counted, counts.limits, expected)
      return decision
    }
    const refused = (error: unknown): never => {
      const isLate = scheduler.now() - begin.at >= LIMITS_PATIENCE - 1
      const isExcused = isLate || machine.calls.failures().lasting > begin.failures
      const { message } = error as Error
      if (!process.isDead) ensurePrompt(isExcused, () => `not counted: ${message}`)
      const decide = () => decided(counted, alone, expected)
      throw Object.assign(new Error(message), { decide }) satisfies NotCounted
    }
    try {
      const answer = limits.consume(partition, policy, now)
      return isPromise(answer) ? answer.then(told, refused) : told(answer)
    } catch (error) {
      return refused(error)
    }
  }

  return {
    rateLimits: { ...limits, consume },
    async admit(expected, answer, from) {
      arriving = expected
      const begin = scheduler.now()
      const answered = await answer()
      // One that is pipelined begins when the one ahead of it ends.
      const ms = scheduler.now() - Math.max(begin, ends.get(from) ?? begin)
      ends.set(from, scheduler.now())
      ensurePrompt(ms <= LONGEST_CALL, () => `a request took ${Math.round(ms)} ms`)
      return answered
    },
  }

  function decided(counted: Counted, by: Counter, expected: Expectation | undefined): void {
    // Then nobody hears of it.
    if (process.isDead) return
    process.asked.delete(counted)
    expected?.decided(by)
  }

  function ensurePrompt(holds: boolean, message: () => string): void {
    attempt(() => ensure(holds, 'storage.prompt', message))
  }
}
