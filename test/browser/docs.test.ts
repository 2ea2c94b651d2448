import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { withDocs } from '../../adapters/openapi/docs.js'
import { type ApiHandler, createStore } from '../../src/index.js'
import { CHROMIUM, PATIENCE } from './chromium.js'
import { browser } from './console-page.js'

const skip = CHROMIUM === undefined && 'no Chromium on this machine'
const SCREENSHOTS = process.env['SCREENSHOTS']

for (const colorScheme of ['light', 'dark'] as const) {
  test(`docs page - in ${colorScheme}, an operation is tried out with the demo key, and axe finds no violation in its own part`, {
    skip,
  }, async t => {
    const axe = await readFile(
      createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
      'utf8',
    )
    for (const width of [390, 1280]) {
      const { page, server } = await opened(t, { colorScheme, viewport: { width, height: 900 } })
      const servers = page.locator('#servers').getByRole('option')
      assert.deepEqual(await servers.allTextContents(), [`${server.url} - Production`])
      assert.equal(
        await page.evaluate('document.documentElement.className'),
        colorScheme === 'dark' ? 'dark-mode' : '',
      )
      await page.locator('.opblock-summary-control').first().click()
      await page.getByRole('button', { name: 'Execute' }).click()
      const status = page.locator('.live-responses-table tbody .response-col_status').first()
      await status.getByText('200').waitFor()
      if (SCREENSHOTS !== undefined) {
        await mkdir(SCREENSHOTS, { recursive: true })
        await page.screenshot({ path: `${SCREENSHOTS}/docs-${colorScheme}-${width}.png` })
      }
      await page.evaluate(axe)
      const { violations } = (await page.evaluate('axe.run({ exclude: "#docs" })')) as {
        violations: { id: string; nodes: { html: string }[] }[]
      }
      assert.deepEqual(
        violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
        [],
      )
    }
  })
}

test('docs page - links back to a page, and to nothing else', { skip }, async t => {
  const home = (handler: ApiHandler, type: string): ApiHandler => ({
    ...handler,
    handle: request =>
      request.path === '/'
        ? { status: 200, headers: { 'Content-Type': type }, body: '{}' }
        : handler.handle(request),
  })
  for (const [type, isShown] of [
    ['text/html', true],
    ['application/json', false],
  ] as const) {
    let wasAsked = () => {}
    const asked = new Promise<void>(resolve => {
      wasAsked = resolve
    })
    const { page } = await opened(t, {}, handler => {
      const { handle } = home(handler, type)
      return {
        ...handler,
        handle(request) {
          if (request.path === '/') wasAsked()
          return handle(request)
        },
      }
    })
    await asked
    const link = page.getByRole('link', { name: 'Console' })
    if (isShown) await link.waitFor()
    assert.equal(await link.isVisible(), isShown)
  }
})

async function opened(
  t: TestContext,
  options: Parameters<Browser['newPage']>[0],
  within: (handler: ApiHandler) => ApiHandler = handler => handler,
) {
  const apiKeys = { 'demo-free': { id: 'demo-free', plan: 'free' } } as const
  const store = createStore({ storage: memoryStorage(), apiKeys })
  const server = await listen(within(withDocs(store, { demoKeys: ['demo-free'] })), { port: 0 })
  t.after(() => server.close())
  const page = await (await browser()).newPage(options)
  page.setDefaultTimeout(PATIENCE)
  const problems: string[] = []
  page.on('pageerror', error => problems.push(String(error)))
  page.on('console', message => {
    if (/Content Security Policy/i.test(message.text())) problems.push(message.text())
  })
  t.after(async () => {
    await page.close()
    assert.deepEqual(problems, [])
  })
  await page.goto(`${server.origin}/docs`)
  await page.locator('.opblock').first().waitFor()
  return { page, server }
}
