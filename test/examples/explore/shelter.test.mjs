// The tests of the client: each fault that its author thought of, and all of them pass: node --test
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createTestDouble } from 'animal-adoption-store/test-double'
import { createShelter } from './shelter.mjs'

const double = createTestDouble()
const { baseUrl, fetch } = double
const shelter = createShelter({ baseUrl, apiKey: 'demo-free', fetch, sleep: double.clock.sleep })
const ada = { name: 'Ada', categoryId: 1 }

beforeEach(() => double.reset())

for (const [what, fault] of [
  ['a connection that is cut', { kind: 'reset' }],
  ['a body that is cut', { kind: 'truncate' }],
  ['a server that is down', { kind: 'status', status: 503 }],
  ['a server that fails after it has stored', { kind: 'status', status: 503, when: 'after' }],
  ['a limit', { kind: 'status', status: 429, retryAfter: 30 }],
  ['a server that never responds', { kind: 'hang' }],
]) {
  test(`registers once through ${what}`, async () => {
    double.faults.arm({ ...fault, times: 3 })
    const registered = await double.run(() => shelter.register(ada))
    assert.deepEqual(await double.pets.listPets(), [registered])
    assert.deepEqual(double.report().findings, [])
  })
}
