import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Names, Reply, Subject } from '../check-types.js'
import * as expect from '../expect.js'
import { isStatus, memberOf, objectOf } from '../read-reply.js'
import { animal, atOnce, post, postCategory, postSample } from './calls.js'
import { checksOf, each, type Table } from './define-checks.js'
import { allPages, expectUnstored, sample } from './samples.js'

const ASCII = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join('')

const CATEGORIES = {
  'beyond-double': '9007199254740993',
  maximum: '9223372036854775807',
  minimum: '-9223372036854775808',
  negative: '-1',
  'negative-beyond-double': '-9007199254740993',
  zero: '0',
}

const ACCEPTED: Table = {
  answer: {
    title: 'a valid animal is answered 201 with the fields that were sent',
    calls: names => [postSample(names)],
    judge: (reply, names) => expectSent(reply, names, names.status),
  },
  type: {
    title: 'the created animal comes as application/json',
    must: 'spec §4',
    of: createdOne,
    judge: expect.jsonType,
  },
  id: {
    title: 'the service assigns an `id`, an int64 integer',
    must: 'spec §2',
    of: createdOne,
    judge: reply =>
      expect.that(reply, isInt64(memberOf(reply, 'id')), 'an `id` that is an int64 integer'),
  },
  unique: {
    title: 'every animal has an `id` of its own, even if it equals another',
    must: 'spec §2',
    maxRequests: 4,
    async run(subject) {
      const samples = [await sample(subject, 'available'), await sample(subject, 'sold')]
      const twin = post(animal(subject, 'twin'))
      const twins = [await subject.send(twin), await subject.send(twin)]
      expectOwnIds([...samples.map(({ created }) => created), ...twins])
    },
  },
  concurrent: {
    title: 'animals created at the same time have ids of their own, and all are stored',
    must: 'spec §2',
    maxRequests: 7,
    async run(subject) {
      const calls = Array.from({ length: 6 }, (_, at) => post(animal(subject, `at once ${at}`)))
      const replies = await atOnce(subject, calls)
      const ids = expectOwnIds(replies)
      for (const { reply, animals } of await allPages(subject, [subject.status])) {
        const lost = ids.find(id => !animals.some(pet => pet.id === id))
        expect.that(reply, lost === undefined, `the animal ${lost} among them`)
      }
    },
  },
  'id-ignored': {
    title: 'the `id` is assigned by the service, whatever `id` the body has',
    must: 'spec §2',
    maxRequests: 3,
    async run(subject) {
      const { id, name } = await sample(subject)
      const reply = await subject.send(post({ id, ...animal(subject, 'with an id') }))
      if (reply.status === 400) return
      expect.status(reply, 201)
      expect.that(reply, memberOf(reply, 'id') !== id, '400, or an `id` of its own')
      for (const { reply: list, animals } of await allPages(subject, [subject.status])) {
        const first = animals.find(pet => pet.id === id)
        const isSame = !first || first.name === name
        expect.that(list, isSame, `the animal ${id} as it was`, first && toJson(first))
      }
    },
  },
  'status-optional': {
    title: '`status` may be left out',
    calls: ({ name, categoryId }) => [post({ name: name('without status'), categoryId })],
    judge(reply) {
      expect.status(reply, 201)
      const status = memberOf(reply, 'status')
      // The default status is not specified.
      const isKnown = status === undefined || isStatus(status)
      expect.that(reply, isKnown, 'a known `status`, or none', '"status"')
    },
  },
  'status-null': {
    title: 'null for `status` is refused, or leads to an animal whose `status` is not null',
    must: 'spec §2',
    calls: names => [post({ ...animal(names, 'null'), status: null })],
    judge(reply) {
      const isKept = expect.refusalOr(reply, 201) && memberOf(reply, 'status') === null
      expect.that(reply, !isKept, 'no null', '"status"')
    },
  },
  ...each('status.', Object.fromEntries(PET_STATUSES.map(name => [name, name])), status => ({
    title: `\`status\` ${status} is kept`,
    must: 'spec §2',
    calls: names => [postSample(names, status as 'sold')],
    judge(reply) {
      expect.status(reply, 201)
      expect.that(reply, memberOf(reply, 'status') === status, `\`status\` ${status}`)
    },
  })),
  ...each('int64.', CATEGORIES, (_, digits) => ({
    title: `\`categoryId\` ${digits} is never rounded: the same digits come back, or 400`,
    must: 'spec §2',
    calls: names => [postCategory(names, digits, 'int64')],
    judge(reply) {
      if (reply.status === 400) return
      expect.status(reply, 201)
      const isExact = String(memberOf(reply, 'categoryId')) === digits
      expect.that(reply, isExact, `\`categoryId\` ${digits}, or 400`)
    },
  })),
  'any-category': {
    title: 'where any small `categoryId` is accepted, so is any int64',
    should: 'spec §2',
    maxRequests: 4,
    async run(subject) {
      const small = await subject.send(postCategory(subject, '987654321', 'small category'))
      if (small.status === 400) throw new CheckSkipped('the server accepts only some categories')
      for (const digits of [CATEGORIES['beyond-double'], CATEGORIES.maximum, CATEGORIES.negative]) {
        expect.status(await subject.once(postCategory(subject, digits, 'int64')), 201)
      }
    },
  },
  'number-forms': {
    title: '1.0, 1e3 and -0 are the integers 1, 1000 and 0, or refused',
    should: 'JSON Schema 2020-12 Validation §6.1.1',
    maxRequests: 3,
    async run(subject) {
      for (const [form, value] of Object.entries({ '1.0': 1, '1e3': 1000, '-0': 0 })) {
        const reply = await subject.send(postCategory(subject, form, `category ${form}`))
        const isWrong = expect.refusalOr(reply, 201) && memberOf(reply, 'categoryId') !== value
        expect.that(reply, !isWrong, `\`categoryId\` ${value}`)
      }
    },
  },
  'json-forms': {
    title: 'white space, another order and escapes in JSON do not change an animal',
    must: 'RFC 8259 §2, §4, §7',
    calls: names => jsonForms(animal(names, 'JSON/forms')).map(body => post(body)),
    judge: (reply, names) => expectSent(reply, names, 'JSON/forms'),
  },
  'name-unicode': kept('a `name` outside ASCII', ['*Zoë 日本 🐈']),
  'name-escaped': kept(
    'a `name` in JSON that is ASCII alone, as of Python and PHP,',
    ['*Zoë Ané 日本 🐈', '*\b\f\u2028'],
    escaped,
  ),
  'name-exact': kept('white space, case and every other character of a `name`', [
    ...[' * padded ', '*two  spaces', '\ufeff*other spaces\u3000\u00a0', '*MiXeD cAsE'],
    '*"quoted" \\ /slashed/ <b>&amp;</b> %41+1 \u2028',
    ...['*tab\tnewline\r\n\t', '*NUL\0', `*${ASCII}`, '*a\u200bb\u200dc\u2060d\u00ade\u202ef\x7f'],
    '*%s %d %% -- $& $1 $$ \x24{name} {{name}} #{name} <%= name %> \'\' ""',
    ...['*\\u0041 \\n \\" &amp;lt; %2541', '*&#65; + &copy; \\x41'],
  ]),
  'name-plain': kept('a `name` that looks like a number or a value, or begins in lower case,', [
    ...['123', '1e3', 'true', 'null', 'verify'],
  ]),
  'name-normalized': kept('a `name` in another Unicode normalization form', [
    ...['*e\u0301 decomposed', '*\u00e9 composed', '*\ufb01 ligature'],
  ]),
  'name-long': kept(
    'a `name` of 300, 10,000 or 70,000 characters',
    [300, 10_000, 70_000].map(length => '*'.padEnd(length, 'x')),
  ),
  'unknown-field': {
    title: 'an unknown field is ignored or refused',
    should: 'RFC 9110 §15.6',
    calls: names => [post({ ...animal(names, 'color'), color: 'red' })],
    judge: reply => void expect.refusalOr(reply, 201),
  },
  charset: {
    title: 'a body is accepted as application/json; charset=utf-8',
    should: 'RFC 8259 §11',
    calls: names =>
      ['; charset=utf-8', ';charset=UTF-8'].map(text => typed(names, `application/json${text}`)),
    judge: reply => expect.status(reply, 201),
  },
  'media-type-case': {
    title: 'a body is accepted as Application/JSON',
    must: 'RFC 9110 §8.3.1',
    calls: names => [typed(names, 'Application/JSON')],
    judge: reply => expect.status(reply, 201),
  },
  location: {
    title: 'Location, if sent, leads to the created animal',
    should: 'RFC 9110 §15.3.2',
    maxRequests: 2,
    needs: ['create', 'getPet'],
    async run(subject) {
      const { created, id } = await sample(subject)
      const location = created.headers.get('location')
      if (location === null) return
      // A proxy may serve the API below another prefix.
      const { pathname } = new URL(location, `http://any${subject.basePath}/pets`)
      const [path] = /\/pets\/[^/]+$/.exec(pathname) ?? []
      expect.that(created, path !== undefined, `a Location that ends with /pets/${id}`)
      const reply = await subject.send({ path })
      expect.status(reply, 200)
      expect.that(reply, memberOf(reply, 'id') === id, `the animal ${id}`)
    },
  },
  'refused-unstored': {
    title: 'a refused animal is not stored',
    must: 'RFC 9110 §15.5.1',
    maxRequests: 2,
    async run(subject) {
      const refused = animal(subject, 'refused')
      const reply = await subject.once(post({ ...refused, status: 'lost' }))
      if (reply.status >= 400) await expectUnstored(subject, refused.name)
    },
  },
}

async function createdOne(subject: Subject): Promise<Reply> {
  return (await sample(subject)).created
}

/** The same animal, as other JSON libraries and people write it. */
function jsonForms({ name, categoryId, status }: Valid): readonly string[] {
  const text = toJson({ categoryId, status, name })
  return [
    text.replaceAll('":', '": ').replaceAll(',"', ', "'),
    `\r\n ${text.replaceAll('":', '"\t:\n').replaceAll(',"', '\r\n,\t"')} \r\n`,
    text.replace('/', '\\/'),
    text.replace('JSON', '\\u004aS\\u004F\\u004e'),
    text.replace('"name"', '"\\u006eam\\u0065"'),
  ]
}

/** JSON in ASCII alone. */
function escaped(value: unknown): string {
  return toJson(value).replace(
    /[^\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function typed(names: Names, type: string) {
  return post(animal(names, type), { 'content-type': type })
}

/** @param texts in which `*` stands for the mark of a run's animals */
function kept(title: string, texts: readonly string[], write = toJson): Table[string] {
  return {
    title: `${title} comes back unchanged, or is refused`,
    must: 'spec §2',
    maxRequests: texts.length + 1,
    async run(subject) {
      const stored = new Map<unknown, string>()
      for (const text of texts) {
        const name = text.replace('*', subject.name(''))
        const reply = await subject.send(post(write({ ...animal(subject, ''), name })))
        if (!expect.refusalOr(reply, 201)) continue
        const pet = objectOf(reply)
        expectName(reply, pet['name'], name)
        stored.set(pet['id'], name)
      }
      // The response alone proves nothing: a server may echo one value and store another.
      if (stored.size === 0) return
      for (const { reply, animals } of await allPages(subject, [subject.status])) {
        for (const { id, name } of animals) expectName(reply, name, stored.get(id) ?? name)
      }
    },
  }
}

function expectSent(reply: Reply, names: Names, label: string): void {
  expect.status(reply, 201)
  const { name, categoryId } = objectOf(reply)
  expect.that(reply, name === names.name(label), 'the `name` that was sent')
  expect.that(reply, categoryId === names.categoryId, 'the `categoryId` that was sent')
}

function expectName(reply: Reply, came: unknown, sent: string): void {
  const length = sent.length > 100 ? ` of ${sent.length} characters` : ''
  const expected = `\`name\` ${toJson(sent).slice(0, 100)}${length}, or a refusal`
  expect.that(reply, came === sent, expected, toJson(came).slice(0, 100))
}

function expectOwnIds(replies: readonly Reply[]): readonly unknown[] {
  const ids: unknown[] = []
  for (const reply of replies) {
    const id = memberOf(reply, 'id')
    expect.that(reply, !ids.includes(id), 'an `id` that no other animal has', '"id"')
    ids.push(id)
  }
  return ids
}

/** An animal whose recognizable name shows wherever it is stored. */
type Valid = ReturnType<typeof animal>

const json = (...values: readonly unknown[]) => values.map(value => toJson(value))

const REFUSED: Table = {
  'name-missing': refusedWith('a body without `name`', 'name', undefined),
  'category-missing': refusedWith('a body without `categoryId`', 'categoryId', undefined),
  empty: refused('an empty object', () => ['{}']),
  'name-type': refusedWith(
    'a `name` that is not a string',
    'name',
    1,
    0,
    true,
    false,
    ['Rex'],
    [],
    {},
  ),
  'name-null': refusedWith('null for `name`', 'name', null),
  'category-string': refusedWith('a `categoryId` in quotes', 'categoryId', '1', '0', ''),
  'category-type': refusedWith(
    'a `categoryId` that is not a number',
    'categoryId',
    ...[true, false, [1], [], {}],
  ),
  'category-null': refusedWith('null for `categoryId`', 'categoryId', null),
  'category-fraction': refused('a fractional `categoryId`', valid =>
    withCategories(valid, '1.5', '-0.5', '1e-1'),
  ),
  'category-too-large': refused('a `categoryId` beyond int64', valid =>
    withCategories(
      valid,
      ...['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1e19', '1e400'],
    ),
  ),
  'status-unknown': refusedWith(
    'a `status` outside the three values',
    'status',
    ...['lost', 'constructor', '__proto__', ' sold'],
  ),
  'status-case': refusedWith(
    'a `status` spelled otherwise',
    'status',
    'Available',
    'SOLD',
    'sold ',
  ),
  'status-empty': refusedWith('an empty `status`', 'status', ''),
  'status-type': refusedWith('a `status` that is not a string', 'status', 1, 0, false, ['sold']),
  'not-an-object': refused('a body that is not an object', valid =>
    json([], 'Rex', 1, null, [valid], toJson(valid)),
  ),
  wrapped: refused('an animal inside another object', valid => [
    ...json({ pet: valid }),
    `{"__proto__":${toJson(valid)}}`,
  ]),
  'no-body': refused('a request without a body', () => ['']),
  malformed: refused('a body that is not JSON', valid => [
    ...['{', ' ', 'undefined'],
    `${toJson(valid)} x`,
    toJson(valid).replace('}', ',}'),
  ]),
  'json-numbers': refused('a number that is not JSON', valid =>
    withCategories(valid, '01', '-01', '+1', '1.', '0x1', '1_000', 'NaN', 'Infinity'),
  ),
  'json-strings': refused('a string that is not JSON', valid =>
    ['\n', '\t', '\0', '\\x41', '\\u12'].map(text =>
      toJson(valid).replace('","cat', `${text}","cat`),
    ),
  ),
  'json-extensions': refused(
    'JSON with comments, with names or strings quoted differently, or with two values',
    valid => [
      toJson(valid).replace('{', '{/* verify */'),
      toJson(valid).replace('{', '{// verify\n'),
      toJson(valid).replace('"name"', 'name'),
      toJson(valid).replaceAll('"', "'"),
      toJson(valid).repeat(2),
    ],
  ),
}

/** Bodies with these categories as JSON text, valid or not. */
function withCategories(valid: Valid, ...categories: readonly string[]): readonly string[] {
  const text = toJson({ ...valid, categoryId: 0 })
  return categories.map(digits => text.replace('"categoryId":0', `"categoryId":${digits}`))
}

function refused(title: string, bodies: (valid: Valid) => readonly string[]): Table[string] {
  return {
    title: `${title} is 400`,
    calls: names => bodies(animal(names, 'refused')).map(body => post(body)),
    judge: reply => expect.status(reply, 400),
  }
}

/** @param values of the field; undefined leaves it out */
function refusedWith(title: string, field: string, ...values: readonly unknown[]): Table[string] {
  return refused(title, valid => json(...values.map(value => ({ ...valid, [field]: value }))))
}

/** Spec §4.2. */
export const createPetChecks = checksOf(
  { name: 'create', source: 'spec §4.2', needs: ['create'] },
  { ...ACCEPTED, ...REFUSED },
)
