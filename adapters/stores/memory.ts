import type { PetSnapshot, PetStorage } from '../../src/ports.js'
import { createPetIndex } from './kit/pet-index.js'

export { memoryRateLimitStore } from '../../src/limits/memory-rate-limits.js'

/**
 * Keeps pets in this process, for as long as it lives.
 * @throws RangeError for a duplicate id, an id not below `nextId`, or an unknown status
 * @example
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const storage = memoryStorage()
 * const rex = await storage.insert({ name: 'Rex', categoryId: 1, status: 'available' })
 * console.log(rex.id) // prints 1
 */
export function memoryStorage(begin?: PetSnapshot): PetStorage {
  let index = createPetIndex(begin)

  return {
    insert: pet => index.insert(pet),
    insertOnce: (pet, once, now) => index.findOnce(once, now) ?? index.insertOnce(pet, once, now),
    find: id => index.find(id),
    list: filter => index.list(filter),
    dump: () => index.dump(),
    restore(snapshot) {
      index = createPetIndex(snapshot)
    },
  }
}
