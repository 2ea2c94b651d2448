import { isInt64 } from '../../../src/lib/int64.js'
import { type Check, must, should } from '../check.js'
import {
  animalIssue,
  expectRefusalOr,
  expectStatus,
  expectThat,
  isObject,
  jsonOf,
  mediaType,
  objectOf,
} from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { ABSENT, ABSENT_ID, anyId, postCategory, variety, wholeList } from './calls.js'

/** `getPet` (spec §4.3). */
export const getPetChecks: readonly Check[] = [
  {
    id: 'get.answer',
    requirement: must('spec §4.3'),
    title: 'an animal is answered 200, as an Animal with its `id`',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const id = await anyId(subject)
      const reply = await subject.once({ path: `/pets/${id}` })
      expectStatus(reply, 200)
      const pet = await jsonOf(reply)
      const issue = animalIssue(pet)
      expectThat(reply, issue === undefined, issue ?? '')
      expectThat(reply, isObject(pet) && pet['id'] === id, `the animal ${id}`)
    },
  },
  {
    id: 'get.type',
    requirement: must('spec §4'),
    title: 'the animal comes as application/json',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const reply = await subject.once({ path: `/pets/${await anyId(subject)}` })
      expectThat(reply, mediaType(reply) === 'application/json', 'application/json')
    },
  },
  {
    id: 'get.created',
    requirement: must('spec §4.3'),
    title: 'a created animal comes back with the fields of its creation',
    requests: 8,
    needs: ['getPet', 'create'],
    async run(subject) {
      for (const { id, sent } of await variety(subject)) {
        const reply = await subject.once({ path: `/pets/${id}` })
        const pet = await objectOf(reply)
        for (const field of ['name', 'categoryId', 'status'] as const) {
          const expected = `\`${field}\` ${sent[field]}, as it was created`
          expectThat(reply, pet[field] === sent[field], expected)
        }
      }
    },
  },
  {
    id: 'get.listed',
    requirement: must('spec §2'),
    title: 'an animal is the same in the list and by itself',
    requests: 2,
    needs: ['getPet'],
    async run(subject) {
      const { once } = subject
      const [listed] = (await wholeList(subject)).animals
      if (!listed) throw new CheckSkipped('the store has no animals')
      const reply = await once({ path: `/pets/${listed.id}` })
      const pet = await objectOf(reply)
      const differs = (['id', 'name', 'categoryId', 'status'] as const).find(
        field => pet[field] !== listed[field],
      )
      expectThat(reply, differs === undefined, `the \`${differs}\` that the list shows`)
    },
  },
  {
    id: 'get.int64',
    requirement: must('spec §2'),
    title: 'getPet never rounds a `categoryId`',
    requests: 2,
    needs: ['getPet', 'create'],
    async run(subject) {
      const created = await subject.once(postCategory(subject, '9007199254740993', 'int64'))
      if (created.status !== 201) throw new CheckSkipped('the server refuses this category')
      const { id } = await objectOf(created)
      const reply = await subject.send({ path: `/pets/${id}` })
      const digits = String((await objectOf(reply))['categoryId'])
      expectThat(reply, digits === '9007199254740993', '`categoryId` 9007199254740993')
    },
  },
  {
    id: 'get.absent',
    requirement: must('spec §4.3'),
    title: `an \`id\` that was never assigned is 404`,
    requests: 1,
    needs: ['getPet'],
    async run({ once }) {
      expectStatus(await once(ABSENT), 404)
    },
  },
  {
    id: 'get.not-an-id',
    requirement: should('spec §4.3'),
    title: 'what is not an int64 is refused',
    requests: 6,
    needs: ['getPet'],
    async run({ once }) {
      for (const id of ['verify', '1.5', `${ABSENT_ID}0`, 'null', 'NaN', '%20']) {
        expectRefusalOr(await once({ path: `/pets/${id}` }))
      }
    },
  },
  {
    id: 'get.exact-id',
    requirement: must('spec §4.3'),
    title: 'text that only begins or ends like an `id` is not an `id`',
    requests: 6,
    needs: ['getPet'],
    async run(subject) {
      const id = await anyId(subject)
      for (const other of [`${id}x`, `${id}.5`, `${id},1`, `x${id}`, `${id}%20`]) {
        expectRefusalOr(await subject.send({ path: `/pets/${other}` }))
      }
    },
  },
  {
    id: 'get.other-id',
    requirement: must('spec §4.3'),
    title: 'an `id` that differs by a multiple of 2^32, or in its sign, is a different one',
    requests: 4,
    needs: ['getPet'],
    async run(subject) {
      const id = BigInt(await anyId(subject))
      for (const other of [id + 2n ** 32n, id - 2n ** 32n, -id]) {
        if (other === id || !isInt64(other)) continue
        const reply = await subject.send({ path: `/pets/${other}` })
        expectRefusalOr(reply, 200)
        if (reply.status !== 200) continue
        const pet = await objectOf(reply)
        expectThat(reply, String(pet['id']) === String(other), `404, or the animal ${other}`)
      }
    },
  },
]
