import { readHttpDate, retryInstant } from '../../src/lib/retry-after.js'
import { CheckSkipped } from './check-failure.js'
import type { Exhaustion, Reply, Subject } from './check-types.js'
import { SPARE_KEY } from './credentials.js'
import { numbersOf } from './read-reply.js'

/** Larger limits are not exhausted: that would be a load test. */
const LARGEST_LIMIT = 2_000

export function createSpareKey(
  send: Subject['send'],
  now: () => number,
): Pick<Subject, 'exhausted' | 'renew'> {
  const ask = () => send({ path: '/pets', as: SPARE_KEY, impatient: true })
  let latest: Exhaustion | undefined

  return {
    async exhausted() {
      const until = latest?.rejection ? latest.at + freshFor(latest.rejection) : now() + 1
      if (!latest || until <= now()) latest = await useUp()
      return latest
    },
    renew() {
      latest = undefined
    },
  }

  async function useUp(): Promise<Exhaustion> {
    const first = await ask()
    if (first.status === 429) return { first, last: undefined, rejection: first, at: now() }
    if (first.status !== 200) return { first, last: first, rejection: undefined, at: now() }
    const { limit, remaining } = numbersOf(first)
    if (remaining > LARGEST_LIMIT || limit > LARGEST_LIMIT) {
      throw new CheckSkipped(`the limit of ${limit} is too large to exhaust`)
    }
    let last = first
    // A window may end on the way, once.
    for (let sent = 0; sent <= remaining + limit; sent++) {
      const reply = await ask()
      if (reply.status === 429) return { first, last, rejection: reply, at: now() }
      const isOver = numbersOf(last).remaining === 0 && sent > remaining
      last = reply
      if (isOver || reply.status !== 200) break
    }
    return { first, last, rejection: undefined, at: now() }
  }

  /** Half of its wait, so that every check has time to use it. */
  function freshFor(rejection: Reply): number {
    return (waitOf(rejection, now()) ?? 10_000) / 2
  }
}

/** Wait demanded by `Retry-After`, in ms; undefined if unreadable. */
export function waitOf({ headers }: Reply, now: number): number | undefined {
  const sentAt = readHttpDate(headers.get('date')) ?? now
  const until = retryInstant(headers.get('retry-after'), sentAt)
  return until === undefined ? undefined : until - sentAt
}
