import { CheckFailure, CheckSkipped } from '../check-failure.js'
import type { Call, Reply, Subject } from '../check-types.js'
import { UNKNOWN, UNKNOWN_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { RATE_LIMIT_HEADERS } from '../read-reply.js'
import { ABSENT, ANONYMOUS, INVALID, LIST, post } from './calls.js'
import { checksOf, inOne, type Table } from './define-checks.js'
import { errorIssue } from './errors.js'
import { headersIssue } from './rate-limit-headers.js'

const STRANGERS: readonly Call[] = [ANONYMOUS, { ...LIST, as: UNKNOWN_KEY }]
/** Bodies and ids that frameworks refuse by themselves. */
const BODIES = ['{', '', '[]', 'null', '{"name":1,"categoryId":"x"}']
const IDS = ['verify', '-1', '0', '1.5', '9223372036854775806']

/** Requirements for every response of the run so far, whatever check caused it. */
export const everyChecks = [
  ...checksOf(
    { name: 'error', source: 'spec §2, §4, §7' },
    {
      '400': errors(400, [INVALID, ...BODIES.map(body => post(body))]),
      '401': errors(401, STRANGERS),
      '404': errors(404, [ABSENT, ...IDS.map(id => ({ path: `/pets/${id}` }))]),
    },
  ),
  ...checksOf(
    { name: 'ratelimit', source: 'spec §8' },
    {
      headers: everywhere({
        title: 'every response carries the three headers, as whole numbers that make sense',
        calls: [LIST, { ...LIST, method: 'HEAD' }, ANONYMOUS],
        among: ({ status }) => SPECIFIED.includes(status),
        issue: headersIssue,
        unless: (_, { seen }) =>
          !seen.some(({ headers }) => RATE_LIMIT_HEADERS.some(name => headers.has(name))) &&
          'unless the limits do not apply here',
      }),
    },
  ),
  ...checksOf(
    { name: 'http', source: 'spec §4' },
    {
      'content-type': everywhere({
        title: 'every animal and every list comes as application/json',
        calls: [LIST],
        among: ({ status, method }) => method !== 'HEAD' && (status === 200 || status === 201),
        issue: reply => (expect.isJsonType(reply) ? undefined : 'application/json'),
      }),
    },
  ),
  ...checksOf(
    { name: 'auth', source: 'RFC 9110 §15.5.2' },
    {
      challenge: everywhere({
        title: 'every 401 carries WWW-Authenticate',
        calls: STRANGERS,
        among: ({ status }) => status === 401,
        issue: ({ headers }) =>
          headers.has('www-authenticate') ? undefined : 'a WWW-Authenticate header',
      }),
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

function errors(code: number, calls: readonly Call[]): Table[string] {
  return everywhere({
    title: `every ${code} has an Error body as application/json, whatever was wrong`,
    calls,
    among: ({ status, method }) => status === code && method !== 'HEAD',
    issue: errorIssue,
    unless: ({ method }) =>
      code === 400 && method !== 'POST' && 'though the specification has 400 in createPet only',
  })
}

/** A server library may send others by itself. */
const SPECIFIED: readonly number[] = [200, 201, 400, 401, 404, 405, 429]

interface Everywhere {
  readonly title: string
  readonly calls: readonly Call[]
  among(reply: Reply): boolean
  /** Describes the mistake in a reply; undefined if there is none. */
  issue(reply: Reply, subject: Subject): string | undefined
  /** Why the specification leaves it open, so that it is a SHOULD; false if it does not. */
  unless?(reply: Reply, subject: Subject): string | false
}

function everywhere({ title, calls, among, issue, unless }: Everywhere): Table[string] {
  return {
    title,
    calls,
    judge(_, subject) {
      const { seen, basePath } = subject
      const replies = seen.filter(reply => isDocumented(reply, basePath) && among(reply))
      if (replies.length === 0) throw new CheckSkipped('there was no such response')
      const failures = replies.flatMap(came => {
        const expected = issue(came, subject)
        if (expected === undefined) return []
        const { sent } = came
        const reason = unless?.(came, subject)
        if (!reason) return new CheckFailure({ sent, came, expected, level: 'MUST' })
        const softened = `${expected}, ${reason}`
        return new CheckFailure({ sent, came, expected: softened, level: 'SHOULD' })
      })
      if (failures.length > 0) throw inOne(failures)
    },
  }
}

/** Without what a proxy in front may refuse: long or encoded targets. */
function isDocumented({ target }: Reply, basePath: string): boolean {
  const path = target.startsWith(basePath) ? target.slice(basePath.length) : ''
  return /^\/pets(\/[\w.-]{1,50})?(\?[\w=&.-]{0,50})?$/.test(path)
}
