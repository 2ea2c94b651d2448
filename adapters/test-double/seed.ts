import { invalidRequest } from '../../src/errors.js'
import { lazy } from '../../src/lazy.js'
import type { NewPet, Pet } from '../../src/model.js'
import type { Pets } from '../../src/pets.js'

const model = lazy(() => import('../../src/model.js'))

/** Creates all of the animals in their order, or none. @throws ApiError `invalid_request` */
export async function seedAll(pets: Pets, animals: readonly NewPet[]): Promise<readonly Pet[]> {
  if (!Array.isArray(animals)) throw invalidRequest('The animals must be an array.')
  const { describeIssues, newPetSchema } = await model()
  for (const [at, animal] of animals.entries()) {
    const parsed = newPetSchema.safeParse(animal)
    if (parsed.success) continue
    throw invalidRequest(`Animal ${at + 1}: ${describeIssues(parsed.error, animal)}`)
  }
  return Promise.all(animals.map(animal => pets.createPet(animal)))
}
