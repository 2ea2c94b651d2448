import type { PetSnapshot } from '../../../src/ports.js'
import { numbered } from '../../test-double/animals.js'

/** By category, from 1: dogs, cats, rabbits, birds, small rodents, reptiles, horses and donkeys. */
const NAMES = [
  ['Biscuit', 'Rufus', 'Olive', 'Daisy', 'Bruno', 'Poppy', 'Gus', 'Scout', 'Waffles', 'Maple'],
  ['Miss Moneypenny', 'Søren', 'Luna', 'Mochi', 'Old Tom', 'Zoë', 'Marmalade', 'Nala', 'Pepper'],
  ['Clover', 'Thumper', 'Juniper', 'Fern', 'Sage', 'Sir Hops'],
  ['Captain Beaky', 'Mango', 'Chai', 'Kiwi', 'Tweety Pie'],
  ['Nibbles', 'Pumpernickel', 'Hazel', 'Fig', 'Domino'],
  ['Speedy', 'Ziggy', 'Pebble'],
  ['Willow', 'Barnaby', 'Otis'],
]

const STATUSES = ['available', 'sold', 'available', 'pending'] as const

export function demoAnimals(): PetSnapshot {
  const animals = NAMES.flatMap((names, at) => names.map(name => ({ name, categoryId: at + 1 })))
  return numbered(animals.map((pet, at) => ({ ...pet, status: STATUSES[at % STATUSES.length] })))
}
