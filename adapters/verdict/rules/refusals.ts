import { SECOND } from '../../../src/limits/windows-and-bans.js'
import { remember } from '../log/bounded-log.js'
import {
  type CreateWatch,
  endOf,
  isLater,
  isLost,
  MOST_SHOWN,
  type Rule,
  reasonIn,
  type Seen,
  type Violation,
} from './rule.js'

export const REFUSALS = {
  id: 'refusal.repeated',
  fix: 'A 4xx means that the request is wrong: correct it before you send it again.',
  violatedBy:
    'a request that can only be rejected (400, 405, 410, 413, 415, or 404 for an unknown path), sent five times in a row within five seconds',
} as const satisfies Rule

/** Fewer, or slower ones, are what tests of errors send. */
const HAMMERING = 5
const WITHIN = 5 * SECOND

interface Run {
  /** The latest, until there are enough for a finding; then the first. */
  exchanges: readonly Seen[]
  count: number
  last: Seen
}

export const watchRefusals: CreateWatch = () => {
  const runs = new Map<string, Run>()

  return {
    see(exchange) {
      const { requestDigest, status } = exchange
      // The client got on in the meantime: the same mistake later is a new occasion.
      if (status !== null && status < 400) {
        const violations = judgeAll()
        runs.clear()
        return violations
      }
      if (!isFinal(exchange) || isLost(exchange)) return []
      const run = runs.get(requestDigest)
      const isRecent = (one: Seen) => exchange.at - endOf(one) <= WITHIN
      if (!run || !isLater(exchange, run.last) || !isRecent(run.last)) {
        remember(runs, requestDigest, { exchanges: [exchange], count: 1, last: exchange })
        return run ? judgeRun(run) : []
      }
      if (run.count < HAMMERING) run.exchanges = run.exchanges.filter(isRecent)
      run.count = run.count < HAMMERING ? run.exchanges.length + 1 : run.count + 1
      run.exchanges = [...run.exchanges, exchange].slice(0, MOST_SHOWN)
      run.last = exchange
      return []
    },
    open: judgeAll,
  }

  function judgeAll(): readonly Violation[] {
    return [...runs.values()].flatMap(judgeRun)
  }
}

function judgeRun({ exchanges, count, last }: Run): readonly Violation[] {
  if (count < HAMMERING) return []
  const seen = `the same request was sent ${count} times and rejected with ${last.status}${reasonIn(last)}`
  return [{ rule: 'refusal.repeated', seen, exchanges }]
}

/** No later attempt can succeed; the animal of a 404 may still be created. */
function isFinal({ status, operation }: Seen): boolean {
  if (status === 404) return operation === null
  return status !== null && [400, 405, 410, 413, 415].includes(status)
}
