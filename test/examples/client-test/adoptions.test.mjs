// Tests a client against the test double, without a network or a real wait: node --test
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createTestDouble } from 'animal-adoption-store/test-double'
import { createAdoptions } from './adoptions.mjs'

const double = createTestDouble()
const adoptions = createAdoptions({
  baseUrl: double.baseUrl,
  apiKey: 'demo-free',
  fetch: double.fetch,
  wait: async ms => double.clock.advance(ms),
})

beforeEach(() => double.reset())

test('lists what is available', async () => {
  await double.seed([
    { name: 'Ada', categoryId: 1 },
    { name: 'Rex', categoryId: 1, status: 'sold' },
  ])
  const names = (await adoptions.available()).map(animal => animal.name)
  assert.deepEqual(names, ['Ada'])
})

test('registers an animal', async () => {
  const id = await adoptions.register({ name: 'Ada', categoryId: 1 })
  assert.equal((await double.pets.getPet(id)).name, 'Ada')
})

test('shows what the server says about invalid input', async () => {
  await assert.rejects(adoptions.register({ name: 'Ada' }), /categoryId/)
})

test('waits out an exhausted limit, as the server asks', async () => {
  for (let count = 0; count < 61; count++) await adoptions.available()
  assert.equal(double.requests({ status: 429 }).length, 1)
  assert.deepEqual(double.report().findings, [])
})

test('does not hide a lost response', async () => {
  double.faults.arm({ kind: 'reset', operation: 'createPet' })
  await assert.rejects(adoptions.register({ name: 'Ada', categoryId: 1 }), /fetch failed/)
})
