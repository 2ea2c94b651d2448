import { readHttpDate } from '../../../src/lib/retry-after.js'
import { SUNSET } from '../../../src/pets/specification.js'
import { type Check, must, type Reply, type Subject, should } from '../check.js'
import { expectThat } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { ABSENT, anyId, LIST } from './calls.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The removal of `getPet` on 5 December 2030 (spec §4.3, §9). */
export const deprecationChecks: readonly Check[] = [
  {
    id: 'deprecation.announced',
    requirement: should('RFC 8594 §3, RFC 9745 §2'),
    title: 'responses of getPet announce its removal in Sunset, Deprecation or Link',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const reply = await gotten(subject)
      const { headers } = reply
      const links = /rel="?[^;,]*\b(successor-version|sunset|deprecation)\b/
      const isAnnounced =
        headers.has('sunset') || headers.has('deprecation') || links.test(headers.get('link') ?? '')
      expectThat(reply, isAnnounced, 'a Sunset, Deprecation or Link header')
    },
  },
  {
    id: 'deprecation.sunset',
    requirement: must('spec §4.3, RFC 8594 §3'),
    title: 'Sunset, if sent, is an HTTP-date on 5 December 2030',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const reply = await gotten(subject)
      const sunset = reply.headers.get('sunset')
      if (sunset === null) return
      const date = readHttpDate(sunset)
      // That day begins and ends at other instants elsewhere on earth.
      const isThatDay =
        date !== undefined && date >= SUNSET - 14 * HOUR && date <= SUNSET + DAY + 12 * HOUR
      expectThat(
        reply,
        isThatDay,
        'Sunset on 5 December 2030, such as Thu, 05 Dec 2030 00:00:00 GMT',
      )
    },
  },
  {
    id: 'deprecation.date',
    requirement: must('RFC 9745 §2.1, §4'),
    title: 'Deprecation, if sent, is a date such as @1688169599, no later than Sunset',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const reply = await gotten(subject)
      const deprecation = reply.headers.get('deprecation')
      if (deprecation === null) return
      const [, seconds] = /^@(-?\d+)$/.exec(deprecation.trim()) ?? []
      expectThat(reply, seconds !== undefined, 'a date such as @1688169599')
      const sunset = readHttpDate(reply.headers.get('sunset')) ?? SUNSET + DAY
      expectThat(reply, Number(seconds) * 1000 <= sunset, 'Deprecation no later than Sunset')
    },
  },
  {
    id: 'deprecation.only-get',
    requirement: should('spec §9'),
    title: 'listPets, which replaces getPet, is not deprecated',
    requests: 1,
    async run({ once }) {
      const reply = await once(LIST)
      const { headers } = reply
      const isDeprecated = headers.has('sunset') || headers.has('deprecation')
      expectThat(reply, !isDeprecated, 'no Sunset and no Deprecation header')
    },
  },
]

/** A response of getPet: a success if there is an animal, as errors may carry fewer headers. */
async function gotten(subject: Subject): Promise<Reply> {
  try {
    return await subject.once({ path: `/pets/${await anyId(subject)}` })
  } catch (thrown) {
    if (thrown instanceof CheckSkipped) return subject.once(ABSENT)
    throw thrown
  }
}
