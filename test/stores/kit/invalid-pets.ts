import assert from 'node:assert/strict'
import type { PetStorage } from '../../../src/ports.js'

const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const
const INVALID = [
  { name: 5 },
  { status: 'lost' },
  { categoryId: 1.5 },
  { categoryId: 2n ** 63n },
  { categoryId: '1' },
]

/** Of inserts that come together, those of invalid animals are rejected by their rules, and the others are stored. */
export async function rejectsInvalidPets(storage: PetStorage): Promise<void> {
  const pets = [REX, ...INVALID.map(wrong => ({ ...REX, ...wrong }) as never), REX]
  const inserts = await Promise.allSettled(pets.map(async pet => storage.insert(pet)))
  const rules = inserts.map(insert =>
    insert.status === 'rejected' ? /^`\w+` must be/.exec(insert.reason.message)?.[0] : 'stored',
  )
  const expected = INVALID.map(wrong => `\`${Object.keys(wrong)}\` must be`)
  assert.deepEqual(rules, ['stored', ...expected, 'stored'])
  const stored = [1, 2].map(id => ({ id, ...REX }))
  assert.deepEqual((await storage.dump()).pets, stored)
  const damaged = { pets: [{ id: 1, ...REX, categoryId: 0.5 }], nextId: 2 }
  await assert.rejects(async () => storage.restore(damaged), /`categoryId` must be/)
  assert.deepEqual((await storage.dump()).pets, stored)
}
