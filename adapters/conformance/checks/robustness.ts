import { toJson } from '../../../src/lib/json.js'
import { type Call, type Check, must, type Subject, should } from '../check.js'
import { expectRefusalOr, expectStatus, expectThat } from '../expect.js'
import { animal, LIST, post, postCategory } from './calls.js'

const MEBIBYTE = 1_048_576
/** Safe (RFC 4918 §9.1), as a service may well have PUT, PATCH and DELETE. */
const UNKNOWN_METHOD: Call = { method: 'PROPFIND', path: '/pets' }

/** Requests that nobody should send: refused or served, but never a failure of the server. */
export const robustnessChecks: readonly Check[] = [
  {
    id: 'robust.nesting',
    requirement: should('RFC 8259 §9'),
    title: 'a body nested 20,000 levels deep is refused or ignored',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const deep = '['.repeat(20_000) + ']'.repeat(20_000)
      const body = `${valid(subject, 'nested').slice(0, -1)},"deep":${deep}}`
      expectRefusalOr(await subject.send(post(body)), 201)
    },
  },
  {
    id: 'robust.long-number',
    requirement: should('RFC 8259 §9'),
    title: 'a number of 100,000 digits is refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const call = postCategory(subject, '9'.repeat(100_000), 'long number')
      expectRefusalOr(await subject.send(call))
    },
  },
  {
    id: 'robust.large-body',
    requirement: should('RFC 9110 §15.5.14'),
    title: 'a body of 2 MiB is refused or served',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const body = `${' '.repeat(2 * MEBIBYTE)}${valid(subject, 'large body')}`
      expectRefusalOr(await subject.send(post(body)), 201)
    },
  },
  {
    id: 'robust.utf8',
    requirement: should('RFC 8259 §8.1'),
    title: 'bytes that are not UTF-8 are refused or replaced',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const bytes = new TextEncoder().encode(valid(subject, 'not UTF-8 ?'))
      bytes[bytes.indexOf(63)] = 255
      expectRefusalOr(await subject.send(post(bytes)), 201)
    },
  },
  {
    id: 'robust.content-type',
    requirement: should('RFC 9110 §15.5.16'),
    title: 'another content type is refused or read as JSON',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const call = post(valid(subject, 'text'), { 'content-type': 'text/plain' })
      expectRefusalOr(await subject.send(call), 201)
    },
  },
  {
    id: 'robust.content-encoding',
    requirement: should('RFC 9110 §8.4'),
    title: 'a body that is not gzip, although it says so, is refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const call = post(valid(subject, 'no gzip'), { 'content-encoding': 'gzip' })
      expectRefusalOr(await subject.send(call), 201)
    },
  },
  {
    id: 'robust.prototype',
    requirement: should('RFC 9110 §15.6'),
    title: 'names such as __proto__ and constructor are fields like any other',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      const body = `${valid(subject, 'prototype').slice(0, -1)},"__proto__":{"status":"sold"},"constructor":1}`
      expectRefusalOr(await subject.send(post(body)), 201)
      expectRefusalOr(await subject.send({ path: '/pets?status=constructor' }), 200)
    },
  },
  {
    id: 'robust.long-path',
    requirement: should('RFC 9110 §15.5.15'),
    title: 'a path of 6,000 characters is refused',
    requests: 1,
    async run({ send }) {
      expectRefusalOr(await send({ path: `/pets/${'9'.repeat(6_000)}` }))
    },
  },
  {
    id: 'robust.bad-encoding',
    requirement: should('RFC 3986 §2.1'),
    title: 'broken percent-encoding is refused or ignored',
    requests: 2,
    async run({ send }) {
      expectRefusalOr(await send({ path: '/pets/%zz' }))
      expectRefusalOr(await send({ path: '/pets?limit=%zz' }), 200)
    },
  },
  {
    id: 'robust.method',
    requirement: should('RFC 9110 §9.1'),
    title: 'a method that the list does not have is refused',
    requests: 1,
    async run({ once }) {
      expectRefusalOr(await once(UNKNOWN_METHOD), 501)
    },
  },
  {
    id: 'robust.allow',
    requirement: must('RFC 9110 §15.5.6'),
    title: '405 carries Allow',
    requests: 1,
    async run({ once }) {
      const reply = await once(UNKNOWN_METHOD)
      expectThat(reply, reply.status !== 405 || reply.headers.has('allow'), 'an Allow header')
    },
  },
  {
    id: 'robust.head',
    requirement: should('RFC 9110 §9.3.2'),
    title: 'HEAD is answered like GET, or refused as a method',
    requests: 1,
    async run({ send }) {
      expectStatus(await send({ method: 'HEAD', path: '/pets' }), 200, 204, 405, 501)
    },
  },
  {
    id: 'robust.alive',
    requirement: must('spec §4.1'),
    title: 'after all of this, the list is still answered 200',
    requests: 1,
    always: true,
    async run({ send }) {
      expectStatus(await send(LIST), 200)
    },
  },
]

/** An animal as JSON text. */
function valid(subject: Subject, label: string): string {
  return toJson(animal(subject, label))
}
