import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { listen } from '../../adapters/http/index.js'
import { withDocs } from '../../adapters/pages/openapi/docs.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { type ApiHandler, createStore } from '../../src/index.js'
import { gate } from '../support/waiting.js'
import { PATIENCE } from './chromium.js'
import {
  assertAccessible,
  browser,
  withoutChromium as skip,
  watchProblems,
} from './console-page.js'

const SCREENSHOTS = process.env['SCREENSHOTS']

for (const colorScheme of ['light', 'dark'] as const) {
  test(`docs page - in ${colorScheme}, an operation is tried out with the demo key, and axe finds no violation in its own part`, {
    skip,
  }, async t => {
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
      await assertAccessible(page, `${width} wide`, '{ exclude: "#docs" }')
    }
  })
}

test('docs page - links back to a page, and to nothing else', { skip }, async t => {
  for (const [type, isShown] of [
    ['text/html', true],
    ['application/json', false],
  ] as const) {
    const asked = gate()
    const { page } = await opened(t, {}, handler => ({
      ...handler,
      handle(request) {
        if (request.path !== '/') return handler.handle(request)
        asked.open()
        return { status: 200, headers: { 'Content-Type': type }, body: '{}' }
      },
    }))
    await asked.passed
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
  watchProblems(t, page)
  t.after(() => page.close())
  await page.goto(`${server.origin}/docs`)
  await page.locator('.opblock').first().waitFor()
  return { page, server }
}
