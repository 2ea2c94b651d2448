import type { PetSnapshot } from '../../src/ports.js'

/** Animals that a careless client misreads: `pets` of a double, and `--seed edge`. */
export const EDGE_ANIMALS: PetSnapshot = {
  pets: [
    { id: 1, name: 'The largest int64', categoryId: 2n ** 63n - 1n, status: 'available' },
    { id: 2, name: 'The smallest int64', categoryId: -(2n ** 63n), status: 'pending' },
    { id: 3, name: 'An int64 that no double holds', categoryId: 2n ** 53n + 1n, status: 'sold' },
    { id: 4, name: 'No status', categoryId: 0 },
    { id: 5, name: '', categoryId: 1, status: 'available' },
    { id: 6, name: 'Long'.repeat(1_000), categoryId: 2, status: 'available' },
    { id: 7, name: '🐕‍🦺 Zoë & "Søren" <b>\\\u2028', categoryId: 3, status: 'available' },
  ],
  nextId: 8,
}
