import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { type Check, must, type Subject, should } from '../check.js'
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
import { allAnimals, animal, each, post, postCategory, WHOLE_LIST } from './calls.js'

/** `createPet` (spec §4.2): what is accepted. */
export const createPetChecks: readonly Check[] = [
  {
    id: 'create.answer',
    requirement: must('spec §4.2'),
    title: 'a valid animal is answered 201 with the fields that were sent',
    requests: 1,
    needs: ['create'],
    async run({ sample, categoryId }) {
      const { created, name } = await sample('available')
      expectStatus(created, 201)
      const pet = await objectOf(created)
      expectThat(created, pet['name'] === name, 'the `name` that was sent')
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
    title: 'every animal has an `id` of its own',
    requests: 4,
    needs: ['create'],
    async run(subject) {
      const { sample, send } = subject
      const replies = [(await sample('available')).created, (await sample('sold')).created]
      for (const label of ['first twin', 'second twin']) {
        replies.push(await send(post(animal(subject, label))))
      }
      const ids: unknown[] = []
      for (const reply of replies) {
        const { id } = await objectOf(reply)
        expectThat(reply, !ids.includes(id), 'an `id` that no other animal has')
        ids.push(id)
      }
    },
  },
  {
    id: 'create.id-ignored',
    requirement: must('spec §2'),
    title: 'the `id` is assigned by the service, whatever `id` the body has',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      const { id } = await subject.sample('available')
      const reply = await subject.send(post({ id, ...animal(subject, 'with an id') }))
      if (reply.status === 400) return
      expectStatus(reply, 201)
      expectThat(reply, (await objectOf(reply))['id'] !== id, '400, or an `id` of its own')
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
      // Which one is not specified, and null stands for none in many services.
      expectThat(reply, (status ?? undefined) === undefined || isStatus(status), 'a known `status`')
    },
  },
  ...each({ available: 1, pending: 1, sold: 1 }, name => ({
    id: `create.status.${name}`,
    requirement: must('spec §2'),
    title: `\`status\` ${name} is kept`,
    requests: 1,
    needs: ['create'],
    async run({ sample }) {
      const { created } = await sample(name as 'sold')
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
    title: '1.0 and 1e3 are the integers 1 and 1000, or refused',
    requests: 2,
    needs: ['create'],
    async run(subject) {
      for (const [form, value] of [
        ['1.0', 1],
        ['1e3', 1000],
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
  {
    id: 'create.name-unicode',
    requirement: must('spec §2'),
    title: 'a `name` outside ASCII comes back unchanged, or is refused',
    requests: 1,
    needs: ['create'],
    run: subject => keepsNames(subject, [subject.name('Zoë 日本 🐈')]),
  },
  {
    id: 'create.name-exact',
    requirement: should('RFC 8259 §7'),
    title: 'every string comes back unchanged, or is refused',
    requests: 5,
    needs: ['create'],
    run: subject =>
      keepsNames(
        subject,
        [
          ' padded ',
          'e\u0301 decomposed',
          '"quoted" \\ <b>&amp;</b>',
          'tab\tNUL\0newline\n',
          'lone \ud800 surrogate',
        ].map(text => `${text.startsWith(' ') ? ' ' : ''}${subject.name(text)}`),
      ),
  },
  {
    id: 'create.name-long',
    requirement: should('spec §2'),
    title: 'a `name` of 10,000 characters comes back unchanged, or is refused',
    requests: 1,
    needs: ['create'],
    run: subject => keepsNames(subject, [subject.name('long').padEnd(10_000, 'x')]),
  },
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
      const list = await subject.send(WHOLE_LIST)
      const isStored = (await allAnimals(list)).some(({ name }) => name === refused.name)
      expectThat(list, reply.status < 400 || !isStored, `no \`name\` ${refused.name}`)
    },
  },
]

async function keepsNames(subject: Subject, names: readonly string[]) {
  for (const name of names) {
    const reply = await subject.send(post({ ...animal(subject, ''), name }))
    expectRefusalOr(reply, 201)
    if (reply.status !== 201) continue
    const pet = await jsonOf(reply)
    expectThat(
      reply,
      isObject(pet) && pet['name'] === name,
      `\`name\` ${toJson(name).slice(0, 100)}, or a refusal`,
    )
  }
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
    bodies: valid => json({ ...valid, categoryId: 1.5 }),
  },
  'category-too-large': {
    title: 'a `categoryId` beyond int64',
    bodies: valid =>
      json(...[2n ** 63n, -(2n ** 63n) - 1n].map(categoryId => ({ ...valid, categoryId }))),
  },
  'status-unknown': {
    title: 'a `status` outside the three values',
    bodies: valid => json({ ...valid, status: 'lost' }),
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
    bodies: () => json([], 'Rex', 1, null),
  },
  'no-body': { title: 'a request without a body', bodies: () => [''] },
  malformed: {
    title: 'a body that is not JSON',
    bodies: valid => ['{', `${toJson(valid)} x`, toJson(valid).replace('}', ',}')],
  },
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
