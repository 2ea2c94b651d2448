import { readHttpDate } from '../../../src/lib/retry-after.js'
import { CheckFailure, CheckSkipped } from '../check-failure.js'
import type { Names, Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { numbersOf, RATE_LIMIT_HEADERS } from '../read-reply.js'
import { LIST, postSample } from './calls.js'
import { checksOf, each } from './define-checks.js'
import { FAILURES } from './errors.js'

/** Tolerance in seconds for a clock if a response has no Date. */
const CLOCK_ERROR = 600
/** In seconds: the specification has no longer window than a day. */
const LONGEST_WINDOW = 86_400

/** What is wrong with headers that are there; undefined if nothing is. */
type Issue = (reply: Reply, subject: Subject) => string | undefined

const FORMS: Readonly<Record<string, { readonly title: string; readonly issue: Issue }>> = {
  integers: {
    title: 'the three headers are whole numbers',
    issue({ headers }) {
      const wrong = RATE_LIMIT_HEADERS.find(name => !/^\d+$/.test(headers.get(name) ?? ''))
      return wrong && `a whole number in ${wrong}`
    },
  },
  bounds: {
    title: 'X-RateLimit-Remaining is at most X-RateLimit-Limit',
    issue(reply) {
      const { limit, remaining } = numbersOf(reply)
      return remaining <= limit ? undefined : `at most ${limit} remaining`
    },
  },
  'reset-seconds': {
    title: 'X-RateLimit-Reset is a Unix timestamp in seconds',
    issue(reply, subject) {
      const { now, error } = timeOf(reply, subject)
      const isNear = Math.abs(resetOf(reply) - now) <= LONGEST_WINDOW + error
      return isNear ? undefined : `a timestamp within a day of ${now}`
    },
  },
}

/** Rate limit headers (spec §8). */
export const rateLimitHeaderChecks = checksOf(
  { name: 'ratelimit', source: 'spec §8' },
  {
    ...each(
      'present.',
      { '200': LIST, '201': (names: Names) => postSample(names), ...FAILURES },
      (status, call) => ({
        title: `${status} carries X-RateLimit-Limit, -Remaining and -Reset`,
        calls: names => [typeof call === 'function' ? call(names) : call],
        judge: expectHeaders,
      }),
    ),
    ...each('', FORMS, (_, { title, issue }) => ({
      title,
      calls: [LIST],
      judge(reply, subject) {
        const missing = RATE_LIMIT_HEADERS.find(name => !reply.headers.has(name))
        if (missing !== undefined) throw new CheckSkipped(`${missing} is missing`)
        expect.noIssue(reply, issue(reply, subject))
      },
    })),
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
  },
)

function expectHeaders(reply: Reply, { seen }: Subject): void {
  const missing = RATE_LIMIT_HEADERS.find(header => !reply.headers.has(header))
  if (missing === undefined) return
  const isAnywhere = seen.some(({ headers }) => RATE_LIMIT_HEADERS.some(name => headers.has(name)))
  if (!isAnywhere && reply.status !== 200) {
    throw new CheckSkipped('no response carries the headers, as ratelimit.present.200 reports')
  }
  throw new CheckFailure({
    sent: reply.sent,
    came: reply,
    expected: `the header ${missing}${isAnywhere ? '' : ', unless the limits do not apply here'}`,
    // The specification leaves open whether limits apply to these operations (spec §8).
    level: isAnywhere ? 'MUST' : 'SHOULD',
  })
}

/** Returns when a response was sent, and the possible error, in seconds. */
function timeOf({ headers }: Reply, { now }: Subject) {
  const date = readHttpDate(headers.get('date'))
  if (date !== undefined) return { now: date / 1000, error: 1 }
  return { now: Math.floor(now() / 1000), error: CLOCK_ERROR }
}

/** As sent: a timestamp in ms is larger. */
function resetOf(reply: Reply): number {
  numbersOf(reply)
  return Number(reply.headers.get('x-ratelimit-reset'))
}

/** Returns the seconds until the reset. @throws CheckFailure if it has passed */
export function expectFuture(reply: Reply, subject: Subject): number {
  const { now, error } = timeOf(reply, subject)
  const reset = resetOf(reply)
  expect.that(reply, reset >= now - error, `a timestamp from ${now} on in X-RateLimit-Reset`)
  return reset - now
}

/** Describes the mistake in the headers of any response; undefined if there is none. */
export function headersIssue(reply: Reply, subject: Subject): string | undefined {
  const missing = RATE_LIMIT_HEADERS.find(name => !reply.headers.has(name))
  if (missing !== undefined) return `the header ${missing}`
  for (const { issue } of Object.values(FORMS)) {
    const found = issue(reply, subject)
    if (found !== undefined) return found
  }
  return undefined
}
