import { readHttpDate } from '../../../src/lib/retry-after.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { numbersOf, RATE_LIMIT_HEADERS } from '../read-reply.js'
import { LIST } from './calls.js'
import { checksOf, type Group } from './define-checks.js'

/** Tolerance in seconds for a clock if a response has no Date. */
const CLOCK_ERROR = 600
/** In seconds: the specification has no longer window than a day. */
const LONGEST_WINDOW = 86_400

const GROUP: Group = { name: 'ratelimit', source: 'spec §8' }

export const rateLimitHeaderChecks = checksOf(GROUP, {
  counts: {
    title: 'each request leaves fewer in the window',
    maxRequests: 3,
    async run({ send }) {
      let before = numbersOf(await send(LIST))
      let isConstant = true
      // A window may end between two requests, and a bucket may be refilled.
      for (const isLast of [false, true]) {
        const reply = await send(LIST)
        const now = numbersOf(reply)
        if (now.remaining < before.remaining) return
        isConstant &&= now.remaining === before.remaining
        const counts = !isConstant || now.remaining === 0
        const isWrong = isLast && counts && now.reset === before.reset
        expect.that(reply, !isWrong, `less than ${before.remaining} remaining, as before`)
        before = now
      }
      if (!isConstant) return
      throw new CheckSkipped('nothing is counted: the limits may not apply here (spec §8)')
    },
  },
  'reset-future': {
    title: 'X-RateLimit-Reset is the end of a window, not its beginning',
    maxRequests: 2,
    async run(subject) {
      if (expectFuture(await subject.send(LIST), subject) > 0) return
      // The beginning of a window is no longer taken for its end.
      await subject.wait(2_000, 'limit')
      expectFuture(await subject.send(LIST), subject)
    },
  },
})

/** @returns the seconds until the reset */
function expectFuture(reply: Reply, subject: Subject): number {
  const { now, error } = timeOf(reply, subject)
  const { reset } = numbersOf(reply)
  expect.that(reply, reset >= now - error, `a timestamp from ${now} on in x-ratelimit-reset`)
  return reset - now
}

/** Describes the mistake in the headers of any response; undefined if there is none. */
export function headersIssue(reply: Reply, subject: Subject): string | undefined {
  const { headers } = reply
  const wrong = RATE_LIMIT_HEADERS.filter(name => !/^\d+$/.test(headers.get(name) ?? ''))
  if (wrong.length > 0) return `whole numbers in ${wrong.join(', ')}`
  const [limit = 0, remaining = 0, reset = 0] = RATE_LIMIT_HEADERS.map(name =>
    Number(headers.get(name)),
  )
  if (remaining > limit) return `at most ${limit} remaining`
  const { now, error } = timeOf(reply, subject)
  // Without Date, nobody knows when the response was sent.
  const earliest = headers.has('date') ? now : now - LONGEST_WINDOW
  const isNear = reset >= earliest - error && reset <= now + LONGEST_WINDOW + error
  return isNear ? undefined : `a timestamp from ${now} on, within a day, in x-ratelimit-reset`
}

/** Returns when a response was sent, and the possible error, in seconds. */
function timeOf({ headers }: Reply, { now }: Subject) {
  const date = readHttpDate(headers.get('date'))
  if (date !== undefined) return { now: date / 1000, error: 1 }
  return { now: Math.floor(now() / 1000), error: CLOCK_ERROR }
}
