import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { browser, withoutChromium } from './console-page.js'
import { runDoubleScript } from './double-script.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SCRIPT = fileURLToPath(new URL('double-script.js', import.meta.url))

test('browser - the double is bundled without polyfills and behaves in Chromium as in Node', {
  skip: withoutChromium,
}, async t => {
  const code = await bundle(`
    import { createTestDouble } from 'animal-adoption-store/test-double'
    import { runDoubleScript } from ${JSON.stringify(SCRIPT)}
    globalThis.seen = runDoubleScript(createTestDouble)
    globalThis.refusal = createTestDouble().listen().catch(error => error.message)
  `)
  const page = await (await browser()).newPage()
  t.after(() => page.close())
  const url = 'http://localhost/'
  await page.route(url, route => route.fulfill({ contentType: 'text/html', body: '' }))
  await page.goto(url)
  await page.addScriptTag({ type: 'module', content: code })
  const refusal = 'listen needs Node; use `fetch` of the double, or MSW, in a browser'
  assert.equal(await page.evaluate('globalThis.refusal'), refusal)
  const seen = JSON.parse(String(await page.evaluate('globalThis.seen.then(JSON.stringify)')))
  assert.deepEqual(seen, JSON.parse(JSON.stringify(await runDoubleScript(createTestDouble))))
})

test('browser - the double is at most 61 kB gzipped', async () => {
  const double = `export { createTestDouble } from 'animal-adoption-store/test-double'`
  const size = gzipSync(await bundle(double)).length
  assert.ok(size <= 61_000, `${size} bytes`)
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
