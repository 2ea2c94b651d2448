// Serves the page and the API below /v1, with or without a network.
import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { indexedDbRateLimitStore, indexedDbStorage } from 'animal-adoption-store/indexeddb'

const store = createStore({
  storage: indexedDbStorage('adoption'),
  rateLimitStore: indexedDbRateLimitStore('adoption'),
  // Opening the database may take longer than the default on a slow phone.
  rateLimitStoreTimeout: 2_500,
  apiKeys: { 'demo-pro': { id: 'demo-pro', plan: 'pro' } },
})
const api = toFetchHandler(store)

// The files that a page needs without a network. A new name replaces all of them.
const CACHE = 'site-1'
const SITE = ['./', 'page.mjs']

addEventListener('install', event => {
  event.waitUntil(caches.open(CACHE).then(cache => cache.addAll(SITE)))
  skipWaiting()
})

addEventListener('activate', event => {
  event.waitUntil(deleteOldCaches().then(() => clients.claim()))
})

addEventListener('fetch', event => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (origin !== location.origin) return
  const isApi = pathname.startsWith(`${store.basePath}/`)
  event.respondWith(isApi ? api(request) : fromCache(request))
})

async function fromCache(request) {
  return (await caches.match(request)) ?? fetch(request)
}

async function deleteOldCaches() {
  const names = await caches.keys()
  await Promise.all(names.filter(name => name !== CACHE).map(name => caches.delete(name)))
}
