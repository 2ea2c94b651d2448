import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })

const server: Bun.Server<undefined> = Bun.serve({
  fetch: toFetchHandler(store, { client: request => server.requestIP(request)?.address }),
})
