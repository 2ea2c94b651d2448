import { createStore } from 'animal-adoption-store'
import { verifySuite } from 'animal-adoption-store/verify'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'
import { test } from 'vitest'

const store = createStore({
  storage: memoryStorage(),
  apiKeys: { s3cret: { id: 'ci', plan: 'business' } },
})

verifySuite(test, {
  baseUrl: 'http://pets.test/v1',
  apiKey: 's3cret',
  fetch: toFetchHandler(store),
})
