import { parseJson } from '../../../src/lib/json.js'
import { createPetOperations } from '../../../src/pets/operations.js'
import { memoryStorage } from '../../memory.js'

/**
 * Has the parsers loaded, which happens with the first create: from then on, a request has its effect
 * as soon as it arrives, before anything else can happen.
 */
export async function warmUp(): Promise<void> {
  const settings = { defaultStatus: null, sunset: null, idempotency: null }
  const { createPet } = createPetOperations({ storage: memoryStorage(), ...settings }, () => {})
  await createPet({ name: '', categoryId: 0 })
  parseJson(`${2n ** 62n}`)
}
