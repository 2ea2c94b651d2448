import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { CheckSkipped } from '../check-failure.js'
import type { Call, Names } from '../check-types.js'
import { foreign } from '../credentials.js'
import * as expect from '../expect.js'
import { NoReply } from '../no-reply.js'
import { arrayOf, memberOf } from '../read-reply.js'
import { animal, LIST, post, postCategory } from './calls.js'
import { checksOf, type Group, type Table } from './define-checks.js'

const MEBIBYTE = 1_048_576
/** Safe (RFC 4918 §9.1), whereas a service may have PUT, PATCH and DELETE. */
const UNKNOWN_METHOD: Call = { method: 'PROPFIND', path: '/pets' }

const PROPERTIES = ['constructor', '__proto__', 'toString', 'hasOwnProperty']

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

const GROUP: Group = { name: 'robust', source: 'RFC 9110 §15.6' }

/** Requests that nobody should send: refused or served, but never a failure of the server. */
export const robustnessChecks = checksOf(GROUP, {
  nesting: bodies('a body nested 20,000 levels deep is refused or ignored', valid => [
    extended(valid, `"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}`),
    extended(valid, `"deep":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
  ]),
  'long-number': {
    title: 'a number of 100,000 digits, or with a huge exponent, is refused or an int64',
    calls: names =>
      ['9'.repeat(100_000), '1e999999999', '-1E+999999999', `1.${'0'.repeat(50_000)}1`].map(
        digits => postCategory(names, digits, 'robust'),
      ),
    judge(reply) {
      const isWrong = expect.refusalOr(reply, 201) && !isInt64(memberOf(reply, 'categoryId'))
      expect.that(reply, !isWrong, 'a refusal, or a `categoryId` that is an int64 integer')
    },
  },
  'large-body': bodies('a body of 2 MiB is refused or served', valid => [
    `${' '.repeat(2 * MEBIBYTE)}${valid}`,
  ]),
  utf8: bodies('a byte order mark and bytes that are not UTF-8 are refused or replaced', valid => [
    `\ufeff${valid}`,
    ...[[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80]].map(bytes => spliced(valid, bytes)),
  ]),
  surrogate: {
    title: 'half of a surrogate pair is kept, replaced or refused',
    calls: names =>
      ['\\ud800', '\\udc00\\ud800'].map(text =>
        post(valid(names, 'surrogate').replace('","', `${text}","`)),
      ),
    judge(reply, { name }) {
      const isDropped =
        expect.refusalOr(reply, 201) && memberOf(reply, 'name') === name('surrogate')
      expect.that(reply, !isDropped, 'a `name` that is not cut off')
    },
  },
  'content-type': bodies(
    'another content type or charset is refused or read as JSON',
    valid => [valid],
    [
      ...['text/plain', 'application/xml', 'constructor', 'multipart/form-data', ';'],
      ...['utf-16', 'constructor'].map(name => `application/json; charset=${name}`),
    ].map(type => ({ 'content-type': type })),
  ),
  'content-encoding': bodies(
    'a body that is not in the coding that it names is refused',
    valid => [valid],
    ['gzip', 'br', 'constructor'].map(coding => ({ 'content-encoding': coding })),
  ),
  members: bodies('unknown members, such as __proto__, are refused or ignored', valid => [
    extended(valid, '"color":"red"'),
    extended(valid, '"__proto__":null,"constructor":1,"prototype":[],"hasOwnProperty":1'),
    extended(valid, '"toString":null,"valueOf":2,"toJSON":"x","length":-1,"then":{}'),
  ]),
  path: paths(
    'a path that is long, badly encoded, leaves its folder or names a property is refused or served',
    ...below('/pets/', '9'.repeat(6_000), '%zz', '%', '%e0%a4%a', '%ff', '%c0%80', '%ud800'),
    ...below('/pets/', '%00', '1%00', '%0d%0aX-Verify:%201', '..%2f..%2f..%2fetc%2fpasswd'),
    ...below('/pets/', '%2e%2e', '/1', ';a=b', ...PROPERTIES),
    ...['/%', '/constructor', '/__proto__'],
  ),
  query: paths(
    'parameters that are unknown, long, repeated, or not as they should be are refused or ignored',
    ...below('/pets?', 'verify=1', 'limit=0', 'limit=-1', 'limit=many', 'limit=1.5'),
    ...below('/pets?', `x=${'y'.repeat(6_000)}`, 'limit=%zz', 'status=%', 'status=%ff', '%=%&%ff'),
    ...below('/pets?limit', '', '=', '=1&limit=2', '[]=1', '[a]=1', '=1,2', '=null', '=NaN'),
    ...below('/pets?limit=', '1e3', '0x10', '99999999999999999999', '%00', '%e0%a4%a'),
    ...below('/pets?status', '=', '=sold&status=pending', '[]=sold', '[$ne]=x'),
    ...below('/pets?', '&&=&', 'constructor=1&toString=1&hasOwnProperty=1'),
    '/pets?__proto__=1&__proto__[limit]=2',
  ),
  pollution: {
    title: 'members of __proto__ are not fields, of this animal or of the next',
    must: 'spec §4.2',
    calls(names) {
      const { name, categoryId } = animal(names, 'without status')
      const bare = (label: string) => toJson({ name: `${name} ${label}`, categoryId })
      const fields = '{"name":"[verify] polluted","categoryId":1,"status":"sold"}'
      const polluted = [`"__proto__":${fields}`, `"constructor":{"prototype":${fields}}`]
      const bodies = polluted.map(members => extended(bare('polluted'), members))
      return [bare('before'), ...bodies, bare('after')].map(body => post(body))
    },
    judge(reply, _, first = reply) {
      if (!expect.refusalOr(reply, 201)) return
      const isSame = memberOf(reply, 'status') === memberOf(first, 'status')
      expect.that(reply, isSame, 'the `status` of an animal without one, as before', '"status"')
    },
  },
  'long-key': {
    title: 'a key of 6,000 characters, or outside ASCII, is refused',
    calls: [
      foreign('with a key of 6,000 characters', `Bearer ${'x'.repeat(6_000)}`),
      foreign('with a key outside ASCII', 'Bearer \xe9\xff'),
    ].map(as => ({ ...LIST, as })),
    judge: reply => void expect.refusalOr(reply),
  },
  headers: {
    title: 'header fields that cannot be read are ignored or refused',
    calls: [{ ...LIST, headers: STRANGE_FIELDS }],
    judge: reply => expect.that(reply, reply.status < 500, 'a status below 500'),
  },
  'body-limit': {
    title: 'a body of 32 MiB is refused',
    should: 'RFC 9110 §15.5.14',
    maxRequests: 2,
    needs: ['socket', 'create'],
    async run(subject) {
      const call = post(`${' '.repeat(32 * MEBIBYTE)}${valid(subject, 'large')}`)
      const reply = await subject.send(call).catch((error: unknown) => {
        // An early refusal may reset the connection, and lose the reply (RFC 9112 §9.6).
        if (error instanceof NoReply) throw new CheckSkipped(`${error.reason}, after 32 MiB`)
        throw error
      })
      expect.refusalOr(reply)
    },
  },
  method: {
    title: 'a method that the list does not have is refused',
    should: 'RFC 9110 §9.1',
    calls: [UNKNOWN_METHOD],
    judge: reply => void expect.refusalOr(reply, 501),
  },
  allow: {
    title: '405 carries Allow',
    must: 'RFC 9110 §15.5.6',
    calls: [UNKNOWN_METHOD],
    judge: reply =>
      expect.that(reply, reply.status !== 405 || reply.headers.has('allow'), 'an Allow header'),
  },
  head: {
    title: 'HEAD is answered like GET, or refused as a method',
    should: 'RFC 9110 §9.3.2',
    calls: [{ ...LIST, method: 'HEAD' }],
    judge: reply => expect.status(reply, 200, 204, 405, 501),
  },
  alive: {
    title: 'after all of this, the list is still answered 200',
    must: 'spec §4.1',
    maxRequests: 1,
    async run({ send }) {
      expect.status(await send(LIST), 200)
    },
  },
})

/** @param headers each is sent with each body */
function bodies(
  title: string,
  make: (valid: string) => readonly (string | Uint8Array)[],
  headers: readonly Readonly<Record<string, string>>[] = [{}],
): Table[string] {
  return {
    title,
    calls: names =>
      make(valid(names, 'robust')).flatMap(body => headers.map(fields => post(body, fields))),
    judge: reply => void expect.refusalOr(reply, 201),
  }
}

function paths(title: string, ...all: readonly string[]): Table[string] {
  return {
    title,
    calls: all.map(path => ({ path })),
    needs: [],
    judge(reply) {
      expect.that(reply, reply.status < 500, 'a status below 500')
      if (reply.status !== 200 || !reply.sent.startsWith('GET /pets?')) return
      const { length } = arrayOf(reply)
      expect.that(reply, length <= 100, `at most 100 animals, not ${length}`)
    },
  }
}

function below(start: string, ...ends: readonly string[]): readonly string[] {
  return ends.map(end => start + end)
}

function valid(names: Names, label: string): string {
  return toJson(animal(names, label))
}

function extended(json: string, members: string): string {
  return `${json.slice(0, -1)},${members}}`
}

/** Inserts bytes at the end of the first string value. */
function spliced(json: string, bytes: readonly number[]): Uint8Array {
  const at = json.indexOf('","')
  const [before, after] = [json.slice(0, at), json.slice(at)].map(part =>
    new TextEncoder().encode(part),
  )
  return Uint8Array.from([...(before ?? []), ...bytes, ...(after ?? [])])
}
