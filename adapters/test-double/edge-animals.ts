import type { NewPet } from '../../src/pets/schema.js'

/** Animals that careless clients misread, for the option `pets` and `--seed edge`. */
export const EDGE_ANIMALS: readonly NewPet[] = [
  { name: 'The largest int64', categoryId: 2n ** 63n - 1n, status: 'available' },
  { name: 'The smallest int64', categoryId: -(2n ** 63n), status: 'pending' },
  { name: 'An int64 that no double holds', categoryId: 2n ** 53n + 1n, status: 'sold' },
  { name: 'Given no status', categoryId: 0 },
  { name: '', categoryId: 1, status: 'available' },
  { name: 'Long'.repeat(1_000), categoryId: 2, status: 'available' },
  { name: '🐕‍🦺 Zoë & "Søren" <b>\\\u2028', categoryId: 3, status: 'available' },
]
