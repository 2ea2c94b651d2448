import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { newProfile, startChromium } from '../browser/profile.js'

/** Results of a program's `run` in a page, a worker and a service worker, one after the other. */
export async function runInChromium(
  t: TestContext,
  program: string,
): Promise<Readonly<Record<string, unknown>>> {
  const page = await openPage(t, program)
  return {
    page: await page.evaluate(`import('/program.mjs').then(({ run }) => run())`),
    worker: await page.evaluate(`new Promise(resolve => {
      new Worker('/worker.mjs', { type: 'module' }).onmessage = ({ data }) => resolve(data)
    })`),
    'service worker': await page.evaluate(`(async () => {
      const controlled = new Promise(resolve => {
        navigator.serviceWorker.addEventListener('controllerchange', resolve)
      })
      await navigator.serviceWorker.register('/service.mjs', { type: 'module' })
      await controlled
      return (await fetch('/outcome')).json()
    })()`),
  }
}

/** An empty page of a site that serves the program as `/program.mjs`. */
export async function openPage(t: TestContext, program: string): Promise<Page> {
  const { origin } = await serveSite(t, { '/program.mjs': program })
  const { context } = await startChromium(t, await newProfile(t))
  const page = await context.newPage()
  await page.goto(origin)
  return page
}

const SCRIPTS: Readonly<Record<string, string>> = {
  '/worker.mjs': `import { run } from './program.mjs'; run().then(outcome => postMessage(outcome))`,
  '/creating.mjs': `import { createForever } from './program.mjs'
    onmessage = ({ data }) => createForever(data, progress => postMessage(progress))`,
  '/service.mjs': `import { run } from './program.mjs'
    addEventListener('install', () => skipWaiting())
    addEventListener('activate', event => event.waitUntil(clients.claim()))
    addEventListener('fetch', event => {
      if (event.request.url.endsWith('/outcome'))
        event.respondWith(run().then(outcome => Response.json(outcome)))
    })`,
}

/** Serves scripts by their paths, and an empty page at every other path. */
export async function serveSite(
  t: TestContext,
  scripts: Readonly<Record<string, string>>,
  port = 0,
): Promise<{ readonly origin: string; readonly server: Server }> {
  const files = { ...SCRIPTS, ...scripts }
  const server = createServer(({ url = '' }, response) => {
    const script = files[url]
    response.writeHead(200, {
      'content-type': script === undefined ? 'text/html' : 'text/javascript',
      'content-security-policy': "script-src 'self'",
    })
    response.end(script ?? '<!doctype html><title>Test</title>')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}
