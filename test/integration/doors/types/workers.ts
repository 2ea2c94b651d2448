import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })

interface Env {
  readonly KEYS: KVNamespace
}

export default {
  fetch: toFetchHandler(store, {
    client: request => request.headers.get('cf-connecting-ip') ?? undefined,
  }),
} satisfies ExportedHandler<Env>
