import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import type { Names, Reply, Subject } from '../check.js'
import {
  expectJsonType,
  expectRefusalOr,
  expectStatus,
  expectThat,
  isObject,
  isStatus,
  jsonOf,
  memberOf,
  objectOf,
} from '../expect.js'
import { CheckSkipped } from '../failure.js'
import {
  allAnimals,
  animal,
  post,
  postBeyondDouble,
  postCategory,
  postSample,
  sample,
  wholeList,
} from './calls.js'
import { checksOf, each, type Table } from './table.js'

/** Texts of names, in which `*` stands for what marks the animals of a run. */
const NAMES: Readonly<Record<string, { title: string; texts: readonly string[] }>> = {
  unicode: { title: 'a `name` outside ASCII', texts: ['*Zoë 日本 🐈'] },
  exact: {
    title: 'white space, case and every other character of a `name`',
    texts: [
      ' * padded ',
      '*two  spaces',
      '\ufeff*other spaces\u00a0\u3000',
      '*MiXeD cAsE',
      '*"quoted" \\ /slashed/ <b>&amp;</b> %41+1 \u2028',
      '*tab\tnewline\r\n',
      '*NUL\0',
    ],
  },
  normalized: {
    title: 'a `name` in another Unicode normalization form',
    texts: ['*e\u0301 decomposed', '*\u00e9 composed', '*\ufb01 ligature'],
  },
  long: {
    title: 'a `name` of 300, 10,000 or 70,000 characters',
    texts: [300, 10_000, 70_000].map(length => '*'.padEnd(length, 'x')),
  },
}

/** `categoryId` at its boundaries. */
const CATEGORIES = {
  'beyond-double': '9007199254740993',
  maximum: '9223372036854775807',
  minimum: '-9223372036854775808',
  zero: '0',
}

/** What is accepted. */
const ACCEPTED: Table = {
  answer: {
    title: 'a valid animal is answered 201 with the fields that were sent',
    requests: 1,
    async run(subject) {
      const created = await subject.once(postSample(subject, 'available'))
      expectStatus(created, 201)
      const { name, categoryId } = objectOf(created)
      expectThat(created, name === subject.name('available'), 'the `name` that was sent')
      expectThat(created, categoryId === subject.categoryId, 'the `categoryId` that was sent')
    },
  },
  type: {
    title: 'the created animal comes as application/json',
    must: 'spec §4',
    requests: 1,
    async run(subject) {
      expectJsonType((await sample(subject, 'available')).created)
    },
  },
  id: {
    title: 'the service assigns an `id`, an int64 integer',
    must: 'spec §2',
    requests: 1,
    async run(subject) {
      const { created, id } = await sample(subject, 'available')
      expectThat(created, isInt64(id), 'an `id` that is an int64 integer')
    },
  },
  unique: {
    title: 'every animal has an `id` of its own, even if it equals another',
    must: 'spec §2',
    requests: 4,
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
    requests: 7,
    async run(subject) {
      const calls = Array.from({ length: 6 }, (_, at) => post(animal(subject, `at once ${at}`)))
      const replies = await Promise.all(calls.map(call => subject.send(call)))
      const ids = expectOwnIds(replies)
      const { reply, animals } = await wholeList(subject)
      if (animals.length >= 100) return
      const lost = ids.find(id => !animals.some(pet => pet.id === id))
      expectThat(reply, lost === undefined, `the animal ${lost} among them`)
    },
  },
  'id-ignored': {
    title: 'the `id` is assigned by the service, whatever `id` the body has',
    must: 'spec §2',
    requests: 3,
    async run(subject) {
      const { id, name } = await sample(subject, 'available')
      const reply = await subject.send(post({ id, ...animal(subject, 'with an id') }))
      if (reply.status === 400) return
      expectStatus(reply, 201)
      expectThat(reply, memberOf(reply, 'id') !== id, '400, or an `id` of its own')
      const { reply: list, animals } = await wholeList(subject)
      const first = animals.find(pet => pet.id === id)
      const isSame = !first || first.name === name
      expectThat(list, isSame, `the animal ${id} as it was`, first && toJson(first))
    },
  },
  'status-optional': {
    title: '`status` may be left out',
    calls: ({ name, categoryId }) => [post({ name: name('without status'), categoryId })],
    expect(reply) {
      expectStatus(reply, 201)
      const status = memberOf(reply, 'status')
      // Which one is not specified.
      const isKnown = status === undefined || isStatus(status)
      expectThat(reply, isKnown, 'a known `status`, or none', '"status"')
    },
  },
  'status-null': {
    title: 'null for `status` is refused, or leads to an animal whose `status` is not null',
    must: 'spec §2',
    calls: names => [post({ ...animal(names, 'null'), status: null })],
    expect(reply) {
      expectRefusalOr(reply, 201)
      const isKept = reply.status === 201 && memberOf(reply, 'status') === null
      expectThat(reply, !isKept, 'no null', '"status"')
    },
  },
  ...each('status.', Object.fromEntries(PET_STATUSES.map(name => [name, name])), status => ({
    title: `\`status\` ${status} is kept`,
    must: 'spec §2',
    calls: names => [postSample(names, status as 'sold')],
    expect(reply) {
      expectStatus(reply, 201)
      expectThat(reply, memberOf(reply, 'status') === status, `\`status\` ${status}`)
    },
  })),
  ...each('int64.', CATEGORIES, (_, digits) => ({
    title: `\`categoryId\` ${digits} is never rounded: the same digits come back, or 400`,
    must: 'spec §2',
    calls: names => [postCategory(names, digits, 'int64')],
    expect(reply) {
      if (reply.status === 400) return
      expectStatus(reply, 201)
      const isExact = String(memberOf(reply, 'categoryId')) === digits
      expectThat(reply, isExact, `\`categoryId\` ${digits}, or 400`)
    },
  })),
  'any-category': {
    title: 'where any small `categoryId` is accepted, so is any int64',
    should: 'spec §2',
    requests: 3,
    async run(subject) {
      const small = await subject.send(postCategory(subject, '987654321', 'small category'))
      if (small.status === 400) throw new CheckSkipped('the server accepts only some categories')
      expectStatus(await subject.once(postBeyondDouble(subject)), 201)
      expectStatus(await subject.once(postCategory(subject, CATEGORIES.maximum, 'int64')), 201)
    },
  },
  'number-forms': {
    title: '1.0, 1e3 and -0 are the integers 1, 1000 and 0, or refused',
    should: 'JSON Schema 2020-12 Validation §6.1.1',
    requests: 3,
    async run(subject) {
      for (const [form, value] of Object.entries({ '1.0': 1, '1e3': 1000, '-0': 0 })) {
        const reply = await subject.send(postCategory(subject, form, `category ${form}`))
        expectRefusalOr(reply, 201)
        const isExact = reply.status !== 201 || memberOf(reply, 'categoryId') === value
        expectThat(reply, isExact, `\`categoryId\` ${value}`)
      }
    },
  },
  ...each('name-', NAMES, (_, { title, texts }) => ({
    title: `${title} comes back unchanged, or is refused`,
    must: 'spec §2',
    requests: texts.length + 1,
    run: subject =>
      expectKept(
        subject,
        texts.map(text => text.replace('*', subject.name(''))),
      ),
  })),
  'unknown-field': {
    title: 'an unknown field is ignored or refused',
    should: 'RFC 9110 §15.6',
    calls: names => [post({ ...animal(names, 'color'), color: 'red' })],
    expect: reply => expectRefusalOr(reply, 201),
  },
  charset: {
    title: 'a body is accepted as application/json; charset=utf-8',
    should: 'RFC 8259 §11',
    calls: names => [typed(names, 'application/json; charset=utf-8')],
    expect: reply => expectStatus(reply, 201),
  },
  'media-type-case': {
    title: 'a body is accepted as Application/JSON',
    must: 'RFC 9110 §8.3.1',
    calls: names => [typed(names, 'Application/JSON')],
    expect: reply => expectStatus(reply, 201),
  },
  'member-case': {
    title: 'NAME is not `name`: without the latter, a body is refused',
    should: 'RFC 8259 §8.3',
    calls(names) {
      const { name, ...others } = animal(names, 'in capitals')
      return [post({ NAME: name, ...others })]
    },
    expect: reply => expectRefusalOr(reply),
  },
  location: {
    title: 'Location, if sent, leads to the created animal',
    should: 'RFC 9110 §15.3.2',
    requests: 2,
    needs: ['create', 'getPet'],
    async run(subject) {
      const { send, basePath } = subject
      const { created, id } = await sample(subject, 'available')
      const location = created.headers.get('location')
      if (location === null) return
      const { pathname } = new URL(location, `http://any${basePath}/pets`)
      expectThat(created, pathname.startsWith(`${basePath}/`), `a Location below ${basePath}`)
      const reply = await send({ path: pathname.slice(basePath.length) })
      expectStatus(reply, 200)
      expectThat(reply, memberOf(reply, 'id') === id, `the animal ${id}`)
    },
  },
  'refused-unstored': {
    title: 'a refused animal is not stored',
    must: 'RFC 9110 §15.5.1',
    requests: 2,
    async run(subject) {
      const refused = animal(subject, 'refused')
      const reply = await subject.once(post({ ...refused, status: 'lost' }))
      const { reply: list, animals } = await allAnimals(subject)
      const isStored = animals.some(({ name }) => name === refused.name)
      const holds = reply.status < 400 || !isStored
      expectThat(list, holds, `no \`name\` ${refused.name}`, refused.name)
    },
  },
}

function typed(names: Names, type: string) {
  return post(animal(names, type), { 'content-type': type })
}

async function expectKept(subject: Subject, names: readonly string[]): Promise<void> {
  const kept = new Map<unknown, string>()
  for (const name of names) {
    const reply = await subject.send(post({ ...animal(subject, ''), name }))
    expectRefusalOr(reply, 201)
    if (reply.status !== 201) continue
    const pet = jsonOf(reply)
    expectName(reply, isObject(pet) ? pet['name'] : undefined, name)
    if (isObject(pet)) kept.set(pet['id'], name)
  }
  // A server may answer with what it was sent, and store something else.
  if (kept.size === 0) return
  const { reply: list, animals } = await wholeList(subject)
  for (const { id, name } of animals) {
    const sent = kept.get(id)
    if (sent !== undefined) expectName(list, name, sent)
  }
}

function expectName(reply: Reply, came: unknown, sent: string): void {
  const length = firstDifference(String(came), sent)
  const where = length > 60 ? `, which differs after ${length} characters` : ''
  const expected = `\`name\` ${toJson(sent).slice(0, 100)}${where}, or a refusal`
  // The text around the difference, as far as JSON shows it as it is.
  const guilty = where === '' ? undefined : String(came).slice(length - 20, length + 20)
  expectThat(reply, came === sent, expected, guilty)
}

function firstDifference(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return at
}

/** @returns the ids */
function expectOwnIds(replies: readonly Reply[]): readonly unknown[] {
  const ids: unknown[] = []
  for (const reply of replies) {
    const id = memberOf(reply, 'id')
    expectThat(reply, !ids.includes(id), 'an `id` that no other animal has', '"id"')
    ids.push(id)
  }
  return ids
}

/** A valid animal, whose recognizable name shows wherever it is stored. */
type Valid = ReturnType<typeof animal>
/** What takes the place of some of its fields; undefined leaves a field out. */
type Changes = Readonly<Partial<Record<keyof Valid, unknown>>>

const json = (...values: readonly unknown[]) => values.map(value => toJson(value))

/** Fields that must be refused. */
const INVALID_FIELDS: Readonly<Record<string, readonly [title: string, ...Changes[]]>> = {
  'name-missing': ['a body without `name`', { name: undefined }],
  'category-missing': ['a body without `categoryId`', { categoryId: undefined }],
  'name-type': ['a `name` that is not a string', ...values('name', 1, true, ['Rex'], {})],
  'name-null': ['null for `name`', { name: null }],
  'category-string': ['a `categoryId` in quotes', { categoryId: '1' }],
  'category-type': ['a `categoryId` that is not a number', ...values('categoryId', true, [1], {})],
  'category-null': ['null for `categoryId`', { categoryId: null }],
  'status-unknown': [
    'a `status` outside the three values',
    ...values('status', 'lost', 'constructor', '__proto__', ' sold'),
  ],
  'status-case': ['a `status` in another case', { status: 'Available' }],
  'status-empty': ['an empty `status`', { status: '' }],
  'status-type': ['a `status` that is not a string', ...values('status', 1, ['sold'])],
}

function values(field: keyof Valid, ...given: readonly unknown[]): readonly Changes[] {
  return given.map(value => ({ [field]: value }))
}

/** Texts that must be refused. */
const INVALID_BODIES: Readonly<
  Record<string, readonly [title: string, bodies: (valid: Valid) => readonly string[]]>
> = {
  empty: ['an empty object', () => ['{}']],
  'category-fraction': [
    'a fractional `categoryId`',
    valid => withCategories(valid, '1.5', '-0.5', '1e-1'),
  ],
  'category-too-large': [
    'a `categoryId` beyond int64',
    valid =>
      withCategories(
        valid,
        ...['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1e19', '1e400'],
      ),
  ],
  'not-an-object': [
    'a body that is not an object',
    valid => json([], 'Rex', 1, null, [valid], toJson(valid)),
  ],
  wrapped: [
    'an animal inside another object',
    valid => [...json({ pet: valid }), `{"__proto__":${toJson(valid)}}`],
  ],
  'no-body': ['a request without a body', () => ['']],
  malformed: [
    'a body that is not JSON',
    valid => ['{', `${toJson(valid)} x`, toJson(valid).replace('}', ',}'), ' ', 'undefined'],
  ],
  'json-numbers': [
    'a number that is not JSON',
    valid => withCategories(valid, '01', '-01', '+1', '1.', '0x1', '1_000', 'NaN', 'Infinity'),
  ],
  'json-strings': [
    'a string that is not JSON',
    valid =>
      ['\n', '\t', '\0', '\\x41', '\\u12'].map(text =>
        toJson(valid).replace('","cat', `${text}","cat`),
      ),
  ],
  'json-extensions': [
    'JSON with comments, with names or strings quoted differently, or with two values',
    valid => [
      toJson(valid).replace('{', '{/* verify */'),
      toJson(valid).replace('{', '{// verify\n'),
      toJson(valid).replace('"name"', 'name'),
      toJson(valid).replaceAll('"', "'"),
      toJson(valid).repeat(2),
    ],
  ],
}

/** With categories as JSON text, valid or not. */
function withCategories(valid: Valid, ...categories: readonly string[]): readonly string[] {
  const json = toJson({ ...valid, categoryId: 0 })
  return categories.map(digits => json.replace('"categoryId":0', `"categoryId":${digits}`))
}

function refused(title: string, bodies: (valid: Valid) => readonly string[]): Table[string] {
  return {
    title: `${title} is 400`,
    calls: names => bodies(animal(names, 'refused')).map(body => post(body)),
    expect: reply => expectStatus(reply, 400),
  }
}

/** `createPet` (spec §4.2). */
export const createPetChecks = checksOf(
  { name: 'create', source: 'spec §4.2', needs: ['create'] },
  {
    ...ACCEPTED,
    ...each('', INVALID_FIELDS, (_, [title, ...changes]) =>
      refused(title, valid => json(...changes.map(change => ({ ...valid, ...change })))),
    ),
    ...each('', INVALID_BODIES, (_, [title, bodies]) => refused(title, bodies)),
  },
)
