import { toJson } from '../../../src/lib/json.js'
import type { Reply, Subject } from '../check.js'
import * as expect from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { memberOf, objectOf } from '../replies.js'
import { animal, post } from './calls.js'
import { checksOf } from './table.js'

const DRAFT = 'draft-ietf-httpapi-idempotency-key-header-07'

/** `Idempotency-Key` on `createPet`, for servers that say they have it. */
export const idempotencyChecks = checksOf(
  { name: 'idempotency', source: 'spec §4.2', needs: ['create', 'idempotency'], requests: 2 },
  {
    replay: {
      title: 'a create that is sent again with its key gets 201 with the same animal',
      must: `${DRAFT} §2.6`,
      async run(subject) {
        const first = await created(create(subject, 'replay'))
        const again = await create(subject, 'replay')
        expect.status(again, 201)
        const pet = objectOf(first)
        expect.that(again, toJson(objectOf(again)) === toJson(pet), `\`id\` ${pet['id']}`)
      },
    },
    replayed: {
      title: 'such a response has Idempotent-Replayed: true, and the first one does not',
      should: 'common practice',
      async run(subject) {
        const first = await created(create(subject, 'replayed'))
        const again = await create(subject, 'replayed')
        expect.that(first, !first.headers.has('idempotent-replayed'), 'no Idempotent-Replayed')
        const isMarked = again.headers.get('idempotent-replayed') === 'true'
        expect.that(again, isMarked, 'Idempotent-Replayed: true')
      },
    },
    reused: {
      title: 'a key that is used again for another animal gets 422',
      should: `${DRAFT} §2.7`,
      async run(subject) {
        await created(create(subject, 'reused'))
        expect.status(await create(subject, 'reused', 'another'), 422)
      },
    },
    'other-key': {
      title: 'the same animal with another key is another create',
      must: `${DRAFT} §2.2`,
      async run(subject) {
        const first = await create(subject, 'one key', 'twins')
        const second = await create(subject, 'other key', 'twins')
        await expectAnother(first, second)
      },
    },
    'without-key': {
      title: 'the same animal without a key is another create',
      async run(subject) {
        const call = post(animal(subject, 'without key'))
        await expectAnother(await created(subject.send(call)), await subject.send(call))
      },
    },
    concurrent: {
      title:
        'of two creates with one key at the same time, one stores: the other gets the same or 409',
      must: `${DRAFT} §2.6`,
      async run(subject) {
        const call = () => subject.send(keyed(subject, 'concurrent'))
        const [one, other] = await Promise.all([call(), call()])
        const [first, second] = one.status === 201 ? [one, other] : [other, one]
        expect.status(first, 201)
        if (second.status === 409) return
        expect.status(second, 201, 409)
        const { id } = objectOf(first)
        expect.that(second, memberOf(second, 'id') === id, `\`id\` ${id}, or 409`)
      },
    },
    refused: {
      title: 'a create that was refused with 400 leaves its key free',
      should: 'common practice',
      async run(subject) {
        const headers = keyHeader(subject, 'refused')
        const refused = await subject.send(post('{}', headers))
        if (refused.status < 400) throw new CheckSkipped('an empty animal is not refused')
        expect.status(await create(subject, 'refused'), 201)
      },
    },
    string: {
      title: 'a key is a Structured Field string, with spaces and escapes',
      should: `${DRAFT} §2.1, RFC 9651 §3.3.3`,
      async run(subject) {
        const headers = { 'idempotency-key': `"${subject.name('a \\"string\\"')}"` }
        const call = post(animal(subject, 'string'), headers)
        const { id } = objectOf(await created(subject.send(call)))
        const again = await subject.send(call)
        expect.status(again, 201)
        expect.that(again, memberOf(again, 'id') === id, `\`id\` ${id}`)
      },
    },
    malformed: {
      title: 'a key that is not a Structured Field string gets 400',
      should: `${DRAFT} §2.1, §2.7`,
      requests: 1,
      async run(subject) {
        const headers = { 'idempotency-key': '"without an end' }
        expect.status(await subject.send(post(animal(subject, 'malformed'), headers)), 400)
      },
    },
  },
)

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
  expect.status(reply, 201)
  return reply
}

async function expectAnother(first: Reply, second: Reply): Promise<void> {
  expect.status(first, 201)
  expect.status(second, 201)
  const { id } = objectOf(first)
  if (id === undefined) throw new CheckSkipped('creates return no id')
  expect.that(second, memberOf(second, 'id') !== id, `another \`id\` than ${id}`)
}
