import type { Decision, Policy, RateLimitStore } from '../../src/index.js'
import type { EngineOptions } from './engine.js'
import type { Expectation } from './model/api.js'
import { createLimitModel } from './model/limits.js'
import { choicesOf } from './random.js'
import { Violation } from './violation.js'

const ANSWERS = ['now', 'now', 'now', 'later', 'later', 'never', 'throws', 'nonsense'] as const
/** In ms: some just before the store gives up, and one just after. */
const DELAYS = [1, 60, 150.9, 151.1]
/** In ms: a server that does not answer is given up after 151, and asked again 500 later. */
const LONGEST_SILENCE = 651

/** A request that waits for the limiter; without an expectation, one that only tries whether it is back. */
interface Asked {
  readonly expected: Expectation | undefined
}

/** Counts on a server that is slow, fails, answers nonsense or not at all: then the process counts by itself. */
export function remoteLimits(
  { seed, scheduler, model, fail }: EngineOptions,
  name: string,
  limits: RateLimitStore,
) {
  const alone = createLimitModel()
  /** Oldest first. */
  const waiting = new Set<Asked>()
  let arriving: Expectation | undefined
  let refused: Expectation | undefined
  let isOpen = false
  let isClosed = false
  let asked = 0
  let askedAt = 0

  return {
    rateLimits: { ...limits, consume } as RateLimitStore,
    admit<T>(expected: Expectation, answer: () => Promise<T>): Promise<T> {
      arriving = expected
      const answered = answer()
      // The server was not asked.
      const isAlone = arriving?.decided(alone)
      const silence = scheduler.now() - askedAt
      if (isAlone && silence > LONGEST_SILENCE) {
        fail(new Violation('limits.exact', `the limiter has not been asked for ${silence} ms`))
      }
      arriving = undefined
      return answered
    },
    /** The server has learnt that a request was not counted. */
    degraded(message: string) {
      if (!message.includes('did not answer')) return void refused?.decided(alone)
      isOpen = true
      const [oldest] = waiting
      if (oldest) waiting.delete(oldest)
      oldest?.expected?.decided(alone)
    },
    close(): void {
      isClosed = true
    },
  }

  function consume(partition: string, policy: Policy, now: number) {
    const isTrial = isOpen
    if (isTrial) arriving?.decided(alone)
    const expected = isTrial ? undefined : arriving
    arriving = undefined
    askedAt = scheduler.now()
    const choices = choicesOf(seed, 'limiter', name, ++asked)
    const how = choices.pick(ANSWERS)
    refused = expected
    if (how === 'throws') throw new Error('The server of the limiter is away')
    if (how === 'nonsense') return {} as never
    const one: Asked = { expected }
    if (how !== 'now' || isTrial) waiting.add(one)
    if (how === 'never') return new Promise<Decision>(() => {})
    // It counts at once, and answers later.
    const told = model.state.limits.ask(partition, policy, now)
    const decision = limits.consume(partition, policy, now) as Decision
    const heard = () => expected?.decided({ ask: () => told })
    if (how === 'now' && !isTrial) {
      heard()
      return decision
    }
    return new Promise<Decision>(resolve => {
      scheduler.after('limiter', choices.pick(DELAYS), () => {
        if (isClosed) return
        if (isTrial && waiting.has(one)) isOpen = false
        if (waiting.delete(one)) heard()
        resolve(decision)
      })
    })
  }
}
