import { readHttpDate } from '../../../src/lib/retry-after.js'
import { SUNSET } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { ABSENT, LIST } from './calls.js'
import { checksOf, type Group } from './define-checks.js'
import { anyId } from './samples.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const GROUP: Group = {
  name: 'deprecation',
  source: 'RFC 9745 §2.1, §4',
  needs: ['getPet'],
  maxRequests: 2,
}

export const deprecationChecks = checksOf(GROUP, {
  announced: {
    title: 'responses of getPet announce its removal in Sunset, Deprecation or Link',
    should: 'RFC 8594 §3, RFC 9745 §2',
    async run(subject) {
      const reply = await gotten(subject)
      const { headers } = reply
      const links = /rel="?[^;,]*\b(successor-version|sunset|deprecation)\b/
      const isAnnounced =
        headers.has('sunset') || headers.has('deprecation') || links.test(headers.get('link') ?? '')
      expect.that(reply, isAnnounced, 'a Sunset, Deprecation or Link header')
    },
  },
  sunset: {
    title: 'Sunset, if sent, is an HTTP-date on 5 December 2030',
    must: 'spec §4.3, RFC 8594 §3',
    async run(subject) {
      const reply = await gotten(subject)
      const { headers } = reply
      if (!headers.has('sunset')) return
      const sunset = headers.get('sunset') ?? ''
      const date = readHttpDate(sunset) ?? Number.NaN
      const isHttpDate = sunset === new Date(date).toUTCString()
      // The day begins and ends at other instants in other time zones.
      const isThatDay = date >= SUNSET - 14 * HOUR && date <= SUNSET + DAY + 12 * HOUR
      const expected = 'Sunset on 5 December 2030, such as Thu, 05 Dec 2030 00:00:00 GMT'
      expect.that(reply, isHttpDate && isThatDay, expected)
    },
  },
  date: {
    title: 'Deprecation, if sent, is a date such as @1688169599, no later than Sunset',
    async run(subject) {
      const reply = await gotten(subject)
      const { headers } = reply
      const deprecation = headers.get('deprecation')
      if (deprecation === null) return
      const [, seconds] = /^@(-?\d+)$/.exec(deprecation.trim()) ?? []
      expect.that(reply, seconds !== undefined, 'a date such as @1688169599')
      const sunset = readHttpDate(headers.get('sunset')) ?? SUNSET + DAY
      expect.that(reply, Number(seconds) * 1000 <= sunset, 'Deprecation no later than Sunset')
    },
  },
  'only-get': {
    title: 'listPets, which replaces getPet, is not deprecated',
    should: 'spec §9',
    needs: [],
    calls: [LIST],
    judge(reply) {
      const isDeprecated = reply.headers.has('sunset') || reply.headers.has('deprecation')
      expect.that(reply, !isDeprecated, 'no Sunset and no Deprecation header')
    },
  },
})

/** A response of getPet: a success if there is an animal, as errors may carry fewer headers. */
async function gotten(subject: Subject): Promise<Reply> {
  try {
    return await subject.once({ path: `/pets/${await anyId(subject)}` })
  } catch (thrown) {
    if (thrown instanceof CheckSkipped) return subject.once(ABSENT)
    throw thrown
  }
}
