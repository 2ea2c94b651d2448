import { readHttpDate } from '../../client/headers.js'
import { type Check, type Credential, must, type Reply, type Subject, should } from '../check.js'
import { CheckSkipped, expectStatus, expectThat, isObject, jsonOf } from '../expect.js'
import { LIST } from './calls.js'
import { numbersOf } from './rate-limit-headers.js'

/** Larger limits are not exhausted: that would be a load test. */
const LARGEST_LIMIT = 2_000
/** Rejections that a ban may take: more than half of the limit is no accident. */
const MOST_REJECTIONS = 200

/** What happens beyond the limit (spec §8). They share one exhausted window, in this order. */
export const limitChecks: readonly Check[] = [
  {
    id: 'limits.exhaust',
    requirement: must('spec §8'),
    title: 'a request over the limit is 429',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { last, rejection } = await exhaust(subject)
      expectThat(rejection ?? last, rejection !== undefined, '429 once no requests remain')
    },
  },
  {
    id: 'limits.whole-budget',
    requirement: should('spec §8'),
    title: 'as long as X-RateLimit-Remaining is above 0, the next request is admitted',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { last, rejection } = await exhaust(subject)
      if (!rejection) throw new CheckSkipped('nothing was rejected')
      const { remaining } = numbersOf(last)
      expectThat(rejection, remaining === 0, `one of the ${remaining} requests that remained`)
    },
  },
  {
    id: 'limits.body',
    requirement: must('spec §7'),
    title: '429 has an Error body',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const rejection = await rejected(subject)
      const body = await jsonOf(rejection)
      const isError =
        isObject(body) &&
        typeof body['code'] === 'string' &&
        typeof body['message'] === 'string' &&
        body['status'] === 429
      expectThat(rejection, isError, '`code`, `message` and `status` 429')
    },
  },
  {
    id: 'limits.headers',
    requirement: must('spec §8'),
    title: '429 carries the three headers, with 0 remaining',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const rejection = await rejected(subject)
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
      for (const name of names) {
        expectThat(rejection, rejection.headers.has(name), `the header ${name}`)
      }
      expectThat(rejection, numbersOf(rejection).remaining === 0, '0 remaining')
    },
  },
  {
    id: 'limits.retry-after',
    requirement: must('spec §7, RFC 9110 §10.2.3'),
    title: '429 carries Retry-After, in seconds or as an HTTP-date',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const rejection = await rejected(subject)
      expectThat(rejection, waitOf(rejection, subject) !== undefined, 'seconds, or an HTTP-date')
    },
  },
  {
    id: 'limits.no-store',
    requirement: should('RFC 6585 §4'),
    title: 'a 429 must not be stored by caches',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const rejection = await rejected(subject)
      const control = rejection.headers.get('cache-control') ?? ''
      expectThat(rejection, !/\b(public|max-age=[1-9])/.test(control), 'no permission to cache it')
    },
  },
  {
    id: 'limits.other-key',
    requirement: must('spec §8'),
    title: 'another key is not affected',
    requests: 1,
    needs: ['limits'],
    async run(subject) {
      await rejected(subject)
      expectStatus(await subject.send(LIST), 200)
    },
  },
  {
    id: 'limits.retry-after-late',
    requirement: should('RFC 9110 §10.2.3'),
    title: 'Retry-After is not longer than needed: more than a second before, it is still 429',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { rejection, until } = await fresh(subject)
      // Half a second for the way there and back.
      await waitUntil(subject, until - 1_500)
      const early = await ask(subject)
      expectThat(
        early,
        early.status === 429,
        `429, as Retry-After of ${retryAfter(rejection)} says`,
      )
    },
  },
  {
    id: 'limits.retry-after-early',
    requirement: must('spec §8'),
    title: 'Retry-After is long enough: a request after it is admitted',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { rejection, until } = await fresh(subject)
      await waitUntil(subject, until)
      const reply = await ask(subject)
      expectThat(reply, reply.status === 200, `200 after Retry-After of ${retryAfter(rejection)}`)
    },
  },
  {
    id: 'limits.ban-ends',
    requirement: must('spec §8, RFC 9110 §10.2.3'),
    title: 'a ban after repeated requests is temporary: it ends when its Retry-After says',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const ban = await banned(subject)
      const wait = waitOf(ban, subject)
      if (wait === undefined) throw new CheckSkipped('the ban does not say when it ends')
      await subject.wait(wait, 'until the ban ends')
      const reply = await ask(subject)
      expectThat(reply, reply.status === 200, `200 after Retry-After of ${retryAfter(ban)}`)
    },
  },
]

interface Exhausted {
  /** The last reply that was not 429. */
  readonly last: Reply
  /** Undefined where nothing is rejected. */
  readonly rejection: Reply | undefined
  /** When the rejection came, by the clock of the subject. */
  readonly at: number
}

const exhaustions = new WeakMap<Subject, Promise<Exhausted>>()

/** The spare key without requests, once for all checks. */
function exhaust(subject: Subject): Promise<Exhausted> {
  const known = exhaustions.get(subject) ?? useUp(subject)
  exhaustions.set(subject, known)
  return known
}

async function useUp(subject: Subject): Promise<Exhausted> {
  let last = await ask(subject)
  if (last.status !== 200) throw new CheckSkipped(`the spare key is answered ${last.status}`)
  const { limit, remaining } = numbersOf(last)
  if (remaining > LARGEST_LIMIT) {
    throw new CheckSkipped(`the limit of ${limit} is too large to exhaust`)
  }
  // A window may end on the way, once.
  for (let sent = 0; sent <= remaining + limit; sent++) {
    const reply = await ask(subject)
    if (reply.status === 429) return { last, rejection: reply, at: subject.now() }
    const isOver = numbersOf(last).remaining === 0 && sent > remaining
    last = reply
    if (isOver) break
  }
  return { last, rejection: undefined, at: subject.now() }
}

async function rejected(subject: Subject): Promise<Reply> {
  const { rejection } = await exhaust(subject)
  if (rejection) return rejection
  throw new CheckSkipped('nothing was rejected')
}

/** A rejection whose wait is not over, and when it will be. */
async function fresh(subject: Subject): Promise<{ rejection: Reply; until: number }> {
  let { rejection, at } = await exhaust(subject)
  for (;;) {
    if (!rejection) throw new CheckSkipped('nothing was rejected')
    const wait = waitOf(rejection, subject)
    if (wait === undefined) throw new CheckSkipped('429 has no Retry-After')
    if (at + wait > subject.now()) return { rejection, until: at + wait }
    exhaustions.delete(subject)
    ;({ rejection, at } = await exhaust(subject))
  }
}

/** The first reply of a ban. @throws CheckSkipped where there is none */
async function banned(subject: Subject): Promise<Reply> {
  exhaustions.delete(subject)
  const { rejection } = await exhaust(subject)
  if (!rejection) throw new CheckSkipped('nothing was rejected')
  const most = Math.min(MOST_REJECTIONS, Math.max(20, numbersOf(rejection).limit))
  const code = await codeOf(rejection)
  for (let count = 0; count < most; count++) {
    const reply = await ask(subject)
    if (reply.status !== 429 || (await codeOf(reply)) !== code) return reply
    const [before, now] = [waitOf(rejection, subject), waitOf(reply, subject)]
    if (before !== undefined && now !== undefined && now > before + 2_000) return reply
  }
  throw new CheckSkipped(`${most} requests after a 429 led to no ban, which is allowed`)
}

async function codeOf(reply: Reply): Promise<unknown> {
  const body = await jsonOf(reply)
  return isObject(body) ? body['code'] : undefined
}

function ask({ send, credentials }: Subject): Promise<Reply> {
  return send({ ...LIST, as: credentials.spare as Credential, impatient: true })
}

async function waitUntil(subject: Subject, instant: number): Promise<void> {
  const ms = instant - subject.now()
  if (ms > 0) await subject.wait(ms, 'for Retry-After')
}

/** In ms; undefined where it cannot be read. */
function waitOf({ headers }: Reply, { now }: Subject): number | undefined {
  const text = headers.get('retry-after')
  if (text !== null && /^\d{1,9}$/.test(text)) return Number(text) * 1000
  const date = readHttpDate(text)
  return date === undefined ? undefined : date - (readHttpDate(headers.get('date')) ?? now())
}

function retryAfter({ headers }: Reply): string {
  return headers.get('retry-after') ?? 'nothing'
}
