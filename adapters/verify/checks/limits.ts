import { readLimits } from '../../client/rate-limit-headers.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import { SPARE_KEY } from '../credentials.js'
import * as expect from '../expect.js'
import { memberOf, numbersOf } from '../read-reply.js'
import { LONGEST_WINDOW } from '../request-budget.js'
import { waitOf } from '../spare-key.js'
import { animal, LIST, post } from './calls.js'
import { checksOf, type Group } from './define-checks.js'
import { errorIssue } from './errors.js'
import { expectUnstored } from './samples.js'

/** Maximum rejections before a ban: more than half of the limit is no accident. */
const MOST_REJECTIONS = 200

const GROUP: Group = { name: 'limits', source: 'spec §8', needs: ['exhaust'], maxRequests: 0 }

/** `exhausted` saves each check its own window. */
export const limitChecks = checksOf(GROUP, {
  exhaust: {
    title: 'a request over the limit is 429',
    async run(subject) {
      const { first, last = first, rejection } = await subject.exhausted()
      if (rejection) return
      expect.that(last, last.status === 200, '200, or 429 once no requests remain')
      if (numbersOf(last).remaining === numbersOf(first).remaining) {
        throw new CheckSkipped('nothing is counted: the limits may not apply here (spec §8)')
      }
      expect.that(last, false, '429 once no requests remain')
    },
  },
  'whole-budget': {
    title: 'as long as X-RateLimit-Remaining is above 0, the next request is admitted',
    should: 'spec §8',
    async run(subject) {
      const { last, rejection } = await subject.exhausted()
      if (!rejection || !last) throw new CheckSkipped('nothing was rejected')
      const { remaining } = numbersOf(last)
      expect.that(rejection, remaining === 0, `one of the ${remaining} requests that remained`)
    },
  },
  body: {
    title: '429 has an Error body',
    must: 'spec §7',
    async run(subject) {
      const reply = await rejected(subject)
      expect.noIssue(reply, errorIssue(reply))
    },
  },
  remaining: {
    title: '429 says that 0 requests remain',
    async run(subject) {
      const reply = await rejected(subject)
      expect.that(reply, numbersOf(reply).remaining === 0, '0 remaining')
    },
  },
  'retry-after': {
    title: '429 carries Retry-After, in seconds or as an HTTP-date, no longer than its window',
    must: 'spec §7, RFC 9110 §10.2.3',
    async run(subject) {
      const reply = await rejected(subject)
      const wait = waitOf(reply, subject.now())
      expect.that(reply, wait !== undefined, 'seconds, or an HTTP-date')
      const seconds = Math.ceil(longestWait(reply, subject) / 1000)
      const expected = `at most ${seconds} seconds, as X-RateLimit-Reset says`
      expect.that(reply, wait <= seconds * 1000, expected)
    },
  },
  'other-key': {
    title: 'another key has its own budget',
    should: 'spec §8',
    maxRequests: 2,
    async run(subject) {
      subject.renew()
      const before = await subject.send(LIST)
      const { first, last, rejection } = await subject.exhausted()
      const reply = await subject.send({ ...LIST, keeps429: true })
      expect.status(reply, 200)
      // If both keys share a count, requests of the spare key show.
      const [was, is] = [numbersOf(before), numbersOf(reply)]
      const used = last && rejection ? numbersOf(first).remaining - numbersOf(last).remaining : 0
      const isShared = was.reset === is.reset && used >= 5 && was.remaining - is.remaining >= used
      expect.that(reply, !isShared, `about ${was.remaining - 1} remaining, as before`)
    },
  },
  'creates-nothing': {
    title: 'a request rejected with 429 has no effect',
    maxRequests: 1,
    needs: ['exhaust', 'create'],
    async run(subject) {
      await rejected(subject)
      // A status of which the run has few animals.
      const status = subject.status === 'sold' ? 'pending' : 'sold'
      const pet = { ...animal(subject, 'beyond the limit'), status } as const
      const reply = await subject.send({ ...post(pet), as: SPARE_KEY, impatient: true })
      if (reply.status === 429) await expectUnstored(subject, pet.name, [status])
    },
  },
  'retry-after-late': {
    title: 'Retry-After is not longer than needed: more than a second before, it is still 429',
    should: 'RFC 9110 §10.2.3',
    async run(subject) {
      const { rejection, until } = await waiting(subject)
      // Half a second for the round trip.
      await waitUntil(subject, until - 1_500)
      const early = await ask(subject)
      const expected = `429, as Retry-After of ${retryAfter(rejection)} says`
      expect.that(early, early.status === 429, expected)
    },
  },
  'retry-after-early': {
    title: 'Retry-After is long enough: a request after it is admitted',
    async run(subject) {
      const { rejection, until } = await waiting(subject)
      await waitUntil(subject, until)
      const reply = await ask(subject)
      expect.that(reply, reply.status === 200, `200 after Retry-After of ${retryAfter(rejection)}`)
    },
  },
  'ban-ends': {
    title: 'a ban after repeated requests is temporary: it ends when its Retry-After says',
    must: 'spec §8, RFC 9110 §10.2.3',
    async run(subject) {
      const ban = await banned(subject)
      const wait = waitOf(ban, subject.now())
      // Only a 429 must carry Retry-After (spec §7); the form of a ban is left open.
      if (wait === undefined && ban.status !== 429) throw new CheckSkipped('the ban has no end')
      expect.that(ban, wait !== undefined, 'a Retry-After that says when the ban ends')
      expect.that(ban, wait <= LONGEST_WINDOW, 'a ban of at most a day')
      await subject.wait(wait, 'banned')
      const reply = await ask(subject)
      expect.that(reply, reply.status === 200, `200 after Retry-After of ${retryAfter(ban)}`)
    },
  },
})

async function rejected(subject: Subject): Promise<Reply> {
  const { rejection } = await subject.exhausted()
  if (rejection) return rejection
  throw new CheckSkipped('nothing was rejected')
}

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

/** In ms: until the window resets, plus a minute for another window; at most a day. */
function longestWait(rejection: Reply, { now }: Subject): number {
  const { rateLimit, sentAt } = readLimits(rejection.headers)
  if (!rateLimit) return LONGEST_WINDOW
  const untilReset = rateLimit.reset * 1000 - (sentAt ?? now())
  return Math.min(LONGEST_WINDOW, Math.max(0, untilReset) + 60_000)
}

/** The first reply of a ban. @throws CheckSkipped if there is none */
async function banned(subject: Subject): Promise<Reply> {
  const rejection = await rejected(subject)
  // The key may now be banned, not only exhausted.
  subject.renew()
  const most = Math.min(MOST_REJECTIONS, Math.max(20, numbersOf(rejection).limit))
  const code = memberOf(rejection, 'code')
  for (let count = 0; count < most; count++) {
    const reply = await ask(subject)
    if (reply.status === 200) throw new CheckSkipped('the limit was over before any ban')
    if (reply.status !== 429 || memberOf(reply, 'code') !== code) return reply
    const [before, now] = [rejection, reply].map(one => waitOf(one, subject.now()))
    if (before === undefined) continue
    if (now === undefined || now > before + 2_000) return reply
  }
  throw new CheckSkipped(`${most} requests after a 429 led to no ban, which is allowed`)
}

function ask({ send }: Subject): Promise<Reply> {
  return send({ ...LIST, as: SPARE_KEY, impatient: true })
}

async function waitUntil(subject: Subject, instant: number): Promise<void> {
  const ms = instant - subject.now()
  if (ms > 0) await subject.wait(ms, 'rejected')
}

function retryAfter({ headers }: Reply): string {
  return headers.get('retry-after') ?? 'nothing'
}
