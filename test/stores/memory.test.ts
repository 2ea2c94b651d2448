import assert from 'node:assert/strict'
import test from 'node:test'
import { jsonFileStorage } from '../../adapters/stores/json-file/index.js'
import { storageSuite } from '../../adapters/stores/kit/suite.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { once } from './kit/once.js'

storageSuite(test, { create: memoryStorage, idempotency: true })

test('memory - an array of animals is not taken for all that a storage holds', async () => {
  const message = 'Expected all that a storage holds: { pets: [{ id, … }], nextId }'
  const pets = [{ name: 'Rex', categoryId: 1 }] as never
  assert.throws(() => memoryStorage(pets), { name: 'TypeError', message })
  await assert.rejects(jsonFileStorage('never-opened.json').restoreIfNew(pets), {
    name: 'TypeError',
    message,
  })
})

test('memory - rejects a snapshot with an unknown status and changes nothing', async () => {
  const storage = memoryStorage()
  const lost = { id: 1, name: 'Rex', categoryId: 1, status: 'lost' as 'sold' }
  const rule = { name: 'RangeError', message: /Expected a status of .*, got lost/ }
  assert.throws(() => memoryStorage({ pets: [lost], nextId: 2 }), rule)
  await assert.rejects(async () => storage.restore({ pets: [lost], nextId: 2 }), rule)
  await assert.rejects(async () => storage.insert(lost), rule)
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
})

test('memory - drops expired keys while others are added', async () => {
  const storage = memoryStorage()
  const use = (number: number) =>
    storage.insertOnce?.({ name: 'Rex', categoryId: 1 }, once(`k${number}`, number + 500), number)
  for (let number = 0; number < 10_000; number++) await use(number)
  const { idempotencyKeys = [] } = await storage.dump()
  assert.ok(idempotencyKeys.length <= 1_500, `${idempotencyKeys.length} keys are kept`)
  assert.equal((await use(9_999))?.pet.id, 10_000)
  assert.equal(idempotencyKeys.at(-1)?.idempotencyKey, 'k9999')
})
