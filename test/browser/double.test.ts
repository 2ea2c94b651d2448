import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { runDoubleScript } from './double-script.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SCRIPT = fileURLToPath(new URL('double-script.js', import.meta.url))
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome']

test('browser - the double is bundled without polyfills and behaves in Chromium as in Node', async t => {
  const browser = BROWSERS.find(name => !spawnSync(name, ['--version']).error)
  if (browser === undefined) {
    t.skip(`none of ${BROWSERS.join(', ')} is installed`)
    return
  }
  const code = await bundle(`
    import { createTestDouble } from 'animal-adoption-store/test-double'
    import { runDoubleScript } from ${JSON.stringify(SCRIPT)}
    const report = value => fetch('/result', { method: 'POST', body: JSON.stringify(value) })
    try {
      const seen = await runDoubleScript(createTestDouble)
      const listen = await createTestDouble().listen().catch(error => error.message)
      await report({ seen, listen })
    } catch (error) {
      await report({ error: error.stack })
    }
  `)
  const { seen, listen, error } = await runInBrowser(t, browser, code)
  assert.equal(error, undefined)
  assert.equal(listen, 'listen needs Node; use `fetch` of the double, or MSW, in a browser')
  assert.deepEqual(seen, JSON.parse(JSON.stringify(await runDoubleScript(createTestDouble))))
})

test('browser - the double is at most 60 KB gzipped', async () => {
  const double = `export { createTestDouble } from 'animal-adoption-store/test-double'`
  const size = gzipSync(await bundle(double)).length
  assert.ok(size <= 60_000, `${size} bytes`)
})

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
  })
  const { text = '' } = outputFiles[0] ?? {}
  assert.doesNotMatch(text, /from ?"node:/)
  return text
}

interface Result {
  readonly seen?: unknown
  readonly listen?: string
  readonly error?: string
}

async function runInBrowser(t: TestContext, browser: string, code: string): Promise<Result> {
  const profile = await mkdtemp(join(tmpdir(), 'adoption-chromium-'))
  const server = createServer((request, response) => {
    if (request.url === '/page.js') response.setHeader('Content-Type', 'text/javascript').end(code)
    else if (request.method === 'POST') text(request).then(result => server.emit('result', result))
    else response.setHeader('Content-Type', 'text/html').end(PAGE)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
  const child = spawn(browser, [...flags, '--no-first-run', '--remote-debugging-port=0', url], {
    stdio: 'ignore',
  })
  const exit = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
    server.closeAllConnections()
    server.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const early = exit.then(([code]) => Promise.reject(new Error(`The browser ended with ${code}.`)))
  early.catch(() => {})
  const [result] = (await Promise.race([once(server, 'result'), early])) as [string]
  return JSON.parse(result) as Result
}

const PAGE = '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>'
