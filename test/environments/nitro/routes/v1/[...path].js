import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { jsonFileStorage } from 'animal-adoption-store/json-file'

const handler = toFetchHandler(
  createStore({
    storage: jsonFileStorage('pets.json'),
    apiKeys: { 'demo-free': { id: 'demo-free', plan: 'business' } },
  }),
)

export default defineEventHandler(event => handler(toWebRequest(event)))
