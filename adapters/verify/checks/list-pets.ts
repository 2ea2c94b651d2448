import { toJson } from '../../../src/lib/json.js'
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
import {
  allAnimals,
  animal,
  each,
  LIST,
  post,
  postCategory,
  variety,
  WHOLE_LIST,
  wholeList,
} from './calls.js'

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
        expectThat(reply, issue === undefined, issue ?? '', toJson(entry))
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
      const twice = ids.find((id, at) => ids.indexOf(id) !== at)
      expectThat(
        reply,
        twice === undefined,
        `each \`id\` once, not ${twice} twice`,
        `"id":${twice}`,
      )
    },
  },
  {
    id: 'list.limit',
    requirement: must('spec §4.1'),
    title: '`limit` is the maximum number of animals',
    requests: 15,
    async run(subject) {
      await subject.fill(11)
      for (const limit of [1, 2, 10]) {
        const reply = await subject.once({ path: `/pets?limit=${limit}` })
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
    requests: 23,
    async run(subject) {
      await subject.fill(21)
      const stored = (await wholeList(subject)).animals.length
      const reply = await subject.send(LIST)
      const { length } = await animalsOf(reply)
      const expected = Math.min(20, stored)
      expectThat(reply, length === expected, `${expected} animals, not ${length}`)
    },
  },
  {
    id: 'list.limit-filled',
    requirement: should('spec §4.1'),
    title: 'a page holds as many animals as `limit` allows',
    requests: 14,
    async run(subject) {
      const { fill, once } = subject
      await fill(10)
      const stored = (await wholeList(subject)).animals.length
      for (const limit of [2, 10]) {
        const reply = await once({ path: `/pets?limit=${limit}` })
        const { length } = await animalsOf(reply)
        const expected = Math.min(limit, stored)
        expectThat(reply, length >= expected, `${expected} animals, not ${length}`)
      }
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
      const other = (await animalsOf(reply)).find(pet => pet.status !== status)
      expectThat(reply, !other, `only animals that are ${name}`, other && toJson(other))
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
      const ids = (await animalsOf(reply)).map(pet => pet.id)
      if (ids.length >= 100) throw new CheckSkipped('more animals than one page shows')
      expectThat(reply, ids.includes(id), `the animal ${id} among them`)
    },
  })),
  {
    id: 'list.status-limit',
    requirement: must('spec §4.1'),
    title: '`status` and `limit` work together',
    requests: 5,
    needs: ['create'],
    async run(subject) {
      const { sample, send, once } = subject
      await sample('sold')
      await once(post({ ...animal(subject, 'sold as well'), status: 'sold' }))
      const stored = await animalsOf(await send({ path: '/pets?limit=100&status=sold' }))
      for (const query of ['status=sold&limit=1', 'limit=1&status=sold']) {
        const reply = await send({ path: `/pets?${query}` })
        const found = await animalsOf(reply)
        const isRight = found.length <= 1 && found.every(({ status }) => status === 'sold')
        // The limit counts what the filter lets through.
        const isFound = found.length === 1 || stored.length === 0
        expectThat(reply, isRight && isFound, 'one animal, and it is sold')
      }
    },
  },
  {
    id: 'list.every-status',
    requirement: must('spec §4.1'),
    title: 'without `status`, animals of every status are listed',
    requests: 4,
    needs: ['create'],
    async run(subject) {
      const samples = []
      for (const status of PET_STATUSES) samples.push(await subject.sample(status))
      const { reply, animals } = await allAnimals(subject)
      const ids = animals.map(({ id }) => id)
      for (const { id, status } of samples) {
        expectThat(reply, ids.includes(id), `the animal ${id}, which is ${status}, among them`)
      }
    },
  },
  {
    id: 'list.newest',
    requirement: must('spec §4.1'),
    title: 'an animal is listed as soon as it is created',
    requests: 3,
    needs: ['create'],
    async run(subject) {
      await allAnimals(subject)
      const created = await subject.send(post(animal(subject, 'newest')))
      if (created.status !== 201) throw new CheckSkipped('no animal could be created')
      const { id } = await objectOf(created)
      const { reply, animals } = await allAnimals(subject)
      const isListed = animals.some(pet => pet.id === id)
      expectThat(reply, isListed, `the animal ${id}, which was created just before`)
    },
  },
  {
    id: 'list.fields',
    requirement: must('spec §2'),
    title: 'an animal is listed with the fields of its creation',
    requests: 5,
    needs: ['create'],
    async run(subject) {
      const creations = await variety(subject)
      const { reply, animals } = await wholeList(subject)
      for (const { id, sent } of creations) {
        const pet = animals.find(one => one.id === id)
        if (!pet) continue
        for (const field of ['name', 'categoryId', 'status'] as const) {
          const expected = `\`${field}\` ${sent[field]} for the animal ${id}`
          expectThat(reply, pet[field] === sent[field], expected, toJson(pet))
        }
      }
    },
  },
  {
    id: 'list.status-unknown',
    requirement: should('spec §4.1'),
    title: 'an unknown `status` is refused or matches nothing',
    requests: 4,
    async run({ send }) {
      for (const status of ['lost', 'constructor', '__proto__', "lost'%20OR%20'1'='1"]) {
        const reply = await send({ path: `/pets?status=${status}` })
        if (reply.status !== 200) expectRefusalOr(reply)
        else expectThat(reply, (await arrayOf(reply)).length === 0, '400, or no animals')
      }
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
      const { reply, animals } = await allAnimals(subject)
      const listed = animals.find(({ id }) => id === pet['id'])
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
