import { type Call, type Check, must, type Need, type Subject, should } from '../check.js'
import { expectThat, isObject, jsonOf, mediaType } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { ABSENT, each, INVALID, LIST, post } from './calls.js'

interface Failure {
  readonly status: number
  readonly needs?: readonly Need[]
  readonly call: (subject: Subject) => Call
}

export const FAILURES: Readonly<Record<string, Failure>> = {
  '400': { status: 400, needs: ['create'], call: () => INVALID },
  '401': { status: 401, call: ({ credentials }) => ({ ...LIST, as: credentials.none }) },
  '404': { status: 404, needs: ['getPet'], call: () => ABSENT },
}

/** The Error body (spec §2, §7). */
export const errorChecks: readonly Check[] = [
  ...each(FAILURES, (name, failure) => ({
    id: `error.body.${name}`,
    requirement: must('spec §2'),
    title: `${name} has a body with \`code\`, \`message\` and \`status\``,
    requests: 1,
    needs: failure.needs ?? [],
    async run(subject) {
      const reply = await failed(subject, failure)
      const body = await jsonOf(reply)
      expectThat(reply, isObject(body), 'an Error as a JSON object')
      expectThat(reply, typeof body['code'] === 'string', 'a `code` that is a string')
      expectThat(reply, typeof body['message'] === 'string', 'a `message` that is a string')
      expectThat(reply, Number.isInteger(body['status']), 'a `status` that is an integer')
    },
  })),
  ...each(FAILURES, (name, failure) => ({
    id: `error.status.${name}`,
    requirement: must('spec §7'),
    title: `\`status\` in the body of ${name} repeats the HTTP status`,
    requests: 1,
    needs: failure.needs ?? [],
    async run(subject) {
      const reply = await failed(subject, failure)
      const body = await jsonOf(reply)
      const isRepeated = !isObject(body) || body['status'] === reply.status
      expectThat(reply, isRepeated, `\`status\` ${reply.status}`)
    },
  })),
  ...each(FAILURES, (name, failure) => ({
    id: `error.type.${name}`,
    requirement: must('spec §4'),
    title: `the body of ${name} is application/json`,
    requests: 1,
    needs: failure.needs ?? [],
    async run(subject) {
      const reply = await failed(subject, failure)
      expectThat(reply, mediaType(reply) === 'application/json', 'application/json')
    },
  })),
  {
    id: 'error.code',
    requirement: should('spec §2'),
    title: '`code` is for machines: no spaces, and different for 400 and 401',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      const codes: unknown[] = []
      for (const failure of [FAILURES['400'], FAILURES['401']]) {
        const reply = await failed(subject, failure as Failure)
        const body = await jsonOf(reply)
        const code = isObject(body) ? body['code'] : undefined
        const isFit = typeof code === 'string' && /^\S+$/.test(code) && !codes.includes(code)
        expectThat(reply, isFit, 'a `code` of its own without spaces')
        codes.push(code)
      }
    },
  },
  {
    id: 'error.internals',
    requirement: should('RFC 9110 §17'),
    title: 'an error shows no stack trace',
    requests: 1,
    needs: ['create'],
    async run({ once }) {
      const reply = await once(post('{'))
      const trace = /\n\s+at |\\n\s+at |node_modules|\.[jt]s:\d+|Traceback|\.java:\d+|\.go:\d+/
      expectThat(reply, !trace.test(reply.body), 'no stack trace')
    },
  },
]

/** Another check judges whether it fails at all. */
async function failed(subject: Subject, { status, call }: Failure) {
  const reply = await subject.once(call(subject))
  if (reply.status === status) return reply
  throw new CheckSkipped(`the request that should be ${status} was answered ${reply.status}`)
}
