import { toJson } from '../../../src/lib/json.js'
import { type Check, must, type Reply, type Subject, should } from '../check.js'
import { expectStatus, expectThat, objectOf } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { animal, post } from './calls.js'

const DRAFT = 'draft-ietf-httpapi-idempotency-key-header-07'

/** `Idempotency-Key` on `createPet`, for servers that say they have it. */
export const idempotencyChecks: readonly Check[] = [
  {
    id: 'idempotency.replay',
    requirement: must(`${DRAFT} §2.6`),
    title: 'a create that is sent again with its key gets 201 with the same animal',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const first = await created(create(subject, 'replay'))
      const again = await create(subject, 'replay')
      expectStatus(again, 201)
      const pet = await objectOf(first)
      expectThat(again, toJson(await objectOf(again)) === toJson(pet), `\`id\` ${pet['id']}`)
    },
  },
  {
    id: 'idempotency.replayed',
    requirement: should('common practice'),
    title: 'such a response has Idempotent-Replayed: true, and the first one does not',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const first = await created(create(subject, 'replayed'))
      const again = await create(subject, 'replayed')
      expectThat(first, !first.headers.has('idempotent-replayed'), 'no Idempotent-Replayed')
      const isMarked = again.headers.get('idempotent-replayed') === 'true'
      expectThat(again, isMarked, 'Idempotent-Replayed: true')
    },
  },
  {
    id: 'idempotency.reused',
    requirement: should(`${DRAFT} §2.7`),
    title: 'a key that is used again for another animal gets 422',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      await created(create(subject, 'reused'))
      expectStatus(await create(subject, 'reused', 'another'), 422)
    },
  },
  {
    id: 'idempotency.other-key',
    requirement: must(`${DRAFT} §2.2`),
    title: 'the same animal with another key is another create',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const first = await create(subject, 'one key', 'twins')
      const second = await create(subject, 'other key', 'twins')
      await expectAnother(first, second)
    },
  },
  {
    id: 'idempotency.without-key',
    requirement: must('spec §4.2'),
    title: 'the same animal without a key is another create',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const call = post(animal(subject, 'without key'))
      await expectAnother(await created(subject.send(call)), await subject.send(call))
    },
  },
  {
    id: 'idempotency.concurrent',
    requirement: must(`${DRAFT} §2.6`),
    title:
      'of two creates with one key at the same time, one stores: the other gets the same or 409',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const call = () => subject.send(keyed(subject, 'concurrent'))
      const [one, other] = await Promise.all([call(), call()])
      const [first, second] = one.status === 201 ? [one, other] : [other, one]
      expectStatus(first, 201)
      if (second.status === 409) return
      expectStatus(second, 201, 409)
      const { id } = await objectOf(first)
      expectThat(second, (await objectOf(second))['id'] === id, `\`id\` ${id}, or 409`)
    },
  },
  {
    id: 'idempotency.refused',
    requirement: should('common practice'),
    title: 'a create that was refused with 400 leaves its key free',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const headers = keyHeader(subject, 'refused')
      const refused = await subject.send(post('{}', headers))
      if (refused.status < 400) throw new CheckSkipped('an empty animal is not refused')
      expectStatus(await create(subject, 'refused'), 201)
    },
  },
  {
    id: 'idempotency.string',
    requirement: should(`${DRAFT} §2.1, RFC 9651 §3.3.3`),
    title: 'a key is a Structured Field string, with spaces and escapes',
    requests: 2,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const headers = { 'idempotency-key': `"${subject.name('a \\"string\\"')}"` }
      const call = post(animal(subject, 'string'), headers)
      const { id } = await objectOf(await created(subject.send(call)))
      const again = await subject.send(call)
      expectStatus(again, 201)
      expectThat(again, (await objectOf(again))['id'] === id, `\`id\` ${id}`)
    },
  },
  {
    id: 'idempotency.malformed',
    requirement: should(`${DRAFT} §2.1, §2.7`),
    title: 'a key that is not a Structured Field string gets 400',
    requests: 1,
    needs: ['create', 'idempotency'],
    async run(subject) {
      const headers = { 'idempotency-key': '"without an end' }
      expectStatus(await subject.send(post(animal(subject, 'malformed'), headers)), 400)
    },
  },
]

function create(subject: Subject, key: string, name = key): Promise<Reply> {
  return subject.send(keyed(subject, key, name))
}

function keyed(subject: Subject, key: string, name = key) {
  return post(animal(subject, name), keyHeader(subject, key))
}

/** Unique to the run, as a server may keep keys for days. */
function keyHeader(subject: Subject, key: string) {
  return { 'idempotency-key': `"${subject.name(key)}"` }
}

/** @throws CheckFailure unless an animal was created */
async function created(sending: Promise<Reply>): Promise<Reply> {
  const reply = await sending
  expectStatus(reply, 201)
  return reply
}

async function expectAnother(first: Reply, second: Reply): Promise<void> {
  expectStatus(first, 201)
  expectStatus(second, 201)
  const { id } = await objectOf(first)
  if (id === undefined) throw new CheckSkipped('creates return no id')
  expectThat(second, (await objectOf(second))['id'] !== id, `another \`id\` than ${id}`)
}
