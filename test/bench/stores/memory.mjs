import { memoryStorage } from '../../../dist/adapters/stores/memory.js'

/** The storage alone, comparable to the libraries: no validation, no await. */
export function open(animals) {
  const storage = memoryStorage({ pets: animals, nextId: animals.length + 1 })
  return {
    list: status => storage.list({ status, limit: 20 }),
    get: id => storage.find(id),
    create: animal => storage.insert(animal),
  }
}
