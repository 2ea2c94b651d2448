import { createStore as createPureStore, type Store, type StoreOptions } from '../src/store.js'
import { reportListenerError } from './warnings.js'

export * from '../src/index.js'

/**
 * Creates the store: pets over a storage, for the host, for API keys, and as the whole protocol.
 *
 * @throws OptionError naming the invalid option and its value
 *
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 *
 * const storage = memoryStorage()
 * const store = createStore({ storage, apiKeys: { s3cret: { id: 'web', plan: 'pro' } } })
 * await store.forKey('s3cret').createPet({ name: 'Rex', categoryId: 1 })
 */
export function createStore(options: StoreOptions): Store {
  return createPureStore(options, reportListenerError)
}
