import { memoryStorage } from '../../adapters/stores/memory.js'
import { createStore } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'

/** Empty, with the key `demo`, at a time that stands still. */
export function openStore() {
  return createStore({
    storage: memoryStorage(),
    apiKeys: { demo: { id: 'demo', plan: 'business' } },
    clock: () => T0,
  })
}
