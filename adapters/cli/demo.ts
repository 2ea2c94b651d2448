import type { PetStatus } from '../../src/pets/specification.js'
import type { PetSnapshot } from '../../src/ports.js'

/**
 * Category 1 dogs, 2 cats, 3 rabbits, 4 birds, 5 small rodents, 6 reptiles, 7 horses and donkeys.
 */
const ANIMALS: readonly (readonly [name: string, categoryId: number, status: PetStatus])[] = [
  ['Biscuit', 1, 'available'],
  ['Miss Moneypenny', 2, 'available'],
  ['Clover', 3, 'pending'],
  ['Rufus', 1, 'sold'],
  ['Pepper', 2, 'available'],
  ['Captain Beaky', 4, 'available'],
  ['Nibbles', 5, 'sold'],
  ['Olive', 1, 'available'],
  ['Søren', 2, 'pending'],
  ['Thumper', 3, 'available'],
  ['Speedy', 6, 'available'],
  ['Daisy', 1, 'pending'],
  ['Mango', 4, 'sold'],
  ['Luna', 2, 'available'],
  ['Pumpernickel', 5, 'available'],
  ['Bruno', 1, 'available'],
  ['Mochi', 2, 'sold'],
  ['Juniper', 3, 'available'],
  ['Old Tom', 2, 'available'],
  ['Willow', 7, 'available'],
  ['Ziggy', 6, 'pending'],
  ['Poppy', 1, 'sold'],
  ['Chai', 2, 'available'],
  ['Kiwi', 4, 'available'],
  ['Hazel', 5, 'pending'],
  ['Fern', 3, 'sold'],
  ['Otis', 1, 'available'],
  ['Zoë', 2, 'available'],
  ['Gus', 1, 'pending'],
  ['Pebble', 6, 'available'],
  ['Marmalade', 2, 'pending'],
  ['Barnaby', 7, 'sold'],
  ['Sage', 3, 'available'],
  ['Fig', 5, 'available'],
  ['Scout', 1, 'available'],
  ['Tweety Pie', 4, 'pending'],
  ['Nala', 2, 'sold'],
  ['Waffles', 1, 'available'],
  ['Sir Hops', 3, 'pending'],
  ['Domino', 5, 'available'],
  ['Maple', 1, 'available'],
]

export function demoAnimals(): PetSnapshot {
  const pets = ANIMALS.map(([name, categoryId, status], at) => ({
    id: at + 1,
    name,
    categoryId,
    status,
  }))
  return { pets, nextId: pets.length + 1 }
}
