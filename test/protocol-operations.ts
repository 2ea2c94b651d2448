import assert from 'node:assert/strict'
import type { Reply } from './doors.js'
import { assertError, type Check, demoHeaders, post, type Subject } from './protocol-check.js'

const REX = { name: 'Rex', categoryId: 1 }

/** `listPets`, `createPet` and `getPet` as spec §4 has them. */
export const operationChecks: readonly Check[] = [
  {
    id: 'listPets.answer',
    behaviour: 'an empty store answers an empty array',
    async run({ send }) {
      const reply = await send({ path: '/v1/pets' })
      assert.deepEqual(reply, { status: 200, headers: demoHeaders(999, 2), body: '[]' })
    },
  },
  {
    id: 'createPet.answer',
    behaviour: '201 with the animal and its id',
    async run({ send }) {
      const body = '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}'
      const reply = await send(post({ name: 'Rex', categoryId: 7, status: 'sold' }))
      assert.deepEqual(reply, { status: 201, headers: demoHeaders(999, 52), body })
    },
  },
  {
    id: 'getPet.answer',
    behaviour: '200 with the animal, and how the operation will go',
    async run({ send }) {
      await send(post(REX))
      const body = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}'
      const reply = await send({ path: '/v1/pets/1' })
      assert.deepEqual(reply, {
        status: 200,
        headers: {
          ...demoHeaders(998, 57),
          link: '</v1/pets>; rel="successor-version"',
          sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
        },
        body,
      })
    },
  },
  {
    id: 'createPet.ids',
    behaviour: 'ids ascend from 1, and a refused body takes none',
    async run({ send }) {
      await send(post(REX))
      await send(post({ name: 'Rex' }))
      assert.equal(petOf(await send(post(REX))).id, 2)
    },
  },
  {
    id: 'createPet.fields',
    behaviour: 'a field that is missing or wrong is 400 and is named',
    async run({ send }) {
      const status = '`status` must be one of available, pending, sold'
      const int64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
      for (const [body, message] of [
        [{ categoryId: 1 }, '`name` is required'],
        [{ name: 'Rex' }, '`categoryId` is required'],
        [{}, '`name` is required; `categoryId` is required'],
        [{ name: 1, categoryId: 1 }, '`name` must be a string'],
        [{ name: null, categoryId: 1 }, '`name` must be a string'],
        [{ name: 'Rex', categoryId: '1' }, `\`categoryId\` ${int64}`],
        [{ name: 'Rex', categoryId: null }, `\`categoryId\` ${int64}`],
        [{ ...REX, status: 'lost' }, status],
        [{ ...REX, status: 'Available' }, status],
        [{ ...REX, status: null }, status],
        [[], 'The body must be a JSON object'],
        ['null', 'The body must be a JSON object'],
        ['"Rex"', 'The body must be a JSON object'],
        ['', 'The body is missing; send a JSON object.'],
        ['{', 'The body is not valid JSON.'],
      ] as const) {
        assertError(await send(post(body)), 400, 'invalid_request', message)
      }
    },
  },
  {
    id: 'status.default',
    behaviour: 'an animal created without a status is available',
    async run({ send }) {
      assert.equal(petOf(await send(post(REX))).status, 'available')
      assert.equal(listOf(await send({ path: '/v1/pets?status=available' })).length, 1)
    },
  },
  {
    id: 'status.default',
    behaviour: 'or has none where the host says so, and then no filter finds it',
    options: () => ({ defaultStatus: null }),
    async run({ send }) {
      assert.deepEqual(petOf(await send(post(REX))), { id: 1, ...REX })
      assert.equal(listOf(await send({ path: '/v1/pets' })).length, 1)
      for (const status of ['available', 'pending', 'sold']) {
        assert.equal((await send({ path: `/v1/pets?status=${status}` })).body, '[]')
      }
    },
  },
  {
    id: 'list.order',
    behaviour: 'ascending id, whatever the status',
    async run(subject) {
      await fill(subject, 12)
      assert.deepEqual(await ids(subject, ''), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
      assert.deepEqual(await ids(subject, '?status=pending&limit=3'), [2, 5, 8])
    },
  },
  {
    id: 'list.limit',
    behaviour: '20 by default, else from 1 to 100',
    async run(subject) {
      await fill(subject, 120)
      assert.equal((await ids(subject, '')).length, 20)
      for (const limit of [1, 2, 99, 100]) {
        assert.equal((await ids(subject, `?limit=${limit}`)).length, limit)
      }
      assert.equal((await ids(subject, '?limit=007')).length, 7)
      assert.equal((await ids(subject, '?%6Cimit=%35')).length, 5)
    },
  },
  {
    id: 'list.limit',
    behaviour: 'anything but digits from 1 to 100, or given twice, is 400',
    async run({ send }) {
      const wrong = '0 101 -1 +1 1.0 1e1 0x7 20abc abc %20%35 5%20 ٣ 1,2 9007199254740993 null'
      for (const limit of [...wrong.split(' '), '', '%', '%zz', '9'.repeat(400)]) {
        const reply = await send({ path: `/v1/pets?limit=${encodeURI(limit).replace('%25', '%')}` })
        assertError(reply, 400, 'invalid_request', '`limit` must be an integer from 1 to 100')
      }
      for (const query of ['limit=5&limit=5', 'limit=5&status=sold&%6cimit=6', 'limit&limit']) {
        const reply = await send({ path: `/v1/pets?${query}` })
        assertError(reply, 400, 'invalid_request', '`limit` must be given once')
      }
      const bare = await send({ path: '/v1/pets?limit' })
      assertError(bare, 400, 'invalid_request', '`limit` must be an integer from 1 to 100')
    },
  },
  {
    id: 'list.status',
    behaviour: 'exactly one of the three, once',
    async run(subject) {
      await fill(subject, 6)
      assert.deepEqual(await ids(subject, '?status=available'), [3, 6])
      assert.deepEqual(await ids(subject, '?status=pending'), [2, 5])
      assert.deepEqual(await ids(subject, '?status=sold'), [1, 4])
      const message = '`status` must be one of available, pending, sold'
      for (const status of ['', 'Sold', 'sold,pending', 'sold%20', 'constructor', '__proto__']) {
        const reply = await subject.send({ path: `/v1/pets?status=${status}` })
        assertError(reply, 400, 'invalid_request', message)
      }
      const twice = await subject.send({ path: '/v1/pets?status=sold&status=sold' })
      assertError(twice, 400, 'invalid_request', '`status` must be given once')
    },
  },
  {
    id: 'list.pagination',
    behaviour: 'off: no header, and `after` is any unknown parameter',
    async run(subject) {
      await fill(subject, 30)
      const { headers } = await subject.send({ path: '/v1/pets?limit=5' })
      assert.equal(headers['link'], undefined)
      assert.equal((await ids(subject, '?after=10'))[0], 1)
      assert.equal((await ids(subject, '?after=x&after=y'))[0], 1)
    },
  },
  {
    id: 'list.pagination',
    behaviour: 'on: the links lead through every animal once, and the last page has none',
    options: () => ({ pagination: true }),
    async run(subject) {
      await fill(subject, 45)
      for (const [start, expected] of [
        ['/v1/pets', 45],
        ['/v1/pets?limit=9', 45],
        ['/v1/pets?limit=45', 45],
        ['/v1/pets?status=sold&limit=4', 15],
      ] as const) {
        const seen: number[] = []
        let path: string | undefined = start
        while (path !== undefined) {
          const reply = await subject.send({ path })
          seen.push(...listOf(reply).map(({ id }) => id))
          path = /^<(.*)>; rel="next"$/.exec(reply.headers['link'] ?? '')?.[1]
        }
        assert.equal(new Set(seen).size, expected, start)
        assert.deepEqual(
          seen,
          seen.toSorted((a, b) => a - b),
        )
      }
      const link = '</v1/pets?limit=4&status=sold&after=10>; rel="next"'
      const first = await subject.send({ path: '/v1/pets?status=sold&limit=4' })
      assert.equal(first.headers['link'], link)
    },
  },
  {
    id: 'list.pagination',
    behaviour: 'on: `after` is digits, once; beyond the last animal the page is empty',
    options: () => ({ pagination: true }),
    async run(subject) {
      await fill(subject, 3)
      assert.deepEqual(await ids(subject, '?after=0'), [1, 2, 3])
      assert.deepEqual(await ids(subject, '?after=2'), [3])
      assert.deepEqual(await ids(subject, `?after=${'9'.repeat(30)}`), [])
      for (const after of ['', '-1', '1.5', 'abc', '9'.repeat(400)]) {
        const reply = await subject.send({ path: `/v1/pets?after=${after}` })
        assertError(reply, 400, 'invalid_request', '`after` must be an integer of at least 0')
      }
      const twice = await subject.send({ path: '/v1/pets?after=1&after=1' })
      assertError(twice, 400, 'invalid_request', '`after` must be given once')
    },
  },
  {
    id: 'query.unknown',
    behaviour: 'unknown parameters are ignored',
    async run(subject) {
      await fill(subject, 2)
      const query = '?offset=1&page=9&Limit=x&&=&=5&%&limit[]=3&__proto__=1&constructor=2'
      assert.deepEqual(await ids(subject, query), [1, 2])
    },
  },
  {
    id: 'query.unknown',
    behaviour: 'unknown body fields, an id too, are neither stored nor answered',
    async run({ send }) {
      const body = '{"id":99,"name":"Rex","categoryId":1,"tag":[1],"__proto__":{"status":"sold"}}'
      const pet = { id: 1, ...REX, status: 'available' }
      assert.deepEqual(petOf(await send(post(body))), pet)
      assert.deepEqual(petOf(await send({ path: '/v1/pets/1' })), pet)
      const inherited = '{"__proto__":{"name":"Rex","categoryId":1e0},"constructor":1e0}'
      assertError(await send(post(inherited)), 400, 'invalid_request')
    },
  },
  {
    id: 'name.bounds',
    behaviour: 'every string comes back exactly',
    async run({ send }) {
      const names = [
        '',
        ' ',
        '\0',
        '\u2028"\\/\n\t',
        '🐈‍⬛',
        '\ud800',
        'a\udc00b',
        '\ufeff',
        '__proto__',
      ]
      for (const name of [
        ...names,
        'é',
        'e\u0301',
        '1e5 12345678901234567890',
        'x'.repeat(100_000),
      ]) {
        const created = petOf(await send(post({ name, categoryId: 1 })))
        assert.equal(created.name, name)
        assert.equal(petOf(await send({ path: `/v1/pets/${created.id}` })).name, name)
      }
    },
  },
  {
    id: 'categoryId.range',
    behaviour: 'every int64 comes back with the same digits',
    async run({ send }) {
      for (const [sent, answered = sent] of [
        ['0'],
        ['-0', '0'],
        ['-1'],
        ['9007199254740991'],
        ['9007199254740993'],
        ['9223372036854775807'],
        ['-9223372036854775808'],
        ['1.0', '1'],
        ['1e3', '1000'],
        ['0.1e1', '1'],
        ['12300e-2', '123'],
        ['9.223372036854775807e18', '9223372036854775807'],
        ['0e99999999999', '0'],
      ] as const) {
        const reply = await send(post(`{"name":"Rex","categoryId":${sent}}`))
        const digits = /"categoryId":(-?\d+),/.exec(reply.body)?.[1]
        assert.deepEqual([sent, reply.status, digits], [sent, 201, answered])
        const [, id = ''] = /"id":(\d+)/.exec(reply.body) ?? []
        assert.equal((await send({ path: `/v1/pets/${id}` })).body, reply.body)
        assert.ok((await send({ path: '/v1/pets?limit=100' })).body.includes(reply.body))
      }
    },
  },
  {
    id: 'categoryId.range',
    behaviour: 'what is not an int64 is 400, never rounded',
    async run({ send }) {
      const million = '9'.repeat(400_000)
      for (const sent of [
        ...['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '-1e400', '1e-400'],
        ...['1e19', '1.00000000000000000001', '9007199254740993.5', '12345678901234567890'],
        ...['true', '[1]', '{}', '"1"', million, `1e${million}`, `1e-${million}`, `0.${million}`],
      ]) {
        const reply = await send(post(`{"name":"Rex","categoryId":${sent}}`))
        assert.equal(reply.status, 400, sent.slice(0, 40))
        assertError(reply, 400, 'invalid_request')
      }
      assert.equal((await send({ path: '/v1/pets' })).body, '[]')
    },
  },
  {
    id: 'petId.form',
    behaviour: 'what is not a stored id is 404',
    async run({ send }) {
      await send(post(REX))
      const forms = '2 0 01 -1 +1 1.0 1.5 1e0 0x1 abc NaN 1%20 %31%30 ١ __proto__ constructor'
      for (const id of [...forms.split(' '), '9223372036854775807', '9'.repeat(300)]) {
        const reply = await send({ path: `/v1/pets/${encodeURI(id).replaceAll('%25', '%')}` })
        assertError(reply, 404, 'not_found', 'There is no pet with this id.')
      }
      assert.equal(petOf(await send({ path: '/v1/pets/%31' })).id, 1)
    },
  },
]

interface Answered {
  readonly id: number
  readonly name: string
  readonly status?: string
}

function petOf({ body }: Reply): Answered {
  return JSON.parse(body) as Answered
}

function listOf(reply: Reply): Answered[] {
  assert.equal(reply.status, 200, reply.body)
  return JSON.parse(reply.body) as Answered[]
}

async function ids({ send }: Subject, query: string): Promise<number[]> {
  return listOf(await send({ path: `/v1/pets${query}` })).map(({ id }) => id)
}

/** Animals 1, 4, 7, … sold; 2, 5, 8, … pending; 3, 6, 9, … available. */
async function fill({ store }: Subject, count: number): Promise<void> {
  const statuses = ['available', 'sold', 'pending'] as const
  for (let n = 1; n <= count; n++) {
    await store.createPet({ name: `Pet ${n}`, categoryId: n, status: statuses[n % 3] })
  }
}
