// An adoption site with a store inside: a page at /, and the API below /v1 for partners.
import { createServer } from 'node:http'
import { createStore } from 'animal-adoption-store'
import { toNodeHandler } from 'animal-adoption-store/http'
import { memoryStorage } from 'animal-adoption-store/memory'

const store = createStore({
  storage: memoryStorage(),
  apiKeys: { s3cret: { id: 'partner', plan: 'pro' } },
})
const api = toNodeHandler(store)

// The site itself needs no key and has no limits.
await store.createPet({ name: 'Ada', categoryId: 1 })
await store.createPet({ name: 'Rex & Tom', categoryId: 2 })

const server = createServer(async (request, response) => {
  if (request.url.startsWith(store.basePath)) return api(request, response)
  if (request.url !== '/') return response.writeHead(404).end()
  const pets = await store.listPets({ status: 'available' })
  response.setHeader('Content-Type', 'text/html; charset=utf-8')
  response.end(page(pets.map(pet => pet.name)))
})

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`)
})

function page(names) {
  const items = names.map(name => `<li>${escapeHtml(name)}</li>`)
  return `<!doctype html><title>Adopt</title><h1>Waiting for you</h1><ul>${items.join('')}</ul>`
}

function escapeHtml(text) {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
