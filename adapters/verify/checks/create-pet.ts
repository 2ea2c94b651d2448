import { isInt64 } from '../../../src/lib/int64.js'
import { toJson } from '../../../src/lib/json.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { CheckSkipped } from '../check-failure.js'
import type { Names, Reply } from '../check-types.js'
import * as expect from '../expect.js'
import { isStatus, memberOf, objectOf } from '../read-reply.js'
import { animal, atOnce, post, postCategory, postSample } from './calls.js'
import { checksOf, type Group, type Table } from './define-checks.js'
import { allPages, expectUnstored, sample } from './samples.js'

const ASCII = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join('')

const CATEGORIES = [
  ...['9007199254740993', '9223372036854775807', '-1', '0'],
  ...['-9223372036854775808', '-9007199254740993'],
]

const GROUP: Group = { name: 'create', source: 'spec §4.2', needs: ['create'] }

export const createPetChecks = checksOf(GROUP, {
  answer: {
    title: 'a valid animal is answered 201 with the fields that were sent',
    calls: names => PET_STATUSES.map(status => postSample(names, status)),
    judge(reply, names) {
      expect.status(reply, 201)
      const { name, categoryId, status } = objectOf(reply)
      const isSent = isStatus(status) && name === names.name(status)
      expect.that(reply, isSent, 'the `name` and `status` that were sent')
      expect.that(reply, categoryId === names.categoryId, 'the `categoryId` that was sent')
    },
  },
  unique: {
    title: 'every animal has an `id` of its own, an int64 integer, even if it equals another',
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
  int64: {
    title: 'a `categoryId` is never rounded: the same digits come back, or 400',
    must: 'spec §2',
    calls: names => CATEGORIES.map(digits => postCategory(names, digits, 'int64')),
    judge(reply) {
      if (reply.status === 400) return
      expect.status(reply, 201)
      const [, digits] = /"categoryId":(-?\d+)/.exec(reply.sent) ?? []
      const isExact = String(memberOf(reply, 'categoryId')) === digits
      expect.that(reply, isExact, `\`categoryId\` ${digits}, or 400`)
    },
  },
  'any-category': {
    title: 'where any small `categoryId` is accepted, so is any int64',
    should: 'spec §2',
    maxRequests: 4,
    async run(subject) {
      const small = await subject.send(postCategory(subject, '987654321', 'small category'))
      if (small.status === 400) throw new CheckSkipped('the server accepts only some categories')
      for (const digits of CATEGORIES.slice(0, 3)) {
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
    judge(reply, names) {
      expect.status(reply, 201)
      const { name, categoryId } = objectOf(reply)
      const isSent = name === names.name('JSON/forms') && categoryId === names.categoryId
      expect.that(reply, isSent, 'the `name` and `categoryId` that were sent')
    },
  },
  'name-escaped': kept(
    'a `name` in JSON that is ASCII alone, as of Python and PHP,',
    ['*Zoë Ané 日本 🐈', '*\b\f\u2028'],
    escaped,
  ),
  'name-exact': kept('every character of any `name`, and its Unicode normalization form,', [
    ...[' * padded ', '*two  spaces', '\ufeff*other spaces\u3000\u00a0', '*MiXeD cAsE'],
    '*"quoted" \\ /slashed/ <b>&amp;</b> %41+1 \u2028',
    ...['*tab\tnewline\r\n\t', '*NUL\0', `*${ASCII}`, '*a\u200bb\u200dc\u2060d\u00ade\u202ef\x7f'],
    '*%s %d %% -- $& $1 $$ \x24{name} {{name}} #{name} <%= name %> \'\' ""',
    ...['*\\u0041 \\n \\" &amp;lt; %2541', '*&#65; + &copy; \\x41'],
    ...['*Zoë 日本 🐈', '*e\u0301 decomposed', '*\u00e9 composed', '*\ufb01 ligature'],
    ...['123', '1e3', 'true', 'null', 'verify'],
  ]),
  'name-long': kept(
    'a `name` of 300, 10,000 or 70,000 characters',
    [300, 10_000, 70_000].map(length => '*'.padEnd(length, 'x')),
  ),
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
  required: refused('a body without `name` or `categoryId`', ({ name, categoryId, status }) => [
    ...[{ categoryId, status }, { name, status }, {}].map(toJson),
  ]),
  'name-type': refused('a `name` that is not a string', valid =>
    withField(valid, 'name', '1', '0', 'true', 'false', 'null', '["Rex"]', '[]', '{}'),
  ),
  'category-type': refused('a `categoryId` that is not an int64 integer', valid =>
    withField(
      valid,
      'categoryId',
      ...['"1"', '"0"', '""', 'true', 'false', 'null', '[1]', '[]', '{}', '1.5', '-0.5', '1e-1'],
      ...['9223372036854775808', '-9223372036854775809', '18446744073709551617', '1e19', '1e400'],
    ),
  ),
  'status-value': refused('a `status` other than the three values', valid =>
    withField(
      valid,
      'status',
      ...['"lost"', '"constructor"', '"__proto__"', '"Available"', '"SOLD"', '"sold "', '" sold"'],
      ...['""', '1', '0', 'false', '["sold"]'],
    ),
  ),
  'not-an-animal': refused('a body that is not an animal', valid => [
    ...[[], 'Rex', 1, null, [valid], toJson(valid), { pet: valid }].map(toJson),
    `{"__proto__":${toJson(valid)}}`,
  ]),
  malformed: refused('a body that is not JSON', valid => {
    const text = toJson(valid)
    return [
      ...['', '{', ' ', 'undefined', `${text} x`, `${text}${text}`, text.replace('}', ',}')],
      ...[text.replace('{', '{/* verify */'), text.replace('{', '{// verify\n')],
      ...[text.replace('"name"', 'name'), text.replaceAll('"', "'")],
      ...['\n', '\t', '\0', '\\x41', '\\u12'].map(end => text.replace('","cat', `${end}","cat`)),
      ...withField(
        valid,
        'categoryId',
        ...['01', '-01', '+1', '1.', '0x1', '1_000', 'NaN', 'Infinity'],
      ),
    ]
  }),
})

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

function expectName(reply: Reply, came: unknown, sent: string): void {
  const length = sent.length > 100 ? ` of ${sent.length} characters` : ''
  const expected = `\`name\` ${toJson(sent).slice(0, 100)}${length}, or a refusal`
  expect.that(reply, came === sent, expected, toJson(came).slice(0, 100))
}

function expectOwnIds(replies: readonly Reply[]): readonly unknown[] {
  const ids: unknown[] = []
  for (const reply of replies) {
    const id = memberOf(reply, 'id')
    expect.that(reply, isInt64(id) && !ids.includes(id), 'an int64 `id` of its own', '"id"')
    ids.push(id)
  }
  return ids
}

type Valid = ReturnType<typeof animal>

function withField(
  valid: Valid,
  field: keyof Valid,
  ...values: readonly string[]
): readonly string[] {
  const text = toJson({ ...valid, [field]: 0 })
  return values.map(value => text.replace(`"${field}":0`, `"${field}":${value}`))
}

function refused(title: string, bodies: (valid: Valid) => readonly string[]): Table[string] {
  return {
    title: `${title} is 400`,
    calls: names => bodies(animal(names, 'refused')).map(body => post(body)),
    judge: reply => expect.status(reply, 400),
  }
}
