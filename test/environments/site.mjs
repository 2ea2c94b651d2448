// Serves the cases and the offline page to browsers, which report to it, and a store to all.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createStore } from 'animal-adoption-store'
import { toNodeHandler } from 'animal-adoption-store/http'
import { memoryStorage } from 'animal-adoption-store/memory'
import { build } from 'esbuild'

export const bundled = async options =>
  (await build({ bundle: true, write: false, format: 'esm', logLevel: 'error', ...options }))
    .outputFiles[0].text

export async function startSite(example) {
  const SCRIPTS = {
    '/program.mjs': await bundled({ entryPoints: ['browser.mjs'] }),
    '/page.mjs': PAGE,
    '/worker.mjs': `import { run } from './program.mjs'
      run().then(outcome => postMessage(outcome))`,
    '/service.mjs': `import { run } from './program.mjs'
      addEventListener('install', () => skipWaiting())
      addEventListener('activate', event => event.waitUntil(clients.claim()))
      addEventListener('fetch', event => {
        if (event.request.url.endsWith('/outcome'))
          event.respondWith(run().then(outcome => Response.json(outcome)))
      })`,
    '/offline/page.mjs': readFileSync(`${example}/public/page.mjs`, 'utf8'),
    '/offline/service-worker.js': await bundled({
      stdin: {
        contents: readFileSync(`${example}/service-worker.mjs`, 'utf8'),
        resolveDir: import.meta.dirname,
      },
      format: 'iife',
    }),
  }
  const apiKeys = { 'demo-free': { id: 'demo-free', plan: 'business' } }
  // Every environment calls twice without a key, from one address.
  const plans = { anonymous: { perMinute: 10_000, perDay: 10_000 } }
  const store = toNodeHandler(createStore({ storage: memoryStorage(), apiKeys, plans, cors: true }))
  let report = () => {}
  const server = createServer((request, response) => {
    const script = SCRIPTS[request.url]
    if (request.url === '/report') {
      let text = ''
      request.on('data', part => {
        text += part
      })
      request.on('end', () => report(JSON.parse(text)))
      return response.end()
    }
    if (request.url.startsWith('/v1')) return store(request, response)
    // As a proxy does that takes a prefix away.
    if (request.url.startsWith('/prefix/')) {
      request.url = request.url.slice('/prefix'.length)
      return store(request, response)
    }
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript')
    if (request.url === '/offline/')
      return response.end(readFileSync(`${example}/public/index.html`))
    response.end(
      script ?? '<!doctype html><title>Cases</title><script type=module src=/page.mjs></script>',
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    reported: () => new Promise(resolve => (report = resolve)),
    close: () => server.close() && server.closeAllConnections(),
  }
}

/** Runs the cases in three places, then fills in the form of the offline page. */
const PAGE = `import { run } from './program.mjs'
// First, as the Service Worker of the cases would take this page over.
const places = { offline, page: run, worker: inWorker, 'Service Worker': inServiceWorker }
const outcomes = {}
for (const [place, start] of Object.entries(places)) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('hangs')), 60_000))
  outcomes[place] = await Promise.race([start(), late]).catch(error => ({ failed: [String(error)] }))
}
await fetch('/report', { method: 'POST', body: JSON.stringify(outcomes) })

function inWorker() {
  return new Promise(resolve => {
    new Worker('/worker.mjs', { type: 'module' }).onmessage = ({ data }) => resolve(data)
  })
}

async function inServiceWorker() {
  const controlled = new Promise(resolve =>
    navigator.serviceWorker.addEventListener('controllerchange', resolve),
  )
  await navigator.serviceWorker.register('/service.mjs', { type: 'module' })
  await controlled
  return (await fetch('/outcome')).json()
}

async function offline() {
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.src = '/offline/'
  const shows = text => new Promise(resolve => {
    const look = () => {
      const page = frame.contentDocument
      if (page?.querySelector('[role=status]')?.textContent === text) resolve(page)
      else requestAnimationFrame(look)
    }
    look()
  })
  const page = await shows('0 animals')
  page.querySelector('input').value = 'Ada'
  page.querySelector('button').click()
  await shows('1 animals')
  return page.querySelector('li').textContent
}`
