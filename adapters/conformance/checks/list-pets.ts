import { PET_STATUSES } from '../../../src/pets/specification.js'
import { type Check, must, should } from '../check.js'
import {
  animalIssue,
  animalsOf,
  arrayOf,
  expectRefusalOr,
  expectThat,
  mediaType,
  objectOf,
} from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { allAnimals, each, LIST, postCategory, WHOLE_LIST } from './calls.js'

/** `listPets` (spec §4.1). */
export const listPetsChecks: readonly Check[] = [
  {
    id: 'list.answer',
    requirement: must('spec §4.1'),
    title: 'the list is a JSON array',
    requests: 1,
    async run({ once }) {
      await arrayOf(await once(LIST))
    },
  },
  {
    id: 'list.type',
    requirement: must('spec §4'),
    title: 'the list comes as application/json',
    requests: 1,
    async run({ once }) {
      const reply = await once(LIST)
      expectThat(reply, mediaType(reply) === 'application/json', 'application/json')
    },
  },
  {
    id: 'list.animals',
    requirement: must('spec §2'),
    title: 'every entry is an Animal',
    requests: 1,
    async run({ once }) {
      const reply = await once(WHOLE_LIST)
      for (const entry of await arrayOf(reply)) {
        const issue = animalIssue(entry)
        expectThat(reply, issue === undefined, issue ?? '')
      }
    },
  },
  {
    id: 'list.unique',
    requirement: must('spec §2'),
    title: 'no `id` occurs twice',
    requests: 1,
    async run({ once }) {
      const reply = await once(WHOLE_LIST)
      const ids = (await animalsOf(reply)).map(({ id }) => id)
      expectThat(reply, new Set(ids).size === ids.length, 'each `id` once')
    },
  },
  {
    id: 'list.limit',
    requirement: must('spec §4.1'),
    title: '`limit` is the maximum number of animals',
    requests: 2,
    async run({ once }) {
      for (const limit of [1, 2]) {
        const reply = await once({ path: `/pets?limit=${limit}` })
        const { length } = await arrayOf(reply)
        expectThat(reply, length <= limit, `at most ${limit} animals, not ${length}`)
      }
    },
  },
  {
    id: 'list.limit-maximum',
    requirement: must('spec §8'),
    title: '`limit` may be 100',
    requests: 1,
    async run({ once }) {
      const reply = await once(WHOLE_LIST)
      const { length } = await arrayOf(reply)
      expectThat(reply, length <= 100, `at most 100 animals, not ${length}`)
    },
  },
  {
    id: 'list.limit-default',
    requirement: must('spec §4.1'),
    title: 'without `limit` it is 20',
    requests: 2,
    async run({ send }) {
      const explicit = await animalsOf(await send({ path: '/pets?limit=20' }))
      const reply = await send(LIST)
      const { length } = await animalsOf(reply)
      const expected = `${explicit.length} animals, as with limit=20, not ${length}`
      expectThat(reply, length === explicit.length, expected)
    },
  },
  {
    id: 'list.limit-filled',
    requirement: should('spec §4.1'),
    title: 'a page holds as many animals as `limit` allows',
    requests: 2,
    async run({ once }) {
      const stored = (await animalsOf(await once(WHOLE_LIST))).length
      const reply = await once({ path: '/pets?limit=2' })
      const { length } = await animalsOf(reply)
      expectThat(reply, length >= Math.min(2, stored), `${Math.min(2, stored)} animals`)
    },
  },
  {
    id: 'list.limit-above',
    requirement: must('spec §8'),
    title: 'no list has more than 100 animals: limit=101 is refused or reduced',
    requests: 1,
    async run({ send }) {
      const reply = await send({ path: '/pets?limit=101' })
      if (reply.status !== 200) return expectRefusalOr(reply)
      const { length } = await arrayOf(reply)
      expectThat(reply, length <= 100, `400, or at most 100 animals, not ${length}`)
    },
  },
  {
    id: 'list.limit-below',
    requirement: should('spec §8'),
    title: '`limit` below 1 is refused or raised',
    requests: 2,
    async run({ send }) {
      for (const limit of [0, -1]) {
        const reply = await send({ path: `/pets?limit=${limit}` })
        expectRefusalOr(reply, 200)
        if (reply.status !== 200) continue
        const { length } = await arrayOf(reply)
        expectThat(reply, length <= 100, `400, or at most 100 animals, not ${length}`)
      }
    },
  },
  {
    id: 'list.limit-type',
    requirement: should('spec §4.1'),
    title: '`limit` that is not an integer is refused or ignored',
    requests: 2,
    async run({ send }) {
      for (const limit of ['many', '1.5']) {
        expectRefusalOr(await send({ path: `/pets?limit=${limit}` }), 200)
      }
    },
  },
  {
    id: 'list.encoded',
    requirement: should('RFC 3986 §6.2.2.2'),
    title: '`limit=%31` is limit=1',
    requests: 1,
    async run({ send }) {
      const reply = await send({ path: '/pets?limit=%31' })
      expectThat(reply, (await arrayOf(reply)).length <= 1, 'at most 1 animal')
    },
  },
  ...each(Object.fromEntries(PET_STATUSES.map(status => [status, status])), (name, status) => ({
    id: `list.status.${name}`,
    requirement: must('spec §4.1'),
    title: `status=${name} returns only animals that are ${name}`,
    requests: 1,
    async run({ once }) {
      const reply = await once({ path: `/pets?limit=100&status=${status}` })
      const others = (await animalsOf(reply)).filter(pet => pet.status !== status)
      expectThat(reply, others.length === 0, `only animals that are ${name}`)
    },
  })),
  ...each(Object.fromEntries(PET_STATUSES.map(status => [status, status])), (name, status) => ({
    id: `list.created.${name}`,
    requirement: must('spec §3'),
    title: `status=${name} returns an animal that was created so`,
    requests: 2,
    needs: ['create'],
    async run({ send, sample }) {
      const { id } = await sample(status)
      const reply = await send({ path: `/pets?limit=100&status=${status}` })
      const ids = (await allAnimals(reply)).map(pet => pet.id)
      expectThat(reply, ids.includes(id), `the animal ${id} among them`)
    },
  })),
  {
    id: 'list.status-limit',
    requirement: must('spec §4.1'),
    title: '`status` and `limit` work together',
    requests: 3,
    needs: ['create'],
    async run({ send, sample }) {
      await sample('sold')
      const stored = await animalsOf(await send({ path: '/pets?limit=100&status=sold' }))
      const reply = await send({ path: '/pets?status=sold&limit=1' })
      const found = await animalsOf(reply)
      const isRight = found.length <= 1 && found.every(({ status }) => status === 'sold')
      // The limit counts what the filter lets through.
      const isFound = found.length === 1 || stored.length === 0
      expectThat(reply, isRight && isFound, 'one animal, and it is sold')
    },
  },
  {
    id: 'list.status-unknown',
    requirement: should('spec §4.1'),
    title: 'an unknown `status` is refused or matches nothing',
    requests: 1,
    async run({ send }) {
      const reply = await send({ path: '/pets?status=lost' })
      if (reply.status !== 200) return expectRefusalOr(reply)
      expectThat(reply, (await arrayOf(reply)).length === 0, '400, or no animals')
    },
  },
  {
    id: 'list.unknown-parameter',
    requirement: should('RFC 9110 §15.6'),
    title: 'an unknown parameter is ignored or refused',
    requests: 1,
    async run({ send }) {
      expectRefusalOr(await send({ path: '/pets?verify=1' }), 200)
    },
  },
  {
    id: 'list.steady',
    requirement: should('RFC 9110 §9.2.2'),
    title: 'the same list twice has the same order',
    requests: 2,
    async run({ send }) {
      const first = (await animalsOf(await send(WHOLE_LIST))).map(({ id }) => id)
      const reply = await send(WHOLE_LIST)
      const second = (await animalsOf(reply)).map(({ id }) => id)
      // Others may create animals in the meantime.
      const common = second.filter(id => first.includes(id))
      const isSame = common.every((id, at) => id === first.filter(one => second.includes(one))[at])
      expectThat(reply, isSame, 'the order of the list before')
    },
  },
  {
    id: 'list.int64',
    requirement: must('spec §2'),
    title: 'lists never round a `categoryId`',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      const created = await subject.once(postCategory(subject, '9007199254740993', 'int64'))
      if (created.status !== 201) throw new CheckSkipped('the server refuses this category')
      const pet = await objectOf(created)
      const reply = await subject.send(WHOLE_LIST)
      const listed = (await allAnimals(reply)).find(({ id }) => id === pet['id'])
      const digits = String(listed?.categoryId)
      expectThat(reply, digits === '9007199254740993', '`categoryId` 9007199254740993')
    },
  },
  {
    id: 'list.unknown-path',
    requirement: should('RFC 9110 §15.5.5'),
    title: 'a path that nothing is known about is refused',
    requests: 1,
    async run({ once }) {
      expectRefusalOr(await once({ path: '/verify-unknown' }))
    },
  },
]
