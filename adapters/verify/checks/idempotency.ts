import { toJson } from '../../../src/lib/json.js'
import { CheckSkipped } from '../check-failure.js'
import type { Call, Names, Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { memberOf, objectOf } from '../read-reply.js'
import { animal, atOnce, post } from './calls.js'
import { checksOf, type Group } from './define-checks.js'

const DRAFT = 'draft-ietf-httpapi-idempotency-key-header-07'

const GROUP: Group = {
  name: 'idempotency',
  source: `${DRAFT} §2.6`,
  needs: ['create', 'idempotency'],
  maxRequests: 2,
  isFresh: true,
}

export const idempotencyChecks = checksOf(GROUP, {
  replay: {
    title: 'a create that is sent again with its key gets 201 with the same animal',
    calls: names => twice(keyed(names, 'replay')),
    judge: expectSame,
  },
  replayed: {
    title: 'such a response has Idempotent-Replayed: true, and the first one does not',
    should: 'common practice',
    calls: names => twice(keyed(names, 'replayed')),
    judge(reply, _, first) {
      expect.status(reply, first ? reply.status : 201)
      const isMarked = reply.headers.get('idempotent-replayed') === 'true'
      const expected = `${first ? '' : 'no '}Idempotent-Replayed: true`
      expect.that(reply, isMarked === (first !== undefined), expected)
    },
  },
  reused: {
    title: 'a key that is used again for another animal gets 422',
    should: `${DRAFT} §2.7`,
    calls: names => [keyed(names, 'reused'), keyed(names, 'reused', 'another')],
    judge: (reply, _, first) => expect.status(reply, first ? 422 : 201),
  },
  'other-key': {
    title: 'the same animal with another key is another create',
    must: `${DRAFT} §2.2`,
    calls: names => [keyed(names, 'one key', 'twins'), keyed(names, 'other key', 'twins')],
    judge: expectAnother,
  },
  'without-key': {
    title: 'the same animal without a key is another create',
    must: 'spec §4.2',
    calls: names => twice(post(animal(names, 'without key'))),
    judge: expectAnother,
  },
  concurrent: {
    title:
      'of two creates with one key at the same time, one stores: the other gets the same or 409',
    async run(subject) {
      const replies = await atOnce(subject, twice(keyed(subject, 'concurrent')))
      const [one, other] = replies as readonly [Reply, Reply]
      const [first, second] = one.status === 201 ? [one, other] : [other, one]
      expect.status(first, 201)
      if (second.status === 409) return
      expect.status(second, 201, 409)
      const id = memberOf(first, 'id')
      expect.that(second, memberOf(second, 'id') === id, `\`id\` ${id}, or 409`)
    },
  },
  refused: {
    title: 'a create that was refused with 400 leaves its key free',
    should: 'common practice',
    calls: names => [post('{}', keyHeader(names, 'refused')), keyed(names, 'refused')],
    judge(reply, _, first) {
      if (first) expect.status(reply, 201)
      else if (reply.status < 400) throw new CheckSkipped('an empty animal is not refused')
    },
  },
  string: {
    title: 'a key is a Structured Field string, with spaces and escapes',
    should: `${DRAFT} §2.1, RFC 9651 §3.3.3`,
    calls: names => twice(keyed(names, 'a \\"string\\"', 'string')),
    judge: expectSame,
  },
  malformed: {
    title: 'a key that is not a Structured Field string gets 400',
    should: `${DRAFT} §2.1, §2.7`,
    calls: names => [post(animal(names, 'malformed'), { 'idempotency-key': '"without an end' })],
    judge: reply => expect.status(reply, 400),
  },
})

function keyed(names: Names, key: string, name = key): Call {
  return post(animal(names, name), keyHeader(names, key))
}

/** Unique to the run, as a server may keep keys for days. */
function keyHeader(names: Names, key: string) {
  return { 'idempotency-key': `"${names.name(key)}"` }
}

function twice(call: Call): readonly Call[] {
  return [call, call]
}

function expectSame(reply: Reply, _: Subject, first = reply): void {
  expect.status(reply, 201)
  const isSame = toJson(objectOf(reply)) === toJson(objectOf(first))
  expect.that(reply, isSame, `\`id\` ${memberOf(first, 'id')}`)
}

function expectAnother(reply: Reply, _: Subject, first?: Reply): void {
  expect.status(reply, 201)
  const id = memberOf(reply, 'id')
  if (id === undefined) throw new CheckSkipped('creates return no id')
  expect.that(reply, !first || memberOf(first, 'id') !== id, `another \`id\` than ${id}`)
}
