import { readHttpDate } from '../../../src/lib/retry-after.js'
import { type Call, type Check, must, type Need, type Reply, type Subject } from '../check.js'
import { expectThat } from '../expect.js'
import { CheckFailure, CheckSkipped } from '../failure.js'
import { numbersOf, RATE_LIMIT_HEADERS } from '../rate-limit-numbers.js'
import { each, LIST } from './calls.js'
import { FAILURES } from './errors.js'

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
    requests: 3,
    needs,
    async run(subject) {
      const given = await call(subject)
      const reply = 'path' in given ? await subject.once(given) : given
      const missing = RATE_LIMIT_HEADERS.find(header => !reply.headers.has(header))
      if (missing === undefined) return
      const isAnywhere = await sendsLimits(subject)
      if (!isAnywhere && name !== '200') {
        throw new CheckSkipped('no response carries the headers, as ratelimit.present.200 reports')
      }
      throw new CheckFailure({
        sent: reply.sent,
        came: reply,
        expected: `the header ${missing}${isAnywhere ? '' : ', unless the limits do not apply here'}`,
        // Whether the limits apply to these operations is left open (spec §8).
        level: isAnywhere ? 'MUST' : 'SHOULD',
      })
    },
  })),
  {
    id: 'ratelimit.integers',
    requirement: must('spec §8'),
    title: 'the three headers are whole numbers',
    requests: 1,
    async run({ once }) {
      const reply = await once(LIST)
      for (const name of RATE_LIMIT_HEADERS) {
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
      let isConstant = true
      // A window may end between two requests, and a bucket may be refilled.
      for (const isLast of [false, true]) {
        const reply = await send(LIST)
        const now = numbersOf(reply)
        if (now.remaining < before.remaining) return
        isConstant &&= now.remaining === before.remaining
        const counts = !isConstant || now.remaining === 0
        const isWrong = isLast && counts && now.reset === before.reset
        expectThat(reply, !isWrong, `less than ${before.remaining} remaining, as before`)
        before = now
      }
      if (!isConstant) return
      throw new CheckSkipped('nothing is counted: the limits may not apply here (spec §8)')
    },
  },
  {
    id: 'ratelimit.per-key',
    requirement: must('spec §8'),
    title: 'requests without a key are not counted for the key',
    requests: 7,
    async run({ send, credentials }) {
      const anonymous = { path: '/pets', as: credentials.none }
      const used = async (others: number) => {
        const before = numbersOf(await send(LIST))
        for (let sent = 0; sent < others; sent++) {
          const { status } = await send(anonymous)
          if (status !== 401) throw new CheckSkipped('the server answers without a key')
        }
        const reply = await send(LIST)
        const now = numbersOf(reply)
        return { reply, count: now.reset === before.reset ? before.remaining - now.remaining : 0 }
      }
      const { reply, count } = await used(3)
      if (count < 4) return
      // Others may use the key at the same time.
      if ((await used(0)).count > 1) throw new CheckSkipped('others use the key as well')
      expectThat(reply, false, `one request less remaining than before, not ${count}`)
    },
  },
]

/** Whether any of the three headers comes at all. */
async function sendsLimits({ once, credentials }: Subject): Promise<boolean> {
  const replies = [await once(LIST), await once({ ...LIST, as: credentials.none })]
  return replies.some(({ headers }) => RATE_LIMIT_HEADERS.some(name => headers.has(name)))
}

/** In seconds: when a response was sent, and by how much that may be wrong. */
function timeOf({ headers }: Reply, { now }: Subject) {
  const date = readHttpDate(headers.get('date'))
  if (date !== undefined) return { now: date / 1000, error: 1 }
  return { now: Math.floor(now() / 1000), error: CLOCK_ERROR }
}
