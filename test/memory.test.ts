import assert from 'node:assert/strict'
import test from 'node:test'
import { memoryStorage } from '../adapters/memory.js'
import { storageSuite } from '../adapters/storage-suite.js'

storageSuite(test, { create: memoryStorage })

test('memory - rejects a snapshot with an unknown status and changes nothing', async () => {
  const storage = memoryStorage()
  const lost = { id: 1, name: 'Rex', categoryId: 1, status: 'lost' as 'sold' }
  const rule = { name: 'RangeError', message: /Expected a status of .*, got lost/ }
  assert.throws(() => memoryStorage({ pets: [lost], nextId: 2 }), rule)
  await assert.rejects(async () => storage.restore({ pets: [lost], nextId: 2 }), rule)
  await assert.rejects(async () => storage.insert(lost), rule)
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
})
