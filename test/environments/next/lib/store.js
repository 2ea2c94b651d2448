import { createStore } from 'animal-adoption-store'
import { jsonFileStorage } from 'animal-adoption-store/json-file'

// Evaluated by each route, page and worker of the build, and again after an edit.
export const store = createStore({
  storage: jsonFileStorage(`${process.cwd()}/pets.json`),
  apiKeys: { 'demo-free': { id: 'demo-free', plan: 'business' } },
})
