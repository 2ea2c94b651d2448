import { createStore } from 'animal-adoption-store'
import { conformance } from 'animal-adoption-store/conformance'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'
import { test } from '@jest/globals'

const store = createStore({
  storage: memoryStorage(),
  apiKeys: { s3cret: { id: 'ci', plan: 'business' } },
})

conformance(test, {
  baseUrl: 'http://pets.test/v1',
  apiKey: 's3cret',
  fetch: toFetchHandler(store),
})
