import { toJson } from '../../../src/lib/json.js'
import {
  type Call,
  type Check,
  must,
  type RawExchange,
  type Reply,
  type Subject,
  should,
} from '../check.js'
import { arrayOf, expectRefusalOr, expectStatus, expectThat, objectOf } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { isClosed, NoReply } from '../no-reply.js'
import { animal, each, LIST, post } from './calls.js'

const MEBIBYTE = 1_048_576
/** Safe (RFC 4918 §9.1), as a service may well have PUT, PATCH and DELETE. */
const UNKNOWN_METHOD: Call = { method: 'PROPFIND', path: '/pets' }

interface Bodies {
  readonly title: string
  /**
   * Besides any refusal.
   * @default 201
   */
  readonly statuses?: readonly number[]
  /** Each is sent with each body. @default none */
  readonly headers?: readonly Readonly<Record<string, string>>[]
  /** From a valid one. */
  bodies(valid: string): readonly (string | Uint8Array)[]
}

const EXAMPLE = '{"name":"?","categoryId":1,"status":"available"}'

const types = (...values: readonly string[]) => values.map(type => ({ 'content-type': type }))

const BODIES: Readonly<Record<string, Bodies>> = {
  nesting: {
    title: 'a body nested 20,000 levels deep is refused or ignored',
    bodies: valid => [
      extended(valid, `"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}`),
      extended(valid, `"deep":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
    ],
  },
  'long-number': {
    title: 'a number of 100,000 digits, or with a huge exponent, is refused',
    statuses: [],
    bodies: valid =>
      ['9'.repeat(100_000), '1e999999999', '-1E+999999999', `1.${'0'.repeat(50_000)}1`].map(
        digits => valid.replace(/"categoryId":-?\d+/, `"categoryId":${digits}`),
      ),
  },
  'large-body': {
    title: 'a body of 2 MiB is refused or served',
    bodies: valid => [`${' '.repeat(2 * MEBIBYTE)}${valid}`],
  },
  utf8: {
    title: 'bytes that are not UTF-8 are refused',
    statuses: [],
    bodies: valid =>
      [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80]].map(bytes => spliced(valid, bytes)),
  },
  surrogate: {
    title: 'half of a surrogate pair is kept, replaced or refused',
    bodies: valid => [
      valid.replace('","', '\\ud800","'),
      valid.replace('","', '\\udc00\\ud800","'),
    ],
  },
  'content-type': {
    title: 'another content type is refused or read as JSON',
    headers: types('text/plain', 'application/xml', 'constructor', 'multipart/form-data', ';'),
    bodies: valid => [valid],
  },
  charset: {
    title: 'an unknown charset is refused or ignored',
    headers: types('application/json; charset=utf-16', 'application/json; charset=constructor'),
    bodies: valid => [valid],
  },
  'content-encoding': {
    title: 'a body that is not in the coding that it names is refused',
    headers: ['gzip', 'br', 'constructor'].map(coding => ({ 'content-encoding': coding })),
    bodies: valid => [valid],
  },
  prototype: {
    title: 'members such as __proto__ and constructor are refused or ignored',
    bodies: valid => [
      extended(valid, '"__proto__":null,"constructor":1,"prototype":[]'),
      extended(
        valid,
        '"hasOwnProperty":1,"toString":null,"valueOf":2,"toJSON":"x","length":-1,"then":{}',
      ),
    ],
  },
}

const PATHS: Readonly<Record<string, { title: string; paths: readonly string[] }>> = {
  'long-path': {
    title: 'a path or a query of 6,000 characters is refused or served',
    paths: [`/pets/${'9'.repeat(6_000)}`, `/pets?x=${'y'.repeat(6_000)}`],
  },
  'bad-encoding': {
    title: 'broken percent-encoding is refused or ignored',
    paths: [
      ...['%zz', '%', '%e0%a4%a', '%ff', '%c0%80', '%ud800'].map(text => `/pets/${text}`),
      ...['limit=%zz', 'status=%', 'status=%ff', '%=%&%ff', 'limit=%e0%a4%a'].map(
        query => `/pets?${query}`,
      ),
      '/%',
    ],
  },
  path: {
    title: 'a path with NUL or line breaks, or that leaves its folder, is refused',
    paths: [
      '%00',
      '1%00',
      '%0d%0aX-Verify:%201',
      '..%2f..%2f..%2fetc%2fpasswd',
      '%2e%2e',
      '/1',
      ';a=b',
    ].map(text => `/pets/${text}`),
  },
  names: {
    title: 'paths and parameters named like properties of every object are refused or ignored',
    paths: [
      ...['constructor', '__proto__', 'toString', 'hasOwnProperty'].map(name => `/pets/${name}`),
      '/constructor',
      '/__proto__',
      '/pets?constructor=1&toString=1&hasOwnProperty=1',
      '/pets?__proto__=1&__proto__[limit]=2',
    ],
  },
  query: {
    title: 'parameters that are empty, repeated, nested or not numbers are refused or ignored',
    paths: [
      ...[
        'limit',
        'limit=',
        'limit=1&limit=2',
        'limit[]=1',
        'limit[a]=1',
        'limit=1,2',
        'limit=null',
      ],
      ...['limit=NaN', 'limit=1e3', 'limit=0x10', 'limit=99999999999999999999', 'limit=%00'],
      ...['status=', 'status=sold&status=pending', 'status[]=sold', 'status[$ne]=x', '&&=&'],
    ].map(query => `/pets?${query}`),
  },
}

/** Requests that nobody should send: refused or served, but never a failure of the server. */
export const robustnessChecks: readonly Check[] = [
  ...each(BODIES, (name, { title, statuses = [201], headers = [{}], bodies }) => ({
    id: `robust.${name}`,
    requirement: must('RFC 9110 §15.6'),
    title,
    requests: bodies(EXAMPLE).length * headers.length,
    needs: ['create'],
    async run(subject) {
      for (const body of bodies(toJson(animal(subject, name)))) {
        for (const fields of headers) {
          expectRefusalOr(await sendBody(subject, body, fields), ...statuses)
        }
      }
    },
  })),
  ...each(PATHS, (name, { title, paths }) => ({
    id: `robust.${name}`,
    requirement: must('RFC 9110 §15.6'),
    title,
    requests: paths.length,
    async run({ send }) {
      for (const path of paths) {
        const reply = await send({ path })
        expectThat(reply, reply.status < 500, 'a status below 500')
        if (reply.status !== 200 || !path.startsWith('/pets?')) continue
        const { length } = await arrayOf(reply)
        expectThat(reply, length <= 100, `at most 100 animals, not ${length}`)
      }
    },
  })),
  {
    id: 'robust.byte-order-mark',
    requirement: must('RFC 8259 §8.1'),
    title: 'a byte order mark before a body is ignored, or refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const sent = animal(subject, 'byte order mark')
      const reply = await subject.send(post(`\ufeff${toJson(sent)}`))
      expectRefusalOr(reply, 201)
      if (reply.status !== 201) return
      const { name } = await objectOf(reply)
      expectThat(reply, !String(name).startsWith('\ufeff'), `\`name\` ${sent.name}`)
    },
  },
  {
    id: 'robust.duplicate',
    requirement: must('RFC 8259 §4'),
    title: 'of two members with one name, one counts, or the body is refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const body = valid(subject, 'duplicate').replace(
        '"categoryId":',
        '"categoryId":7,"categoryId":',
      )
      const reply = await subject.send(post(body))
      expectRefusalOr(reply, 201)
      if (reply.status !== 201) return
      const { categoryId } = await objectOf(reply)
      const isOne = categoryId === 7 || categoryId === subject.categoryId
      expectThat(reply, isOne, `\`categoryId\` 7 or ${subject.categoryId}`)
    },
  },
  {
    id: 'robust.pollution',
    requirement: must('spec §4.2'),
    title: 'members of __proto__ are not fields, of this animal or of the next',
    requests: 6,
    needs: ['create'],
    async run(subject) {
      const { name, categoryId } = animal(subject, 'without status')
      const { status } = await objectOf(await subject.send(post({ name, categoryId })))
      const other = status === 'sold' ? 'pending' : 'sold'
      const fields = `{"name":"[verify] polluted","categoryId":1,"status":"${other}"}`
      const bare = toJson({ name, categoryId }).slice(0, -1)
      for (const members of [`"__proto__":${fields}`, `"constructor":{"prototype":${fields}}`]) {
        const reply = await subject.send(post(`${bare},${members}}`))
        expectRefusalOr(reply, 201)
        if (reply.status !== 201) continue
        const pet = await objectOf(reply)
        expectThat(reply, pet['status'] !== other, `no \`status\` ${other}`, '"status"')
      }
      expectRefusalOr(await subject.send(post('{}')))
      const next = await objectOf(await subject.send(post({ name, categoryId })))
      expectThat(
        await subject.once(LIST),
        next['status'] === status,
        `the \`status\` ${status} for an animal without one, as before, not ${next['status']}`,
      )
    },
  },
  {
    id: 'robust.long-key',
    requirement: must('RFC 9110 §15.6'),
    title: 'a key of 6,000 characters, or outside ASCII, is refused',
    requests: 2,
    async run({ send, credentials: { foreign } }) {
      const long = foreign('with a key of 6,000 characters', `Bearer ${'x'.repeat(6_000)}`)
      expectRefusalOr(await send({ ...LIST, as: long }))
      const latin = foreign('with a key outside ASCII', 'Bearer \xe9\xff')
      expectRefusalOr(await send({ ...LIST, as: latin }))
    },
  },
  {
    id: 'robust.headers',
    requirement: must('RFC 9110 §15.6'),
    title: 'header fields that cannot be read are ignored or refused',
    requests: 1,
    async run({ send }) {
      const headers = {
        accept: ';q=x',
        'accept-language': '__proto__;q=9',
        cookie: 'a=%; constructor=%E0%A4%A; ;=',
        'if-modified-since': 'yesterday',
        'if-none-match': '"',
        range: 'bytes=9-1',
        forwarded: 'for="[',
        'x-forwarded-for': ',,unknown,999.999.999.999',
        'x-forwarded-host': '%',
        'content-language': '%zz',
      }
      const reply = await send({ ...LIST, headers })
      expectThat(reply, reply.status < 500, 'a status below 500')
    },
  },
  {
    id: 'robust.body-limit',
    requirement: should('RFC 9110 §15.5.14'),
    title: 'a body of 32 MiB is refused',
    requests: 1,
    needs: ['socket', 'create'],
    async run(subject) {
      const what = 'createPet with 32 MiB of spaces before the animal'
      const then = valid(subject, 'large')
      const bytes = 32 * MEBIBYTE
      const text = headOf(bytes + then.length)
      const call = { what, text, methods: ['POST'], padding: { bytes, then } }
      // Whoever refuses early may reset the connection, and the reply with it (RFC 9112 §9.6).
      const { replies, written, closed } = await subject.exchange(call).catch(resetAsClosed)
      const [reply] = replies
      if (reply) expectRefusalOr(reply)
      else if (!written && !closed) throw new CheckSkipped('32 MiB take longer than timeoutMs')
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

/** With more members. */
function extended(json: string, members: string): string {
  return `${json.slice(0, -1)},${members}}`
}

/** With bytes at the end of its first string value. */
function spliced(json: string, bytes: readonly number[]): Uint8Array {
  const [head = '', ...rest] = json.split('","')
  const [before, after] = [head, `","${rest.join('","')}`].map(part =>
    new TextEncoder().encode(part),
  )
  return Uint8Array.from([...(before ?? []), ...bytes, ...(after ?? [])])
}

/**
 * Whoever refuses a body before reading it may reset the connection, and the reply with it (RFC 9112 §9.6).
 * A server that does so answers the head alone with 413. Any other reply says nothing about the body.
 */
async function sendBody(
  subject: Subject,
  body: string | Uint8Array,
  fields: Readonly<Record<string, string>>,
): Promise<Reply> {
  try {
    return await subject.send(post(body, fields))
  } catch (error) {
    const isReset = error instanceof NoReply && isClosed(error.code)
    if (!isReset || !subject.hasSockets) throw error
    const call = {
      what: 'createPet without its body',
      text: headOf(Buffer.byteLength(body), fields),
      methods: ['POST'],
    }
    const { replies } = await subject.exchange(call).catch(resetAsClosed)
    const [reply] = replies
    if (reply?.status === 413) return reply
    throw error
  }
}

/** Of createPet, with a body of this many bytes. */
function headOf(length: number, fields: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({
    host: '{host}',
    authorization: '{key}',
    'content-type': 'application/json',
    'content-length': String(length),
    ...fields,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST {base}/pets HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** @throws what else went wrong */
function resetAsClosed(thrown: unknown): RawExchange {
  if (!(thrown instanceof NoReply) || !isClosed(thrown.code)) throw thrown
  return { replies: [], rest: '', closed: true, written: false }
}
