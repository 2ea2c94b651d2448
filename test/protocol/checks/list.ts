import assert from 'node:assert/strict'
import { assertError, type Checks, demoHeaders, listOf, type Subject } from './check.js'

/** `listPets` (spec §4.1). */
export const listChecks: Checks = {
  async 'listPets.answer - an empty store returns an empty array'({ send }) {
    const reply = await send({ path: '/v1/pets' })
    assert.deepEqual(reply, { status: 200, headers: demoHeaders(999, 2), body: '[]' })
  },
  async 'list.order - sorted by ascending id, whatever the status'(subject) {
    await fill(subject, 12)
    assert.deepEqual(await ids(subject, ''), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    assert.deepEqual(await ids(subject, '?status=pending&limit=3'), [2, 5, 8])
  },
  async 'list.limit - 20 by default, otherwise 1 to 100'(subject) {
    await fill(subject, 120)
    assert.equal((await ids(subject, '')).length, 20)
    for (const limit of [1, 2, 99, 100]) {
      assert.equal((await ids(subject, `?limit=${limit}`)).length, limit)
    }
    assert.equal((await ids(subject, '?limit=007')).length, 7)
    assert.equal((await ids(subject, '?%6Cimit=%35')).length, 5)
  },
  async 'list.limit - anything but digits from 1 to 100, once, is 400'({ send }) {
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
  async 'list.status - exactly one of the three values, once'(subject) {
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
  async 'list.pagination - off: no Link header, and `after` is ignored as unknown'(subject) {
    await fill(subject, 30)
    const { headers } = await subject.send({ path: '/v1/pets?limit=5' })
    assert.equal(headers['link'], undefined)
    assert.equal((await ids(subject, '?after=10'))[0], 1)
    assert.equal((await ids(subject, '?after=x&after=y'))[0], 1)
  },
  'list.pagination - on: the links visit every animal once, and the last page has none': {
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
          const next = /^<(.*)>; rel="next"$/.exec(reply.headers['link'] ?? '')?.[1]
          path = next && `/v1/${next}`
        }
        assert.equal(new Set(seen).size, expected, start)
        assert.deepEqual(
          seen,
          seen.toSorted((a, b) => a - b),
        )
      }
      const link = '<pets?limit=4&status=sold&after=10>; rel="next"'
      const first = await subject.send({ path: '/v1/pets?status=sold&limit=4' })
      assert.equal(first.headers['link'], link)
    },
  },
  'list.pagination - on: `after` is digits, once; beyond the last animal the page is empty': {
    options: () => ({ pagination: true }),
    async run(subject) {
      await fill(subject, 3)
      assert.deepEqual(await ids(subject, '?after=0'), [1, 2, 3])
      assert.deepEqual(await ids(subject, '?after=2'), [3])
      for (const after of ['9223372036854775807', '9'.repeat(30)]) {
        assert.deepEqual(await ids(subject, `?after=${after}`), [])
      }
      for (const after of ['', '-1', '1.5', 'abc', '9'.repeat(400)]) {
        const reply = await subject.send({ path: `/v1/pets?after=${after}` })
        assertError(reply, 400, 'invalid_request', '`after` must be an integer of at least 0')
      }
      const twice = await subject.send({ path: '/v1/pets?after=1&after=1' })
      assertError(twice, 400, 'invalid_request', '`after` must be given once')
    },
  },
  async 'query.unknown - unknown parameters are ignored'(subject) {
    await fill(subject, 2)
    const query = '?offset=1&page=9&Limit=x&&=&=5&%&limit[]=3&__proto__=1&constructor=2'
    assert.deepEqual(await ids(subject, query), [1, 2])
  },
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
