import { CheckSkipped } from '../check-failure.js'
import type { Reply } from '../check-types.js'
import * as expect from '../expect.js'
import { isObject, jsonIn, memberOf } from '../read-reply.js'
import { ABSENT, ANONYMOUS, INVALID, post } from './calls.js'
import { checksOf, type Group } from './define-checks.js'

const GROUP: Group = { name: 'error', source: 'spec §7' }

/** The Error body (spec §2, §7); every response with one is judged at the end of a run. */
export const errorChecks = checksOf(GROUP, {
  'as-usual': {
    title: 'a 404 has an Error body for a browser and for an unknown path, too',
    should: 'spec §4, §7',
    calls: [
      ABSENT,
      { ...ABSENT, headers: { accept: 'text/html,*/*;q=0.8' } },
      { path: '/verify-unknown' },
    ],
    judge(reply, _, usual = reply) {
      skipUnless(usual, 404)
      skipUnless(reply, 404)
      if (errorIssue(usual) !== undefined) {
        throw new CheckSkipped('the usual 404 is wrong, as error.404 reports')
      }
      expect.noIssue(reply, errorIssue(reply))
    },
  },
  code: {
    title: '`code` is for machines: no spaces, and different for 400 and 401',
    should: 'spec §2',
    calls: [INVALID, ANONYMOUS],
    judge(reply, _, first) {
      skipUnless(reply, first ? 401 : 400)
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
})

/** Describes everything wrong in an Error (spec §2, §7); undefined if nothing is. */
export function errorIssue(reply: Reply): string | undefined {
  const body = jsonIn(reply)
  const { code, message, status } = isObject(body) ? body : {}
  const issues = [
    expect.isJsonType(reply) ? '' : 'application/json',
    typeof code === 'string' ? '' : 'a `code` that is a string',
    typeof message === 'string' ? '' : 'a `message` that is a string',
    status === reply.status ? '' : `\`status\` ${reply.status}`,
  ].filter(issue => issue !== '')
  return issues.length === 0 ? undefined : issues.join(', ')
}

/** Leaves it to another check to judge whether the request fails. */
function skipUnless(reply: Reply, status: number): void {
  if (reply.status === status) return
  throw new CheckSkipped(`the request that should be ${status} was answered ${reply.status}`)
}
