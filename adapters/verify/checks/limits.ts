import { readLimits } from '../../client/headers.js'
import { type Check, type Credential, must, type Reply, type Subject, should } from '../check.js'
import { expectStatus, expectThat, isObject, jsonOf } from '../expect.js'
import { CheckFailure, CheckSkipped } from '../failure.js'
import { numbersOf } from '../rate-limit-numbers.js'
import { waitOf } from '../spare-key.js'
import { allAnimals, animal, LIST, post } from './calls.js'

/** The specification has none longer than a day; in ms, with a minute for clocks that differ. */
const LONGEST_WINDOW = 86_460_000
/** Rejections that a ban may take: more than half of the limit is no accident. */
const MOST_REJECTIONS = 200

/** What happens beyond the limit (spec §8). `exhausted` spares each check a window of its own. */
export const limitChecks: readonly Check[] = [
  {
    id: 'limits.exhaust',
    requirement: must('spec §8'),
    title: 'a request over the limit is 429',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { first, last = first, rejection } = await subject.exhausted()
      if (rejection) return
      expectThat(last, last.status === 200, '200, or 429 once no requests remain')
      if (numbersOf(last).remaining === numbersOf(first).remaining) {
        throw new CheckSkipped('nothing is counted: the limits may not apply here (spec §8)')
      }
      expectThat(last, false, '429 once no requests remain')
    },
  },
  {
    id: 'limits.whole-budget',
    requirement: should('spec §8'),
    title: 'as long as X-RateLimit-Remaining is above 0, the next request is admitted',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { last, rejection } = await subject.exhausted()
      if (!rejection || !last) throw new CheckSkipped('nothing was rejected')
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
    title: '429 carries Retry-After, in seconds or as an HTTP-date, no longer than its window',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const rejection = await rejected(subject)
      const wait = waitOf(rejection, subject.now())
      expectThat(rejection, wait !== undefined, 'seconds, or an HTTP-date')
      const seconds = Math.ceil(longestWait(rejection, subject) / 1000)
      const expected = `at most ${seconds} seconds, as X-RateLimit-Reset says`
      expectThat(rejection, wait <= seconds * 1000, expected)
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
    title: 'another key has its own budget',
    requests: 2,
    needs: ['limits'],
    async run(subject) {
      subject.renew()
      const before = await subject.send(LIST)
      const { first, last, rejection } = await subject.exhausted()
      const reply = await subject.send({ ...LIST, keeps429: true })
      expectStatus(reply, 200)
      // Where both count the same, the requests of the spare key show.
      const [was, is] = [numbersOf(before), numbersOf(reply)]
      const used = last && rejection ? numbersOf(first).remaining - numbersOf(last).remaining : 0
      const isShared = was.reset === is.reset && used >= 5 && was.remaining - is.remaining >= used
      expectThat(reply, !isShared, `about ${was.remaining - 1} remaining, as before`)
    },
  },
  {
    id: 'limits.creates-nothing',
    requirement: must('spec §8'),
    title: 'a request rejected with 429 has no effect',
    requests: 1,
    needs: ['limits', 'create'],
    async run(subject) {
      const { send, credentials } = subject
      await rejected(subject)
      const { name, ...others } = animal(subject, 'beyond the limit')
      const call = { ...post({ name, ...others }), as: credentials.spare as Credential }
      const reply = await send({ ...call, impatient: true })
      if (reply.status !== 429) return
      const { reply: list, animals } = await allAnimals(subject)
      const isStored = animals.some(pet => pet.name === name)
      expectThat(list, !isStored, `no animal called ${name}, whose creation was 429`, name)
    },
  },
  {
    id: 'limits.retry-after-late',
    requirement: should('RFC 9110 §10.2.3'),
    title: 'Retry-After is not longer than needed: more than a second before, it is still 429',
    requests: 0,
    needs: ['limits'],
    async run(subject) {
      const { rejection, until } = await waiting(subject)
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
      const { rejection, until } = await waiting(subject)
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
      const wait = waitOf(ban, subject.now())
      if (wait === undefined) throw withoutEnd(ban)
      expectThat(ban, wait <= LONGEST_WINDOW, 'a ban of at most a day')
      await subject.wait(wait, 'until the ban ends')
      const reply = await ask(subject)
      expectThat(reply, reply.status === 200, `200 after Retry-After of ${retryAfter(ban)}`)
    },
  },
]

/** A 429 has to carry Retry-After (spec §7); how else a key is banned is left open. */
function withoutEnd(ban: Reply): CheckFailure {
  return new CheckFailure({
    sent: ban.sent,
    came: ban,
    expected: 'a Retry-After that says when the ban ends',
    level: ban.status === 429 ? 'MUST' : 'SHOULD',
  })
}

async function rejected(subject: Subject): Promise<Reply> {
  const { rejection } = await subject.exhausted()
  if (rejection) return rejection
  throw new CheckSkipped('nothing was rejected')
}

/** A rejection whose wait can be waited for, and when it will be over. */
async function waiting(subject: Subject): Promise<{ rejection: Reply; until: number }> {
  const { rejection, at } = await subject.exhausted()
  if (!rejection) throw new CheckSkipped('nothing was rejected')
  const wait = waitOf(rejection, subject.now())
  if (wait === undefined) throw new CheckSkipped('429 has no Retry-After')
  if (wait > longestWait(rejection, subject)) {
    throw new CheckSkipped('Retry-After is longer than any window, as limits.retry-after reports')
  }
  return { rejection, until: at + wait }
}

/** In ms: until the window resets, with a minute for another window; at most a day. */
function longestWait(rejection: Reply, { now }: Subject): number {
  const { rateLimit, sentAt } = readLimits(rejection.headers)
  if (!rateLimit) return LONGEST_WINDOW
  const untilReset = rateLimit.reset * 1000 - (sentAt ?? now())
  return Math.min(LONGEST_WINDOW, Math.max(0, untilReset) + 60_000)
}

/** The first reply of a ban. @throws CheckSkipped where there is none */
async function banned(subject: Subject): Promise<Reply> {
  const rejection = await rejected(subject)
  // From here on the key may be banned, not only used up.
  subject.renew()
  const most = Math.min(MOST_REJECTIONS, Math.max(20, numbersOf(rejection).limit))
  const code = await codeOf(rejection)
  for (let count = 0; count < most; count++) {
    const reply = await ask(subject)
    if (reply.status === 200) throw new CheckSkipped('the limit was over before any ban')
    if (reply.status !== 429 || (await codeOf(reply)) !== code) return reply
    const [before, now] = [rejection, reply].map(one => waitOf(one, subject.now()))
    if (before === undefined) continue
    if (now === undefined || now > before + 2_000) return reply
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

function retryAfter({ headers }: Reply): string {
  return headers.get('retry-after') ?? 'nothing'
}
