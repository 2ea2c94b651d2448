import { toJson } from '../../../src/lib/json.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Reply } from '../check-types.js'
import * as expect from '../expect.js'
import { animalIssue, animalsOf, arrayOf, memberOf } from '../read-reply.js'
import { animal, filtered, LIST, post, WHOLE_LIST } from './calls.js'
import { checksOf, type Group } from './define-checks.js'
import {
  allPages,
  create,
  expectFields,
  extremes,
  type Fields,
  fill,
  onlyPage,
  pageOf,
  sample,
  variety,
  wholeList,
} from './samples.js'

const FILTERED = PET_STATUSES.map(filtered)
const LISTS = [WHOLE_LIST, ...FILTERED]

const GROUP: Group = { name: 'list', source: 'spec §4.1', maxRequests: 2 }

/** Run before animals are created. */
export const emptyListChecks = checksOf(GROUP, {
  empty: {
    title: 'a list without animals is an empty array',
    calls: PET_STATUSES.map(status => ({ path: `/pets?limit=1&status=${status}` })),
    judge: reply => void arrayOf(reply),
  },
})

export const listPetsChecks = checksOf(GROUP, {
  answer: {
    title: 'the list is a JSON array',
    calls: [LIST],
    judge: reply => void arrayOf(reply),
  },
  animals: {
    title: 'every entry is an Animal, and no `id` occurs twice',
    must: 'spec §2',
    calls: LISTS,
    judge(reply) {
      for (const entry of arrayOf(reply)) {
        const issue = animalIssue(entry)
        expect.noIssue(reply, issue, toJson(entry))
      }
      const ids = animalsOf(reply).map(({ id }) => id)
      const twice = ids.find((id, at) => ids.indexOf(id) !== at)
      const expected = `each \`id\` once, not ${twice} twice`
      expect.that(reply, twice === undefined, expected, `"id":${twice}`)
    },
  },
  limit: {
    title: '`limit`, which may be 100, is the maximum number of animals',
    maxRequests: 15,
    async run(subject) {
      expectAtMost(100, await subject.once(WHOLE_LIST))
      await fill(subject, 11)
      for (const limit of [1, 2, 10]) {
        expectAtMost(limit, await subject.once({ path: `/pets?limit=${limit}` }))
      }
    },
  },
  'limit-default': {
    title: 'without `limit` it is 20, with or without `status`',
    maxRequests: 25,
    async run(subject) {
      await fill(subject, 21)
      const { status } = subject
      for (const [call, whole] of [
        [LIST, WHOLE_LIST],
        [{ path: `/pets?status=${status}` }, filtered(status)],
      ] as const) {
        const { animals } = await pageOf(subject, whole)
        const reply = await subject.send(call)
        expectAtMost(20, reply)
        expectFilled(reply, Math.min(20, animals.length))
      }
    },
  },
  'limit-filled': {
    title: 'a page holds as many animals as `limit` allows',
    should: 'spec §4.1',
    maxRequests: 17,
    async run(subject) {
      await fill(subject, 10)
      const { reply: whole, animals } = await wholeList(subject)
      let found = 0
      for (const call of FILTERED) found += (await pageOf(subject, call)).animals.length
      expectFilled(whole, Math.min(100, found))
      for (const limit of [2, 10]) {
        const reply = await subject.once({ path: `/pets?limit=${limit}` })
        expectFilled(reply, Math.min(limit, animals.length))
      }
    },
  },
  'limit-above': {
    title: 'no list has more than 100 animals: limit=101 is refused or reduced',
    must: 'spec §8',
    calls: [{ path: '/pets?limit=101' }],
    judge(reply) {
      if (expect.refusalOr(reply, 200)) expectAtMost(100, reply)
    },
  },
  encoded: {
    title: '`limit=%31` is limit=1',
    should: 'RFC 3986 §6.2.2.2',
    calls: [{ path: '/pets?limit=%31' }],
    judge: reply => expectAtMost(1, reply),
  },
  status: {
    title: '`status` returns only animals that have it',
    calls: FILTERED,
    judge(reply) {
      const [, status] = reply.target.split('status=')
      const other = animalsOf(reply).find(pet => pet.status !== status)
      expect.that(reply, !other, `only animals that are ${status}`, other && toJson(other))
    },
  },
  created: {
    title: 'lists with and without `status` show an animal of each that was created',
    must: 'spec §3',
    maxRequests: 7,
    needs: ['create'],
    async run(subject) {
      const samples = []
      for (const status of PET_STATUSES) samples.push(await sample(subject, status))
      let isFull = false
      for (const call of LISTS) {
        const { reply, animals } = await pageOf(subject, call)
        if (animals.length >= 100) {
          isFull = true
          continue
        }
        for (const { id, status } of samples) {
          if (call !== WHOLE_LIST && !call.path.endsWith(status)) continue
          const isListed = animals.some(pet => pet.id === id)
          expect.that(reply, isListed, `the animal ${id}, which is ${status}, among them`)
        }
      }
      if (isFull) throw new CheckSkipped('the store has more animals than one page shows')
    },
  },
  'status-limit': {
    title: '`status` and `limit` work together',
    maxRequests: 5,
    needs: ['create'],
    async run(subject) {
      const { send, once } = subject
      await sample(subject, 'sold')
      await once(post({ ...animal(subject, 'sold as well'), status: 'sold' }))
      const stored = animalsOf(await send(filtered('sold')))
      for (const query of ['status=sold&limit=1', 'limit=1&status=sold']) {
        const reply = await send({ path: `/pets?${query}` })
        const found = animalsOf(reply)
        const isRight = found.length <= 1 && found.every(({ status }) => status === 'sold')
        // The limit counts animals that match the filter.
        const isFound = found.length === 1 || stored.length === 0
        expect.that(reply, isRight && isFound, 'one animal, and it is sold')
      }
    },
  },
  newest: {
    title: 'an animal is listed as soon as it is created',
    should: 'RFC 9110 §15.3.2',
    maxRequests: 6,
    needs: ['create'],
    async run(subject) {
      for (const call of [filtered(subject.status), WHOLE_LIST]) {
        await onlyPage(subject, call)
        const id = memberOf(await create(subject, 'newest'), 'id')
        const { reply, animals } = await onlyPage(subject, { ...call, isImmediate: true })
        const isListed = animals.some(pet => pet.id === id)
        expect.that(reply, isListed, `the animal ${id}, which was created just before`)
      }
    },
  },
  fields: {
    title: 'every list shows an animal with the fields of its creation',
    must: 'spec §2',
    maxRequests: 10,
    needs: ['create'],
    async run(subject) {
      const creations = await variety(subject)
      const { animals: all } = await wholeList(subject)
      const sent = new Map<unknown, Fields>(all.map(pet => [pet.id, pet]))
      for (const pet of creations) sent.set(pet.id, pet.sent)
      for (const call of [WHOLE_LIST, LIST, ...FILTERED]) {
        const { reply, animals } = await pageOf(subject, call)
        for (const pet of animals) expectFields(reply, pet, sent.get(pet.id) ?? pet)
      }
    },
  },
  'status-unknown': {
    title: 'an unknown `status` is refused or matches nothing',
    should: 'spec §4.1',
    calls: ['lost', 'constructor', '__proto__', "lost'%20OR%20'1'='1"].map(status => ({
      path: `/pets?status=${status}`,
    })),
    judge(reply) {
      const isFilled = expect.refusalOr(reply, 200) && arrayOf(reply).length > 0
      expect.that(reply, !isFilled, '400, or no animals')
    },
  },
  steady: {
    title: 'the same list twice has the same order',
    should: 'RFC 9110 §9.2.2',
    async run({ send }) {
      const first = animalsOf(await send(WHOLE_LIST)).map(({ id }) => id)
      const reply = await send(WHOLE_LIST)
      const second = animalsOf(reply).map(({ id }) => id)
      // Others may create animals in the meantime.
      const common = second.filter(id => first.includes(id))
      const before = first.filter(id => second.includes(id))
      expect.that(reply, common.join() === before.join(), 'the order of the list before')
    },
  },
  int64: {
    title: 'lists never round a `categoryId`, and never leave one out',
    must: 'spec §2',
    maxRequests: 5,
    needs: ['create'],
    async run(subject) {
      const created = await extremes(subject)
      for (const { reply, animals } of await allPages(subject, [subject.status])) {
        for (const [digits, id] of created) {
          const listed = animals.find(pet => pet.id === id)
          const expected = `\`categoryId\` ${digits} for the animal ${id}`
          expect.that(reply, String(listed?.categoryId) === digits, expected, `"id":${id}`)
        }
      }
    },
  },
  'unknown-path': {
    title: 'a path that nothing is known about is refused',
    should: 'RFC 9110 §15.5.5',
    calls: [{ path: '/verify-unknown' }],
    judge: reply => void expect.refusalOr(reply),
  },
})

function expectAtMost(limit: number, reply: Reply): void {
  const { length } = arrayOf(reply)
  expect.that(reply, length <= limit, `at most ${limit} animals, not ${length}`)
}

function expectFilled(reply: Reply, count: number): void {
  const { length } = animalsOf(reply)
  expect.that(reply, length >= count, `${count} animals, not ${length}`)
}
