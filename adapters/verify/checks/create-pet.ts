import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { type Check, must, type Reply, type Subject, should } from '../check.js'
import {
  expectRefusalOr,
  expectStatus,
  expectThat,
  isObject,
  isStatus,
  jsonOf,
  mediaType,
  objectOf,
} from '../expect.js'
import { CheckSkipped } from '../failure.js'
import { allAnimals, animal, each, post, postCategory, wholeList } from './calls.js'

/** Texts of names, in which `*` stands for what marks the animals of a run. */
const NAMES: Readonly<Record<string, { title: string; texts: readonly string[] }>> = {
  'name-unicode': { title: 'a `name` outside ASCII', texts: ['*Zoë 日本 🐈'] },
  'name-exact': {
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
  'name-normalized': {
    title: 'a `name` in another Unicode normalization form',
    texts: ['*e\u0301 decomposed', '*\u00e9 composed', '*\ufb01 ligature'],
  },
  'name-long': {
    title: 'a `name` of 300, 10,000 or 70,000 characters',
    texts: ['*'.padEnd(300, 'x'), '*'.padEnd(10_000, 'x'), '*'.padEnd(70_000, 'x')],
  },
}

/** `createPet` (spec §4.2): what is accepted. */
export const createPetChecks: readonly Check[] = [
  {
    id: 'create.answer',
    requirement: must('spec §4.2'),
    title: 'a valid animal is answered 201 with the fields that were sent',
    requests: 1,
    needs: ['create'],
    async run({ creation, name, categoryId }) {
      const created = await creation('available')
      expectStatus(created, 201)
      const pet = await objectOf(created)
      expectThat(created, pet['name'] === name('available'), 'the `name` that was sent')
      expectThat(created, pet['categoryId'] === categoryId, 'the `categoryId` that was sent')
    },
  },
  {
    id: 'create.type',
    requirement: must('spec §4'),
    title: 'the created animal comes as application/json',
    requests: 1,
    needs: ['create'],
    async run({ sample }) {
      const { created } = await sample('available')
      expectThat(created, mediaType(created) === 'application/json', 'application/json')
    },
  },
  {
    id: 'create.id',
    requirement: must('spec §2'),
    title: 'the service assigns an `id`, an int64 integer',
    requests: 1,
    needs: ['create'],
    async run({ sample }) {
      const { created, id } = await sample('available')
      expectThat(created, isInt64(id), 'an `id` that is an int64 integer')
    },
  },
  {
    id: 'create.unique',
    requirement: must('spec §2'),
    title: 'every animal has an `id` of its own, even if it equals another',
    requests: 4,
    needs: ['create'],
    async run(subject) {
      const { sample, send } = subject
      const replies = [(await sample('available')).created, (await sample('sold')).created]
      const twin = post(animal(subject, 'twin'))
      for (let count = 0; count < 2; count++) replies.push(await send(twin))
      await expectOwnIds(replies)
    },
  },
  {
    id: 'create.concurrent',
    requirement: must('spec §2'),
    title: 'animals created at the same time have ids of their own, and all are stored',
    requests: 7,
    needs: ['create'],
    async run(subject) {
      const calls = Array.from({ length: 6 }, (_, at) => post(animal(subject, `at once ${at}`)))
      const replies = await Promise.all(calls.map(call => subject.send(call)))
      const ids = await expectOwnIds(replies)
      const { reply, animals } = await wholeList(subject)
      if (animals.length >= 100) return
      const lost = ids.find(id => !animals.some(pet => pet.id === id))
      expectThat(reply, lost === undefined, `the animal ${lost} among them`)
    },
  },
  {
    id: 'create.id-ignored',
    requirement: must('spec §2'),
    title: 'the `id` is assigned by the service, whatever `id` the body has',
    requests: 3,
    needs: ['create'],
    async run(subject) {
      const { id, name } = await subject.sample('available')
      const reply = await subject.send(post({ id, ...animal(subject, 'with an id') }))
      if (reply.status === 400) return
      expectStatus(reply, 201)
      expectThat(reply, (await objectOf(reply))['id'] !== id, '400, or an `id` of its own')
      const { reply: list, animals } = await wholeList(subject)
      const first = animals.find(pet => pet.id === id)
      expectThat(
        list,
        !first || first.name === name,
        `the animal ${id} as it was`,
        first && toJson(first),
      )
    },
  },
  {
    id: 'create.status-optional',
    requirement: must('spec §4.2'),
    title: '`status` may be left out',
    requests: 1,
    needs: ['create'],
    async run({ send, name, categoryId }) {
      const reply = await send(post({ name: name('without status'), categoryId }))
      expectStatus(reply, 201)
      const { status } = await objectOf(reply)
      // Which one is not specified.
      const isKnown = status === undefined || isStatus(status)
      expectThat(reply, isKnown, 'a known `status`, or none', '"status"')
    },
  },
  {
    id: 'create.status-null',
    requirement: must('spec §2'),
    title: 'null for `status` is refused, or leads to an animal whose `status` is not null',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const reply = await subject.send(post({ ...animal(subject, 'null'), status: null }))
      expectRefusalOr(reply, 201)
      if (reply.status !== 201) return
      expectThat(reply, (await objectOf(reply))['status'] !== null, 'no null', '"status"')
    },
  },
  ...each({ available: 1, pending: 1, sold: 1 }, name => ({
    id: `create.status.${name}`,
    requirement: must('spec §2'),
    title: `\`status\` ${name} is kept`,
    requests: 1,
    needs: ['create'],
    async run({ creation }) {
      const created = await creation(name as 'sold')
      expectStatus(created, 201)
      expectThat(created, (await objectOf(created))['status'] === name, `\`status\` ${name}`)
    },
  })),
  ...each(
    {
      'beyond-double': '9007199254740993',
      maximum: '9223372036854775807',
      minimum: '-9223372036854775808',
      zero: '0',
    },
    (name, digits) => ({
      id: `create.int64.${name}`,
      requirement: must('spec §2'),
      title: `\`categoryId\` ${digits} is never rounded: the same digits come back, or 400`,
      requests: 1,
      needs: ['create'],
      async run(subject) {
        const reply = await subject.once(postCategory(subject, digits, 'int64'))
        if (reply.status === 400) return
        expectStatus(reply, 201)
        const { categoryId } = await objectOf(reply)
        expectThat(reply, String(categoryId) === digits, `\`categoryId\` ${digits}, or 400`)
      },
    }),
  ),
  {
    id: 'create.any-category',
    requirement: should('spec §2'),
    title: 'where any small `categoryId` is accepted, so is any int64',
    requests: 3,
    needs: ['create'],
    async run(subject) {
      const small = await subject.send(postCategory(subject, '987654321', 'small category'))
      if (small.status === 400) throw new CheckSkipped('the server accepts only some categories')
      for (const digits of ['9007199254740993', '9223372036854775807']) {
        expectStatus(await subject.once(postCategory(subject, digits, 'int64')), 201)
      }
    },
  },
  {
    id: 'create.number-forms',
    requirement: should('JSON Schema 2020-12 Validation §6.1.1'),
    title: '1.0, 1e3 and -0 are the integers 1, 1000 and 0, or refused',
    requests: 3,
    needs: ['create'],
    async run(subject) {
      for (const [form, value] of [
        ['1.0', 1],
        ['1e3', 1000],
        ['-0', 0],
      ] as const) {
        const reply = await subject.send(postCategory(subject, form, `category ${form}`))
        expectRefusalOr(reply, 201)
        if (reply.status !== 201) continue
        expectThat(
          reply,
          (await objectOf(reply))['categoryId'] === value,
          `\`categoryId\` ${value}`,
        )
      }
    },
  },
  ...each(NAMES, (name, { title, texts }) => ({
    id: `create.${name}`,
    requirement: must('spec §2'),
    title: `${title} comes back unchanged, or is refused`,
    requests: texts.length + 1,
    needs: ['create'],
    run: subject =>
      keepsNames(
        subject,
        texts.map(text => text.replace('*', subject.name(''))),
      ),
  })),
  {
    id: 'create.unknown-field',
    requirement: should('RFC 9110 §15.6'),
    title: 'an unknown field is ignored or refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const call = post({ ...animal(subject, 'color'), color: 'red' })
      expectRefusalOr(await subject.send(call), 201)
    },
  },
  ...each(
    {
      charset: [should('RFC 8259 §11'), 'application/json; charset=utf-8'],
      'media-type-case': [must('RFC 9110 §8.3.1'), 'Application/JSON'],
    } as const,
    (name, [requirement, type]) => ({
      id: `create.${name}`,
      requirement,
      title: `a body is accepted as ${type}`,
      requests: 1,
      needs: ['create'],
      async run(subject) {
        const call = post(animal(subject, name), { 'content-type': type })
        expectStatus(await subject.send(call), 201)
      },
    }),
  ),
  {
    id: 'create.member-case',
    requirement: should('RFC 8259 §8.3'),
    title: 'NAME is not `name`: without the latter, a body is refused',
    requests: 1,
    needs: ['create'],
    async run(subject) {
      const { name, ...others } = animal(subject, 'in capitals')
      expectRefusalOr(await subject.send(post({ NAME: name, ...others })))
    },
  },
  {
    id: 'create.location',
    requirement: should('RFC 9110 §15.3.2'),
    title: 'Location, if sent, leads to the created animal',
    requests: 2,
    needs: ['create', 'getPet'],
    async run({ sample, send, basePath }) {
      const { created, id } = await sample('available')
      const location = created.headers.get('location')
      if (location === null) return
      const { pathname } = new URL(location, `http://any${basePath}/pets`)
      expectThat(created, pathname.startsWith(`${basePath}/`), `a Location below ${basePath}`)
      const reply = await send({ path: pathname.slice(basePath.length) })
      expectStatus(reply, 200)
      expectThat(reply, (await objectOf(reply))['id'] === id, `the animal ${id}`)
    },
  },
  {
    id: 'create.refused-unstored',
    requirement: must('RFC 9110 §15.5.1'),
    title: 'a refused animal is not stored',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      const refused = animal(subject, 'refused')
      const reply = await subject.once(post({ ...refused, status: 'lost' }))
      const { reply: list, animals } = await allAnimals(subject)
      const isStored = animals.some(({ name }) => name === refused.name)
      const holds = reply.status < 400 || !isStored
      expectThat(list, holds, `no \`name\` ${refused.name}`, refused.name)
    },
  },
]

async function keepsNames(subject: Subject, names: readonly string[]) {
  const kept = new Map<unknown, string>()
  for (const name of names) {
    const reply = await subject.send(post({ ...animal(subject, ''), name }))
    expectRefusalOr(reply, 201)
    if (reply.status !== 201) continue
    const pet = await jsonOf(reply)
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
async function expectOwnIds(replies: readonly Reply[]): Promise<readonly unknown[]> {
  const ids: unknown[] = []
  for (const reply of replies) {
    const { id } = await objectOf(reply)
    expectThat(reply, !ids.includes(id), 'an `id` that no other animal has', '"id"')
    ids.push(id)
  }
  return ids
}

type Valid = Omit<ReturnType<typeof animal>, 'status'> & { readonly status?: unknown }

const EXAMPLE: Valid = { name: '', categoryId: 1 }

/** Bodies that must be refused, with a recognizable name wherever they might be stored. */
type Refusals = Readonly<
  Record<string, { title: string; bodies: (valid: Valid) => readonly string[] }>
>

const json = (...values: readonly unknown[]) => values.map(value => toJson(value))

const REFUSALS: Refusals = {
  'name-missing': {
    title: 'a body without `name`',
    bodies: ({ name: _, ...others }) => json(others),
  },
  'category-missing': {
    title: 'a body without `categoryId`',
    bodies: ({ categoryId: _, ...others }) => json(others),
  },
  empty: { title: 'an empty object', bodies: () => json({}) },
  'name-type': {
    title: 'a `name` that is not a string',
    bodies: valid => json(...[1, true, ['Rex'], {}].map(name => ({ ...valid, name }))),
  },
  'name-null': {
    title: 'null for `name`',
    bodies: valid => json({ ...valid, name: null }),
  },
  'category-string': {
    title: 'a `categoryId` in quotes',
    bodies: valid => json({ ...valid, categoryId: '1' }),
  },
  'category-type': {
    title: 'a `categoryId` that is not a number',
    bodies: valid => json(...[true, [1], {}].map(categoryId => ({ ...valid, categoryId }))),
  },
  'category-null': {
    title: 'null for `categoryId`',
    bodies: valid => json({ ...valid, categoryId: null }),
  },
  'category-fraction': {
    title: 'a fractional `categoryId`',
    bodies: valid => ['1.5', '-0.5', '1e-1'].map(digits => withCategory(valid, digits)),
  },
  'category-too-large': {
    title: 'a `categoryId` beyond int64',
    bodies: valid =>
      ['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1e19', '1e400'].map(
        digits => withCategory(valid, digits),
      ),
  },
  'status-unknown': {
    title: 'a `status` outside the three values',
    bodies: valid =>
      json(...['lost', 'constructor', '__proto__', ' sold'].map(status => ({ ...valid, status }))),
  },
  'status-case': {
    title: 'a `status` in another case',
    bodies: valid => json({ ...valid, status: 'Available' }),
  },
  'status-empty': {
    title: 'an empty `status`',
    bodies: valid => json({ ...valid, status: '' }),
  },
  'status-type': {
    title: 'a `status` that is not a string',
    bodies: valid => json({ ...valid, status: 1 }, { ...valid, status: ['sold'] }),
  },
  'not-an-object': {
    title: 'a body that is not an object',
    bodies: valid => json([], 'Rex', 1, null, [valid], toJson(valid)),
  },
  wrapped: {
    title: 'an animal inside another object',
    bodies: valid => [...json({ pet: valid }), `{"__proto__":${toJson(valid)}}`],
  },
  'no-body': { title: 'a request without a body', bodies: () => [''] },
  malformed: {
    title: 'a body that is not JSON',
    bodies: valid => [
      '{',
      `${toJson(valid)} x`,
      toJson(valid).replace('}', ',}'),
      ' ',
      'undefined',
    ],
  },
  'json-numbers': {
    title: 'a number that is not JSON',
    bodies: valid =>
      ['01', '-01', '+1', '1.', '0x1', '1_000', 'NaN', 'Infinity'].map(digits =>
        withCategory(valid, digits),
      ),
  },
  'json-strings': {
    title: 'a string that is not JSON',
    bodies: valid =>
      ['\n', '\t', '\0', '\\x41', '\\u12'].map(text =>
        toJson(valid).replace('","cat', `${text}","cat`),
      ),
  },
  'json-extensions': {
    title: 'JSON with comments, with names or strings quoted differently, or with two values',
    bodies: valid => [
      toJson(valid).replace('{', '{/* verify */'),
      toJson(valid).replace('{', '{// verify\n'),
      toJson(valid).replace('"name"', 'name'),
      toJson(valid).replaceAll('"', "'"),
      toJson(valid).repeat(2),
    ],
  },
}

/** With a category as JSON text, valid or not. */
function withCategory(valid: Valid, digits: string): string {
  return toJson({ ...valid, categoryId: 0 }).replace('"categoryId":0', `"categoryId":${digits}`)
}

/** `createPet` (spec §4.2): what is refused. */
export const refusalChecks: readonly Check[] = each(REFUSALS, (id, { title, bodies }) => ({
  id: `create.${id}`,
  requirement: must('spec §4.2'),
  title: `${title} is 400`,
  requests: bodies(EXAMPLE).length,
  needs: ['create'],
  async run(subject) {
    for (const body of bodies(animal(subject, 'refused'))) {
      expectStatus(await subject.once(post(body)), 400)
    }
  },
}))
