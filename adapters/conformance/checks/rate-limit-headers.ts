import { readHttpDate } from '../../client/headers.js'
import { type Call, type Check, must, type Need, type Reply, type Subject } from '../check.js'
import { CheckSkipped, expectThat } from '../expect.js'
import { each, LIST } from './calls.js'
import { FAILURES } from './errors.js'

const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const

/** Every response carries the headers (spec §8). */
const RESPONSES: Readonly<
  Record<string, { needs?: readonly Need[]; call: (subject: Subject) => Call | Promise<Reply> }>
> = {
  '200': { call: () => LIST },
  '201': {
    needs: ['create'],
    call: async ({ sample }) => (await sample('available')).created,
  },
  ...FAILURES,
}

/** How far a clock may be off when a response has no Date. */
const CLOCK_ERROR = 600
/** The specification has no window longer than a day. */
const LONGEST_WINDOW = 86_400

/** Rate limit headers (spec §8). */
export const rateLimitHeaderChecks: readonly Check[] = [
  ...each(RESPONSES, (name, { needs = [], call }) => ({
    id: `ratelimit.present.${name}`,
    requirement: must('spec §8'),
    title: `${name} carries X-RateLimit-Limit, -Remaining and -Reset`,
    requests: 1,
    needs,
    async run(subject) {
      const given = await call(subject)
      const reply = 'path' in given ? await subject.once(given) : given
      for (const name of HEADERS) expectThat(reply, reply.headers.has(name), `the header ${name}`)
    },
  })),
  {
    id: 'ratelimit.integers',
    requirement: must('spec §8'),
    title: 'the three headers are whole numbers',
    requests: 1,
    async run({ once }) {
      const reply = await once(LIST)
      for (const name of HEADERS) {
        const value = reply.headers.get(name)
        if (value === null) throw new CheckSkipped(`${name} is missing`)
        expectThat(reply, /^\d+$/.test(value), `a whole number in ${name}`)
      }
    },
  },
  {
    id: 'ratelimit.bounds',
    requirement: must('spec §8'),
    title: 'X-RateLimit-Remaining is at most X-RateLimit-Limit',
    requests: 1,
    async run({ once }) {
      const reply = await once(LIST)
      const { limit, remaining } = numbersOf(reply)
      expectThat(reply, remaining <= limit, `at most ${limit} remaining`)
    },
  },
  {
    id: 'ratelimit.reset-seconds',
    requirement: must('spec §8'),
    title: 'X-RateLimit-Reset is a Unix timestamp in seconds',
    requests: 1,
    async run(subject) {
      const reply = await subject.once(LIST)
      const { reset } = numbersOf(reply)
      const { now, error } = timeOf(reply, subject)
      const isNear = Math.abs(reset - now) <= LONGEST_WINDOW + error
      expectThat(reply, isNear, `a timestamp within a day of ${now}`)
    },
  },
  {
    id: 'ratelimit.reset-future',
    requirement: must('spec §8'),
    title: 'X-RateLimit-Reset is in the future',
    requests: 1,
    async run(subject) {
      const reply = await subject.once(LIST)
      const { reset } = numbersOf(reply)
      const { now, error } = timeOf(reply, subject)
      expectThat(reply, reset >= now - error, `a timestamp from ${now} on`)
    },
  },
  {
    id: 'ratelimit.counts',
    requirement: must('spec §8'),
    title: 'each request leaves fewer in the window',
    requests: 3,
    async run({ send }) {
      let before = numbersOf(await send(LIST))
      // A window may end between two requests, and a bucket may be refilled.
      for (const isLast of [false, true]) {
        const reply = await send(LIST)
        const now = numbersOf(reply)
        if (now.remaining < before.remaining) return
        const expected = `less than ${before.remaining} remaining, as before`
        expectThat(reply, !isLast || now.reset !== before.reset, expected)
        before = now
      }
    },
  },
]

/** @throws CheckSkipped where another check reports their absence or form */
export function numbersOf({ headers }: Reply) {
  const [limit, remaining, reset] = HEADERS.map(name => Number(headers.get(name) ?? Number.NaN))
  if (![limit, remaining, reset].every(Number.isFinite)) {
    throw new CheckSkipped('the rate limit headers are missing or no numbers')
  }
  return { limit, remaining, reset } as Record<'limit' | 'remaining' | 'reset', number>
}

/** In seconds: when a response was sent, and by how much that may be wrong. */
function timeOf({ headers }: Reply, { now }: Subject) {
  const date = readHttpDate(headers.get('date'))
  if (date !== undefined) return { now: date / 1000, error: 1 }
  return { now: Math.floor(now() / 1000), error: CLOCK_ERROR }
}
