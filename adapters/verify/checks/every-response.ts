import { readLimits } from '../../client/rate-limit-headers.js'
import { CheckFailure } from '../check-failure.js'
import type { Call, Reply, Subject } from '../check-types.js'
import { UNKNOWN, UNKNOWN_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { LIST, post } from './calls.js'
import { checksOf, each, type Table } from './define-checks.js'
import { errorIssue, FAILURES } from './errors.js'
import { expectFuture, headersIssue } from './rate-limit-headers.js'

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
      'reset-future': {
        title: 'X-RateLimit-Reset is in the future, in every response',
        maxRequests: 2,
        async run(subject) {
          const announced = ({ headers }: Reply) =>
            headers.has('date') && readLimits(headers).rateLimit !== undefined
          for (const reply of subject.seen.filter(announced)) expectFuture(reply, subject)
          const reply = await subject.send(LIST)
          if (expectFuture(reply, subject) > 0) return
          // The beginning of a window is no longer taken for its end.
          await subject.wait(2_000, 'limit')
          expectFuture(await subject.send(LIST), subject)
        },
      },
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

/** A server library may send others by itself, but every response has the headers (spec §8). */
const SPECIFIED: readonly number[] = [200, 201, 400, 401, 404, 405, 429]

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
  issue: (reply: Reply, subject: Subject) => string | undefined,
  kindOf: (reply: Reply) => unknown = ({ status }) => status,
): Table[string] {
  return {
    title,
    calls,
    judge(_, subject) {
      const { seen, basePath } = subject
      const replies = seen.filter(reply => isDocumented(reply, basePath) && among(reply))
      const isRight = (reply: Reply) => issue(reply, subject) === undefined
      const right = new Set(replies.filter(isRight).map(kindOf))
      const wrong = replies.find(reply => right.has(kindOf(reply)) && !isRight(reply))
      if (!wrong) return
      const { sent, method, status } = wrong
      // The specification lists 400 for createPet only.
      const level = status === 400 && method !== 'POST' ? 'SHOULD' : undefined
      throw new CheckFailure({ sent, came: wrong, expected: issue(wrong, subject) ?? '', level })
    },
  }
}

/** Without what a proxy in front may refuse: long or encoded targets. */
function isDocumented({ target }: Reply, basePath: string): boolean {
  const path = target.startsWith(basePath) ? target.slice(basePath.length) : ''
  return /^\/pets(\/[\w.-]{1,50})?(\?[\w=&.-]{0,50})?$/.test(path)
}
