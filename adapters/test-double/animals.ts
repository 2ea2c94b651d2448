import { toPet } from '../../src/pets/pet.js'
import { describeIssues, type NewPet, newPetSchema } from '../../src/pets/schema.js'
import type { PetSnapshot } from '../../src/ports.js'

export function numbered(pets: readonly NewPet[]): PetSnapshot {
  return { pets: pets.map((pet, at) => toPet(at + 1, pet)), nextId: pets.length + 1 }
}

/** @param refuse returns the error for a problem, given in one sentence */
export function readAnimals(given: unknown, refuse: (problem: string) => Error): NewPet[] {
  if (!Array.isArray(given)) throw refuse(NO_ARRAY)
  return Array.from(given, (animal, at) => {
    const parsed = newPetSchema.safeParse(animal)
    const subject = `Animal ${at + 1}:`
    if (!parsed.success) throw refuse(`${subject} ${describeIssues(parsed.error, animal, 'it')}`)
    if (Object.hasOwn(animal, 'id')) throw refuse(`${subject} ${HAS_ID}`)
    return parsed.data
  })
}

const WITH_IDS = 'animals with ids are for `createTestDouble({ snapshot: { pets, nextId } })`'
const NO_ARRAY = `The animals must be an array, such as [{"name":"Ada","categoryId":1}]; ${WITH_IDS}`
const HAS_ID = `leave out \`id\`, which the double assigns; ${WITH_IDS}`
