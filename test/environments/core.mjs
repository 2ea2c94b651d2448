// The entry points that need nothing of Node.
export { createStore } from 'animal-adoption-store'
export { createClient } from 'animal-adoption-store/client'
export { toFetchHandler } from 'animal-adoption-store/fetch'
export { judge } from 'animal-adoption-store/judge'
export { memoryStorage } from 'animal-adoption-store/memory'
export { createTestDouble } from 'animal-adoption-store/test-double'
