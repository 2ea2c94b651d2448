import {
  type Call,
  type Check,
  must,
  type Need,
  type Reply,
  type Subject,
  should,
} from '../check.js'
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

/** Other requests for the same statuses: frameworks answer some of them by themselves. */
const OTHERS: Readonly<
  Record<string, { needs: readonly Need[]; calls(subject: Pick<Subject, 'credentials'>): Call[] }>
> = {
  '400': {
    needs: ['create'],
    calls: () => [
      post('{'),
      post(''),
      post('[]'),
      post('null'),
      post('{"name":1,"categoryId":"x"}'),
    ],
  },
  '401': {
    needs: [],
    calls: ({ credentials: { none, unknown, foreign } }) => [
      { ...LIST, as: unknown },
      { ...ABSENT, as: none },
      { ...ABSENT, as: unknown },
      { ...LIST, as: foreign('with "Bearer"', 'Bearer') },
      { ...LIST, as: foreign('with the scheme Basic', 'Basic dmVyaWZ5OnZlcmlmeQ==') },
    ],
  },
  '404': {
    needs: ['getPet'],
    calls: () =>
      ['verify', '-1', '0', '1.5', '9223372036854775806'].map(id => ({ path: `/pets/${id}` })),
  },
}

/** To count the calls of a check. */
const NO_SUBJECT = { credentials: { foreign: () => ({}) } } as unknown as Subject

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
  ...each(OTHERS, (name, { needs, calls }) => ({
    id: `error.every.${name}`,
    requirement: must('spec §7'),
    title: `every ${name} has an Error body as application/json, whatever was wrong`,
    requests: calls(NO_SUBJECT).length + 1,
    needs,
    async run(subject) {
      await expectUsual(subject, name)
      for (const call of calls(subject)) {
        const reply = await subject.once(call)
        if (reply.status !== Number(name)) continue
        const issue = await errorIssue(reply)
        expectThat(reply, issue === undefined, issue ?? '')
      }
    },
  })),
  {
    id: 'error.accept',
    requirement: should('spec §4'),
    title: 'an error is JSON for a browser, too',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      await expectUsual(subject, '404')
      const reply = await subject.send({ ...ABSENT, headers: { accept: 'text/html,*/*;q=0.8' } })
      if (reply.status !== 404) throw new CheckSkipped(`the request got ${reply.status}`)
      expectThat(reply, mediaType(reply) === 'application/json', 'application/json')
    },
  },
  {
    id: 'error.unknown-path',
    requirement: should('spec §7'),
    title: '404 for an unknown path has an Error body',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      await expectUsual(subject, '404')
      const reply = await subject.once({ path: '/verify-unknown' })
      if (reply.status !== 404) throw new CheckSkipped(`the request got ${reply.status}`)
      const issue = await errorIssue(reply)
      expectThat(reply, issue === undefined, issue ?? '')
    },
  },
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
      const [guilty] = trace.exec(reply.body) ?? []
      expectThat(reply, guilty === undefined, 'no stack trace', guilty)
    },
  },
]

/** @throws CheckSkipped where the usual error of this status is wrong already */
async function expectUsual(subject: Subject, name: string): Promise<void> {
  const usual = await failed(subject, FAILURES[name] as Failure)
  if ((await errorIssue(usual)) === undefined) return
  throw new CheckSkipped(
    `every ${name} may be wrong, as the other checks of error.*.${name} report`,
  )
}

/** What is wrong with an Error (spec §2, §7); undefined if nothing is. */
async function errorIssue(reply: Reply): Promise<string | undefined> {
  if (mediaType(reply) !== 'application/json') return 'application/json'
  const body = await jsonOf(reply).catch(() => undefined)
  if (!isObject(body)) return 'an Error as a JSON object'
  const { code, message, status } = body
  if (typeof code !== 'string') return 'a `code` that is a string'
  if (typeof message !== 'string') return 'a `message` that is a string'
  return status === reply.status ? undefined : `\`status\` ${reply.status}`
}

/** Another check judges whether it fails at all. */
async function failed(subject: Subject, { status, call }: Failure) {
  const reply = await subject.once(call(subject))
  if (reply.status === status) return reply
  throw new CheckSkipped(`the request that should be ${status} was answered ${reply.status}`)
}
