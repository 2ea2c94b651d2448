import { toJson } from '../../../src/lib/json.js'
import type { Call, Names, Subject } from '../check.js'
import { foreign } from '../credentials.js'
import { arrayOf, expectRefusalOr, expectStatus, expectThat, memberOf } from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { isClosed, NoReply } from '../no-reply.js'
import { animal, LIST, post } from './calls.js'
import { checksOf, each } from './table.js'

const MEBIBYTE = 1_048_576
/** Safe (RFC 4918 §9.1), as a service may well have PUT, PATCH and DELETE. */
const UNKNOWN_METHOD: Call = { method: 'PROPFIND', path: '/pets' }

/** Bodies made from a valid one, which are refused, or get one of these statuses. */
interface Bodies {
  readonly title: string
  /** @default 201 */
  readonly statuses?: readonly number[]
  /** Each is sent with each body. @default none */
  readonly headers?: readonly Readonly<Record<string, string>>[]
  readonly bodies: (valid: string) => readonly (string | Uint8Array)[]
}

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

const PROPERTIES = ['constructor', '__proto__', 'toString', 'hasOwnProperty']

const PATHS: Readonly<Record<string, { title: string; paths: readonly string[] }>> = {
  'long-path': {
    title: 'a path or a query of 6,000 characters is refused or served',
    paths: [`/pets/${'9'.repeat(6_000)}`, `/pets?x=${'y'.repeat(6_000)}`],
  },
  'bad-encoding': {
    title: 'broken percent-encoding is refused or ignored',
    paths: [
      ...below('/pets/', '%zz', '%', '%e0%a4%a', '%ff', '%c0%80', '%ud800'),
      ...below('/pets?', 'limit=%zz', 'status=%', 'status=%ff', '%=%&%ff', 'limit=%e0%a4%a'),
      '/%',
    ],
  },
  path: {
    title: 'a path with NUL or line breaks, or that leaves its folder, is refused',
    paths: [
      ...below('/pets/', '%00', '1%00', '%0d%0aX-Verify:%201', '..%2f..%2f..%2fetc%2fpasswd'),
      ...below('/pets/', '%2e%2e', '/1', ';a=b'),
    ],
  },
  names: {
    title: 'paths and parameters named like properties of every object are refused or ignored',
    paths: [
      ...below('/pets/', ...PROPERTIES),
      ...['/constructor', '/__proto__'],
      '/pets?constructor=1&toString=1&hasOwnProperty=1',
      '/pets?__proto__=1&__proto__[limit]=2',
    ],
  },
  query: {
    title: 'parameters that are empty, repeated, nested or not numbers are refused or ignored',
    paths: [
      ...below('/pets?', 'limit', 'limit=', 'limit=1&limit=2', 'limit[]=1', 'limit[a]=1'),
      ...below('/pets?limit=', '1,2', 'null', 'NaN', '1e3', '0x10', '99999999999999999999', '%00'),
      ...below('/pets?status', '=', '=sold&status=pending', '[]=sold', '[$ne]=x'),
      '/pets?&&=&',
    ],
  },
}

function below(start: string, ...ends: readonly string[]): readonly string[] {
  return ends.map(end => start + end)
}

const STRANGE_FIELDS = {
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

/** Requests that nobody should send: refused or served, but never a failure of the server. */
export const robustnessChecks = checksOf(
  { name: 'robust', source: 'RFC 9110 §15.6' },
  {
    ...each('', BODIES, (name, { title, statuses = [201], headers = [{}], bodies }) => ({
      title,
      calls: names =>
        bodies(valid(names, name)).flatMap(body => headers.map(fields => post(body, fields))),
      expect: reply => expectRefusalOr(reply, ...statuses),
    })),
    ...each('', PATHS, (_, { title, paths }) => ({
      title,
      calls: paths.map(path => ({ path })),
      needs: [],
      expect(reply) {
        expectThat(reply, reply.status < 500, 'a status below 500')
        if (reply.status !== 200 || !reply.sent.startsWith('GET /pets?')) return
        const { length } = arrayOf(reply)
        expectThat(reply, length <= 100, `at most 100 animals, not ${length}`)
      },
    })),
    'byte-order-mark': {
      title: 'a byte order mark before a body is ignored, or refused',
      must: 'RFC 8259 §8.1',
      calls: names => [post(`\ufeff${valid(names, 'byte order mark')}`)],
      expect(reply) {
        expectRefusalOr(reply, 201)
        if (reply.status !== 201) return
        const isKept = String(memberOf(reply, 'name')).startsWith('\ufeff')
        expectThat(reply, !isKept, 'a `name` without it')
      },
    },
    duplicate: {
      title: 'of two members with one name, one counts, or the body is refused',
      must: 'RFC 8259 §4',
      requests: 1,
      needs: ['create'],
      async run(subject) {
        const { categoryId } = subject
        const both = '"categoryId":7,"categoryId":'
        const body = valid(subject, 'duplicate').replace('"categoryId":', both)
        const reply = await subject.send(post(body))
        expectRefusalOr(reply, 201)
        if (reply.status !== 201) return
        const kept = memberOf(reply, 'categoryId')
        expectThat(reply, kept === 7 || kept === categoryId, `\`categoryId\` 7 or ${categoryId}`)
      },
    },
    pollution: {
      title: 'members of __proto__ are not fields, of this animal or of the next',
      must: 'spec §4.2',
      requests: 6,
      needs: ['create'],
      run: expectNoPollution,
    },
    'long-key': {
      title: 'a key of 6,000 characters, or outside ASCII, is refused',
      calls: [
        foreign('with a key of 6,000 characters', `Bearer ${'x'.repeat(6_000)}`),
        foreign('with a key outside ASCII', 'Bearer \xe9\xff'),
      ].map(as => ({ ...LIST, as })),
      expect: reply => expectRefusalOr(reply),
    },
    headers: {
      title: 'header fields that cannot be read are ignored or refused',
      calls: [{ ...LIST, headers: STRANGE_FIELDS }],
      expect: reply => expectThat(reply, reply.status < 500, 'a status below 500'),
    },
    'body-limit': {
      title: 'a body of 32 MiB is refused',
      should: 'RFC 9110 §15.5.14',
      requests: 2,
      needs: ['socket', 'create'],
      async run(subject) {
        const call = post(`${' '.repeat(32 * MEBIBYTE)}${valid(subject, 'large')}`)
        const reply = await subject.send(call).catch((error: unknown) => {
          if (!(error instanceof NoReply)) throw error
          // A server that refuses early may reset the connection, and the reply is lost (RFC 9112 §9.6).
          if (isClosed(error.code)) return undefined
          if (error.code !== 'timeout') throw error
          throw new CheckSkipped('32 MiB take longer than timeoutMs')
        })
        if (reply) expectRefusalOr(reply)
      },
    },
    method: {
      title: 'a method that the list does not have is refused',
      should: 'RFC 9110 §9.1',
      calls: [UNKNOWN_METHOD],
      expect: reply => expectRefusalOr(reply, 501),
    },
    allow: {
      title: '405 carries Allow',
      must: 'RFC 9110 §15.5.6',
      calls: [UNKNOWN_METHOD],
      expect: reply =>
        expectThat(reply, reply.status !== 405 || reply.headers.has('allow'), 'an Allow header'),
    },
    head: {
      title: 'HEAD is answered like GET, or refused as a method',
      should: 'RFC 9110 §9.3.2',
      calls: [{ ...LIST, method: 'HEAD' }],
      expect: reply => expectStatus(reply, 200, 204, 405, 501),
    },
    alive: {
      title: 'after all of this, the list is still answered 200',
      must: 'spec §4.1',
      requests: 1,
      always: true,
      async run({ send }) {
        expectStatus(await send(LIST), 200)
      },
    },
  },
)

/** An animal as JSON text. */
function valid(names: Names, label: string): string {
  return toJson(animal(names, label))
}

/** With more members. */
function extended(json: string, members: string): string {
  return `${json.slice(0, -1)},${members}}`
}

/** With bytes at the end of its first string value. */
function spliced(json: string, bytes: readonly number[]): Uint8Array {
  const at = json.indexOf('","')
  const [before, after] = [json.slice(0, at), json.slice(at)].map(part =>
    new TextEncoder().encode(part),
  )
  return Uint8Array.from([...(before ?? []), ...bytes, ...(after ?? [])])
}

async function expectNoPollution(subject: Subject): Promise<void> {
  const { name, categoryId } = animal(subject, 'without status')
  const statusOf = async (body: string) => {
    const reply = await subject.send(post(body))
    expectRefusalOr(reply, 201)
    return { reply, status: reply.status === 201 ? memberOf(reply, 'status') : undefined }
  }
  const bare = toJson({ name, categoryId })
  const { status } = await statusOf(bare)
  const other = status === 'sold' ? 'pending' : 'sold'
  const fields = `{"name":"[verify] polluted","categoryId":1,"status":"${other}"}`
  for (const members of [`"__proto__":${fields}`, `"constructor":{"prototype":${fields}}`]) {
    const polluted = await statusOf(extended(bare, members))
    expectThat(polluted.reply, polluted.status !== other, `no \`status\` ${other}`, '"status"')
  }
  expectRefusalOr(await subject.send(post('{}')))
  const next = await statusOf(bare)
  const expected = `the \`status\` ${status} for an animal without one, as before`
  expectThat(next.reply, next.status === status, expected, '"status"')
}
