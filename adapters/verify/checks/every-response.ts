import { CheckFailure } from '../check-failure.js'
import type { Call, Reply } from '../check-types.js'
import { UNKNOWN, UNKNOWN_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { numbersOf, RATE_LIMIT_HEADERS } from '../read-reply.js'
import { LIST, post } from './calls.js'
import { checksOf, each, type Table } from './define-checks.js'
import { errorIssue, FAILURES } from './errors.js'
import { isResetPlausible } from './rate-limit-headers.js'

/** Requests that frameworks answer by themselves. */
const OTHERS: Readonly<Record<keyof typeof FAILURES, readonly Call[]>> = {
  '400': ['{', '', '[]', 'null', '{"name":1,"categoryId":"x"}'].map(body => post(body)),
  '401': [{ ...LIST, as: UNKNOWN_KEY }],
  '404': ['verify', '-1', '0', '1.5', '9223372036854775806'].map(id => ({ path: `/pets/${id}` })),
}

/** Requirements for every response of the run so far, whatever check caused it. */
export const everyChecks = [
  ...checksOf(
    { name: 'error', source: 'spec §7' },
    each('every.', OTHERS, (status, calls) =>
      everywhere(
        `every ${status} has an Error body as application/json, whatever was wrong`,
        [FAILURES[status as keyof typeof FAILURES], ...calls],
        reply => reply.status === Number(status) && reply.method !== 'HEAD',
        errorIssue,
      ),
    ),
  ),
  ...checksOf(
    { name: 'ratelimit', source: 'spec §8' },
    {
      every: everywhere(
        'every response carries the three headers, as whole numbers within the limit',
        [LIST, { ...LIST, method: 'HEAD' }, FAILURES['401'], { ...LIST, as: UNKNOWN_KEY }],
        () => true,
        headersIssue,
        ({ status }) => (SPECIFIED.includes(status) ? 'specified' : status),
      ),
    },
  ),
  ...checksOf(
    { name: 'auth', source: 'RFC 9110 §15.5.2' },
    {
      'challenge.every': everywhere(
        'every 401 carries WWW-Authenticate',
        [FAILURES['401'], ...OTHERS['401']],
        ({ status }) => status === 401,
        ({ headers }) =>
          headers.has('www-authenticate') ? undefined : 'a WWW-Authenticate header',
      ),
      echo: {
        title: 'a response never repeats the key that was sent',
        should: 'RFC 6750 §5.2',
        needs: [],
        calls: [{ ...LIST, as: UNKNOWN_KEY }],
        judge(_, { seen, leaks }) {
          for (const reply of seen) {
            const text = [...reply.headers.values(), reply.body].join('\n')
            const echo = [UNKNOWN, btoa(UNKNOWN)].find(spelling => text.includes(spelling))
            const isRepeated = echo !== undefined || leaks(text)
            expect.that(reply, !isRepeated, 'a response without the key', echo)
          }
        },
      },
    },
  ),
]

/** Statuses of the specification (spec §7). A server library may send others by itself. */
const SPECIFIED: readonly number[] = [200, 201, 400, 401, 404, 429]

/**
 * Judges the replies of the documented operations. A wrong reply counts only if another of its kind
 * is right: if all are wrong, the check of the usual one reports it.
 * @param issue returns what was expected; undefined if nothing is wrong
 * @param kindOf by default the status
 */
function everywhere(
  title: string,
  calls: readonly Call[],
  among: (reply: Reply) => boolean,
  issue: (reply: Reply) => string | undefined,
  kindOf: (reply: Reply) => unknown = ({ status }) => status,
): Table[string] {
  return {
    title,
    calls,
    judge(_, { seen, basePath }) {
      const replies = seen.filter(reply => isDocumented(reply, basePath) && among(reply))
      const isRight = (reply: Reply) => issue(reply) === undefined
      const right = new Set(replies.filter(isRight).map(kindOf))
      const wrong = replies.find(reply => right.has(kindOf(reply)) && !isRight(reply))
      if (!wrong) return
      const { sent, method, status } = wrong
      // The specification lists 400 for createPet only.
      const level = status === 400 && method !== 'POST' ? 'SHOULD' : undefined
      throw new CheckFailure({ sent, came: wrong, expected: issue(wrong) ?? '', level })
    },
  }
}

function isDocumented({ method, target }: Reply, basePath: string): boolean {
  const path = target.startsWith(basePath) ? target.slice(basePath.length) : ''
  return /^(GET|HEAD|POST)$/.test(method) && /^\/pets(\/[^/?]+)?(\?|$)/.test(path)
}

function headersIssue(reply: Reply): string | undefined {
  const missing = RATE_LIMIT_HEADERS.find(name => !reply.headers.has(name))
  if (missing !== undefined) return `the header ${missing}`
  const isWhole = RATE_LIMIT_HEADERS.every(name => /^\d+$/.test(reply.headers.get(name) ?? ''))
  if (!isWhole) return 'whole numbers in the three headers'
  const { limit, remaining } = numbersOf(reply)
  if (remaining > limit) return `at most ${limit} remaining`
  return isResetPlausible(reply) ? undefined : 'an X-RateLimit-Reset within a day of Date'
}
