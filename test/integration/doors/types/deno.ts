import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })

Deno.serve(toFetchHandler(store))
