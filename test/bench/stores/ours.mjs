import { memoryStorage } from '../../../dist/adapters/stores/memory.js'
import { createStore } from '../../../dist/src/index.js'

/** The public operations, awaited, with validation. */
export async function open(animals) {
  const storage = memoryStorage()
  await storage.restore({ pets: animals, nextId: animals.length + 1 })
  const store = createStore({ storage, apiKeys: {} })
  return {
    list: status => store.listPets({ status, limit: 20 }),
    get: id => store.getPet(id),
    create: animal => store.createPet(animal),
  }
}
