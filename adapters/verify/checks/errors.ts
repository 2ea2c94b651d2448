import { CheckSkipped } from '../check-failure.js'
import type { Call, Reply } from '../check-types.js'
import { NO_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { isObject, jsonIn, memberOf } from '../read-reply.js'
import { ABSENT, INVALID, LIST, post } from './calls.js'
import { checksOf, each } from './define-checks.js'

export const FAILURES = {
  '400': INVALID,
  '401': { ...LIST, as: NO_KEY },
  '404': ABSENT,
} satisfies Readonly<Record<string, Call>>

/** The Error body (spec §2, §7). */
export const errorChecks = checksOf(
  { name: 'error', source: 'spec §7' },
  {
    ...each('body.', FAILURES, (status, call) => ({
      title: `${status} has a body with \`code\`, \`message\` and \`status\``,
      must: 'spec §2',
      ...failing(status, call, bodyIssue),
    })),
    ...each('status.', FAILURES, (status, call) => ({
      title: `\`status\` in the body of ${status} repeats the HTTP status`,
      ...failing(status, call, statusIssue),
    })),
    ...each('type.', FAILURES, (status, call) => ({
      title: `the body of ${status} is application/json`,
      must: 'spec §4',
      ...failing(status, call, typeIssue),
    })),
    accept: {
      title: 'an error is JSON for a browser, too',
      should: 'spec §4',
      calls: [ABSENT, { ...ABSENT, headers: { accept: 'text/html,*/*;q=0.8' } }],
      judge: (reply, _, first = reply) => expectAsUsual(reply, first, '404'),
    },
    'unknown-path': {
      title: '404 for an unknown path has an Error body',
      should: 'spec §7',
      calls: [ABSENT, { path: '/verify-unknown' }],
      judge: (reply, _, first = reply) => expectAsUsual(reply, first, '404'),
    },
    code: {
      title: '`code` is for machines: no spaces, and different for 400 and 401',
      should: 'spec §2',
      calls: [FAILURES['400'], FAILURES['401']],
      judge(reply, _, first) {
        skipUnless(reply, first ? '401' : '400')
        const code = memberOf(reply, 'code')
        const isOwn = !first || memberOf(first, 'code') !== code
        expect.that(
          reply,
          isOwn && /^\S+$/.test(String(code ?? ' ')),
          'a `code` of its own without spaces',
        )
      },
    },
    internals: {
      title: 'an error shows no stack trace',
      should: 'RFC 9110 §17',
      calls: [post('{')],
      judge(reply) {
        const trace = /(\n|\\n)[^\S\n]+at |node_modules|\.[jt]s:\d+|Traceback|\.java:\d+|\.go:\d+/
        const [guilty] = trace.exec(reply.body) ?? []
        expect.that(reply, guilty === undefined, 'no stack trace', guilty)
      },
    },
  },
)

/** @throws CheckSkipped if the usual error of this status is wrong already */
function expectAsUsual(reply: Reply, usual: Reply, status: string): void {
  skipUnless(usual, status)
  skipUnless(reply, status)
  if (errorIssue(usual) !== undefined) {
    throw new CheckSkipped(`the usual ${status} is wrong, as other checks of error report`)
  }
  expect.noIssue(reply, errorIssue(reply))
}

/** Describes the mistake in an Error (spec §2, §7); undefined if there is none. */
export function errorIssue(reply: Reply): string | undefined {
  return typeIssue(reply) ?? bodyIssue(reply) ?? statusIssue(reply)
}

function typeIssue(reply: Reply): string | undefined {
  return expect.isJsonType(reply) ? undefined : 'application/json'
}

function bodyIssue(reply: Reply): string | undefined {
  const body = jsonIn(reply)
  if (!isObject(body)) return 'an Error as a JSON object'
  const { code, message, status } = body
  if (typeof code !== 'string') return 'a `code` that is a string'
  if (typeof message !== 'string') return 'a `message` that is a string'
  return Number.isInteger(status) ? undefined : 'a `status` that is an integer'
}

function statusIssue(reply: Reply): string | undefined {
  return memberOf(reply, 'status') === reply.status ? undefined : `\`status\` ${reply.status}`
}

/** Leaves it to another check to judge whether the request fails. */
function skipUnless(reply: Reply, status: string): void {
  if (reply.status === Number(status)) return
  throw new CheckSkipped(`the request that should be ${status} was answered ${reply.status}`)
}

function failing(status: string, call: Call, issue: (reply: Reply) => string | undefined) {
  const judge = (reply: Reply) => {
    skipUnless(reply, status)
    expect.noIssue(reply, issue(reply))
  }
  return { calls: [call], judge }
}
