import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createTestDouble, type Har } from '../../adapters/test-double/index.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { CHROMIUM } from './chromium.js'
import { newProfile, startChromium } from './profile.js'

const SKIP = CHROMIUM === undefined && 'Chromium is not installed'
const ADA = '{"name":"Ada","categoryId":9223372036854775807}'
const STORED = '{"id":1,"name":"Ada","categoryId":9223372036854775807,"status":"available"}'

test('har - the developer tools of Chromium import it', { skip: SKIP }, async t => {
  const har = await recorded()
  const { page, origin } = await browser(t)
  await page.goto(`${origin}/json/version`)
  // The module behind "Import HAR file", as this Chromium ships it.
  const seen = await page.evaluate(`import('/devtools/models/har/har.js').then(async har => {
    const { log } = new har.HARFormat.HARRoot(${JSON.stringify(har)})
    const requests = har.Importer.Importer.requestsFromHARLog(log)
    return Promise.all(requests.map(async request => [
      request.requestMethod,
      request.url(),
      request.statusCode,
      request.startTime,
      await request.requestFormData(),
      (await request.requestContentData()).text,
    ]))
  })`)
  const url = 'http://adoption-store.test/v1/pets'
  assert.deepEqual(seen, [
    ['POST', url, 201, 1_893_456_000, ADA, STORED],
    ['GET', `${url}?status=available`, 200, 1_893_456_061, null, `[${STORED}]`],
  ])
})

test('har - Playwright replays it', { skip: SKIP }, async t => {
  const file = join(temporaryFolder(t), 'run.har')
  await writeFile(file, JSON.stringify(await recorded()))
  const { page, origin } = await browser(t)
  await page.goto(`${origin}/json/version`)
  await page.routeFromHAR(file, { url: '**/v1/**', notFound: 'abort' })
  const seen = await page.evaluate(`(async () => {
    const url = 'http://adoption-store.test/v1/pets'
    const headers = { 'content-type': 'application/json' }
    const created = await fetch(url, { method: 'POST', headers, body: '${ADA}' })
    const listed = await fetch(url + '?status=available')
    const other = await fetch(url + '?status=sold').then(() => 'found', () => 'not found')
    return [created.status, await created.text(), await listed.text(), other]
  })()`)
  assert.deepEqual(seen, [201, STORED, `[${STORED}]`, 'not found'])
})

async function recorded(): Promise<Har> {
  await using double = createTestDouble({ cors: true })
  const headers = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }
  await double.fetch('pets', { method: 'POST', headers, body: ADA })
  double.clock.advance('61s')
  await double.fetch('pets?status=available', { headers })
  return double.har()
}

/** A page, and the address at which this Chromium serves its developer tools. */
async function browser(t: TestContext): Promise<{ page: Page; origin: string }> {
  const { context, devtools } = await startChromium(t, await newProfile(t))
  return { page: await context.newPage(), origin: devtools }
}
