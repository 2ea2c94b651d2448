import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { BUILD_URL, ROOT } from '../support/paths.js'
import { withoutChromium as skip } from './console-page.js'
import { newProfile, startChromium } from './profile.js'

const EXAMPLE = join(ROOT, 'test/examples/offline-page')

test('offline page - the animals outlive the network, a reload and the browser', {
  skip,
}, async t => {
  const profile = await newProfile(t)
  const { address, server } = await started(t)
  const first = await startChromium(t, profile)
  const page = await first.context.newPage()
  await page.goto(address)
  await add(page, 'Ada')
  await add(page, 'Rex')
  assert.deepEqual(await animals(page, 2), ['1 Ada', '2 Rex'])

  server.kill('SIGKILL')
  await once(server, 'exit')
  await assert.rejects(fetch(address))
  await page.reload()
  assert.deepEqual(await animals(page, 2), ['1 Ada', '2 Rex'])
  await add(page, 'Tom')
  assert.deepEqual(await animals(page, 3), ['1 Ada', '2 Rex', '3 Tom'])
  const remaining = () =>
    page.evaluate(`fetch('/v1/pets', { headers: { authorization: 'Bearer demo-pro' } })
      .then(({ status, headers }) => [status, headers.get('x-ratelimit-limit')])`)
  assert.deepEqual(await remaining(), [200, '300'])

  const devtools = await first.browser.newBrowserCDPSession()
  await Promise.all([once(first.process, 'exit'), devtools.send('Browser.close')])
  const again = await (await startChromium(t, profile)).context.newPage()
  await again.goto(address)
  assert.deepEqual(await animals(again, 3), ['1 Ada', '2 Rex', '3 Tom'])
})

/** The example as `npm start` runs it, at a free port. */
async function started(t: TestContext): Promise<{ address: string; server: ChildProcess }> {
  // Below the package and without a manifest, so that it imports the package by its name.
  const copy = mkdtempSync(fileURLToPath(new URL('offline-page-', BUILD_URL)))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(EXAMPLE, copy, { recursive: true, filter: path => basename(path) !== 'package.json' })
  const { scripts } = JSON.parse(readFileSync(join(EXAMPLE, 'package.json'), 'utf8'))
  const [command, ...words]: string[] = scripts.start.replace(':3000', ':0').split(' ')
  const program = join(ROOT, 'node_modules/.bin', command as string)
  // It serves until its standard input ends.
  const server = spawn(program, words, { cwd: copy, stdio: ['pipe', 'ignore', 'pipe'] })
  t.after(() => server.kill('SIGKILL'))
  for await (const line of createInterface(server.stderr)) {
    const [address] = /http:\/\/127\S+/.exec(line) ?? []
    if (address) return { address, server }
  }
  throw new Error('The server ended before it listened')
}

async function add(page: Page, name: string): Promise<void> {
  const item = page.getByRole('listitem').filter({ hasText: name })
  await page.getByText('animals').waitFor()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Add' }).click()
  await item.waitFor()
}

async function animals(page: Page, count: number): Promise<string[]> {
  await page.getByText(`${count} animals`).waitFor()
  return page.getByRole('listitem').allTextContents()
}
