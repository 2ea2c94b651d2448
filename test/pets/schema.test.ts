import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createStore, type NewPet, type Pet, type PetStatus, type Store } from '../../src/index.js'
import { petSchema } from '../../src/pets/schema.js'
import { anyCodePoint } from '../support/any-text.js'

type Model = { pets: Pet[]; nextId: number }
type Command = fc.AsyncCommand<Model, { store: Store }>

const name = fc.string({ unit: anyCodePoint, maxLength: 8 })
const status = fc.constantFrom<PetStatus>('available', 'pending', 'sold')
const categoryId = fc.oneof(
  fc.maxSafeInteger(),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map(id => (Number.isSafeInteger(Number(id)) ? Number(id) : id)),
)

const create = fc.tuple(name, categoryId, fc.option(status, { nil: undefined })).map(
  ([name, categoryId, status]): Command => ({
    check: () => true,
    async run(model, { store }) {
      const pet = { id: model.nextId++, name, categoryId, status: status ?? 'available' } as const
      model.pets.push(pet)
      const input: NewPet =
        status === undefined ? { name, categoryId } : { name, categoryId, status }
      assert.deepEqual(await store.createPet(input), pet)
    },
    toString: () => `create ${JSON.stringify(name)} ${categoryId} ${status}`,
  }),
)

const refuse = fc
  .constantFrom({ name: 1 }, { name: 'x', categoryId: 2n ** 63n }, { name: 'x', categoryId: 0.5 })
  .map(
    (input): Command => ({
      check: () => true,
      async run(_model, { store }) {
        await assert.rejects(store.createPet(input as never), { code: 'invalid_request' })
      },
      toString: () => 'refuse',
    }),
  )

const list = fc
  .record({
    limit: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
    status: fc.option(status, { nil: undefined }),
    after: fc.option(fc.nat(60), { nil: undefined }),
  })
  .map(
    (query): Command => ({
      check: () => true,
      async run({ pets }, { store }) {
        const { limit = 20, status, after = 0 } = query
        const expected = pets
          .filter(pet => pet.id > after && (status === undefined || pet.status === status))
          .slice(0, limit)
        assert.deepEqual(await store.listPets(query), expected)
      },
      toString: () => `list ${JSON.stringify(query)}`,
    }),
  )

const get = fc.integer({ min: -1, max: 60 }).map(
  (id): Command => ({
    check: () => true,
    async run({ pets }, { store }) {
      const expected = pets.find(pet => pet.id === id)
      if (expected) assert.deepEqual(await store.getPet(id), expected)
      else await assert.rejects(store.getPet(BigInt(id)), { code: 'not_found' })
    },
    toString: () => `get ${id}`,
  }),
)

test('store - behaves like a plain array under any sequence of operations', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.commands([create, create, refuse, list, get], { size: '+1' }),
      async commands => {
        await fc.asyncModelRun(
          () => ({
            model: { pets: [], nextId: 1 },
            real: {
              store: createStore({
                storage: memoryStorage(),
                apiKeys: {},
                pagination: true,
                clock: () => 0,
              }),
            },
          }),
          commands,
        )
      },
    ),
    { seed: 20_301_205, numRuns: 100 },
  )
})

test('createPet - a number beyond 2 ** 53 as categoryId is rejected, asking for a bigint', async () => {
  const store = createStore({ storage: memoryStorage(), apiKeys: {} })
  await assert.rejects(store.createPet({ name: 'Rex', categoryId: 2 ** 60 }), {
    code: 'invalid_request',
    message: '`categoryId` must be a bigint beyond 9007199254740991, such as 1152921504606846976n',
  })
  for (const categoryId of [2 ** 63, 1.5, Infinity]) {
    await assert.rejects(store.createPet({ name: 'Rex', categoryId }), /must be an integer from -9/)
  }
  const rule = '`categoryId` must be an integer from -9223372036854775808 to 9223372036854775807'
  for (const [categoryId, message] of [
    [9223372036854776000n, `${rule}, got 9223372036854776000, which looks rounded`],
    [9223372036854775808n, `${rule}, got 9223372036854775808`],
  ] as const) {
    await assert.rejects(store.createPet({ name: 'Rex', categoryId }), { message })
  }
})

test('petSchema - requires a positive safe integer id, a name and a categoryId', () => {
  const pet = { id: 1, name: '', categoryId: 0 }
  const isValid = (value: unknown) => petSchema.safeParse(value).success
  for (const id of [1, Number.MAX_SAFE_INTEGER]) assert.ok(isValid({ ...pet, id }), String(id))
  for (const id of [0, -1, 1.5, 2 ** 53, '1', 1n]) assert.ok(!isValid({ ...pet, id }), String(id))
  assert.ok(isValid({ ...pet, status: 'sold' }))
  assert.ok(!isValid({ ...pet, status: undefined }))
  assert.ok(!isValid({ id: 1, name: '' }))
})

test('schema - an app that sets its own zod to German changes no message, and finds only its schemas', async () => {
  const app = await import('zod')
  const double = createTestDouble()
  const damaged = JSON.parse(JSON.stringify(await double.snapshot()))
  damaged.nextId = '1'
  const { localeError } = app.config()
  app.config(app.locales.de())
  const name = app.string().meta({ id: 'Name' })
  try {
    assert.match(app.string().safeParse(1).error?.message ?? '', /Ungültige Eingabe/)
    await assert.rejects(double.pets.createPet({ name: 'Rex' } as never), {
      message: '`categoryId` is required',
    })
    await assert.rejects(async () => double.restore(damaged), {
      message: 'Not a snapshot: `nextId` Invalid input: expected number, received string',
    })
    assert.deepEqual(Object.keys(app.toJSONSchema(app.globalRegistry).schemas), ['Name'])
  } finally {
    app.globalRegistry.remove(name)
    app.config({ localeError })
  }
})
