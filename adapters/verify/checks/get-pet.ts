import { CheckSkipped } from '../check-failure.js'
import * as expect from '../expect.js'
import { type Animal, animalIssue, jsonOf, memberOf, objectOf } from '../read-reply.js'
import { ABSENT, ABSENT_ID } from './calls.js'
import { checksOf, type Group } from './define-checks.js'
import { anyId, create, expectFields, extremes, variety, wholeList } from './samples.js'

/** Maximum compared animals: one of each kind, and those with names that code may change. */
const MOST_COMPARED = 24

const GROUP: Group = { name: 'get', source: 'spec §4.3', needs: ['getPet'], maxRequests: 2 }

export const getPetChecks = checksOf(GROUP, {
  answer: {
    title: 'an animal is answered 200, as an Animal with its `id`',
    async run(subject) {
      const reply = await subject.once({ path: `/pets/${await anyId(subject)}` })
      expect.status(reply, 200)
      expect.noIssue(reply, animalIssue(jsonOf(reply)))
      const id = reply.target.split('/').at(-1)
      expect.that(reply, String(memberOf(reply, 'id')) === id, `the animal ${id}`)
    },
  },
  created: {
    title: 'a created animal comes back with the fields of its creation',
    maxRequests: 8,
    needs: ['getPet', 'create'],
    async run(subject) {
      for (const { id, sent } of await variety(subject)) {
        const reply = await subject.once({ path: `/pets/${id}` })
        expectFields(reply, objectOf(reply), sent)
      }
    },
  },
  newest: {
    title: 'an animal is found as soon as it is created',
    should: 'RFC 9110 §15.3.2',
    needs: ['getPet', 'create'],
    async run(subject) {
      const id = memberOf(await create(subject, 'newest'), 'id')
      expect.status(await subject.send({ path: `/pets/${id}`, isImmediate: true }), 200)
    },
  },
  listed: {
    title: 'an animal is the same in the list and by itself',
    must: 'spec §2',
    maxRequests: MOST_COMPARED + 1,
    async run(subject) {
      const { animals } = await wholeList(subject)
      if (animals.length === 0) throw new CheckSkipped('the store has no animals')
      const own = subject.name('')
      const isPlain = ({ name }: Animal) =>
        `${name}`.startsWith(own) && /^[\w ]*$/.test(name.slice(own.length))
      const compared = animals.filter((one, at) => at === 0 || !isPlain(one))
      for (const listed of compared.slice(0, MOST_COMPARED)) {
        const reply = await subject.once({ path: `/pets/${listed.id}` })
        expect.that(reply, memberOf(reply, 'id') === listed.id, `the animal ${listed.id}`)
        expectFields(reply, objectOf(reply), listed)
      }
    },
  },
  int64: {
    title: 'getPet never rounds a `categoryId`, and never leaves one out',
    must: 'spec §2',
    maxRequests: 6,
    needs: ['getPet', 'create'],
    async run(subject) {
      for (const [digits, id] of await extremes(subject)) {
        const reply = await subject.send({ path: `/pets/${id}` })
        expect.noIssue(reply, animalIssue(jsonOf(reply)))
        const isExact = String(memberOf(reply, 'categoryId')) === digits
        expect.that(reply, isExact, `\`categoryId\` ${digits}`)
      }
    },
  },
  absent: {
    title: 'an `id` that was never assigned is 404',
    calls: [ABSENT],
    judge: reply => expect.status(reply, 404),
  },
  'exact-id': {
    title: 'text that only begins or ends like an `id` is not an `id`',
    maxRequests: 6,
    async run(subject) {
      const id = await anyId(subject)
      for (const other of [`${id}x`, `${id}.5`, `${id},1`, `x${id}`, `${id}%20`]) {
        expect.refusalOr(await subject.send({ path: `/pets/${other}` }))
      }
    },
  },
  spelling: {
    title: 'only plain decimal digits are an `id`: everything else is refused',
    should: 'spec §4.3',
    maxRequests: 12,
    async run(subject) {
      const id = await anyId(subject)
      const similar = [`${id}.0`, `${id}e0`, `0x${id.toString(16)}`, `0${id}`, `%2B${id}`]
      for (const other of ['verify', '1.5', `${ABSENT_ID}0`, 'null', 'NaN', '%20', ...similar]) {
        expect.refusalOr(await subject.send({ path: `/pets/${other}` }))
      }
    },
  },
  'other-id': {
    title: 'an `id` that differs by a multiple of 2^32, or in its sign, is a different one',
    maxRequests: 5,
    async run(subject) {
      const id = BigInt(await anyId(subject))
      for (const other of [id + 2n ** 32n, id - 2n ** 32n, id + 2n ** 64n, -id]) {
        if (other === id) continue
        const reply = await subject.send({ path: `/pets/${other}` })
        const isOther =
          expect.refusalOr(reply, 200) && String(memberOf(reply, 'id')) !== String(other)
        expect.that(reply, !isOther, `404, or the animal ${other}`)
      }
    },
  },
})
