import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { APIResponse, Page, Route } from 'playwright-core'
import { Pool } from 'undici'
import { freePort } from '../engines/engines.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { testUnless } from '../support/test-unless.js'
import { assertAccessible, opened, openedAt, started, withoutChromium } from './console-page.js'

const test = testUnless(withoutChromium)
const AT_NOON = ['--time', '2030-01-01T12:00:00Z']

test('console page - a request appears, opens, is copied and sent again', async t => {
  const { page, call, baseUrl } = await opened(t, AT_NOON)
  await page.getByText('No requests yet.').waitFor()
  await call('POST', '/pets?dry=1', 'demo-pro', '{"name":"Ada","categoryId":9223372036854775807}')
  const row = page.getByRole('button', {
    name: /201 POST \/v1\/pets\?dry=1 .*demo-pro node c1 299 of 300 left/,
  })
  await row.click()
  await page.locator('.detail pre').nth(1).waitFor()
  const [sent, answered] = await page.locator('.detail pre').allTextContents()
  assert.equal(sent, '{\n  "name": "Ada",\n  "categoryId": 9223372036854775807\n}')
  assert.match(answered ?? '', /^\{\n {2}"id": 42,\n[\s\S]*"categoryId": 9223372036854775807,\n/)
  const headers = page.getByText('X-RateLimit-Remaining', { exact: true })
  assert.equal(await headers.isVisible(), false)
  await page
    .getByText(/^\d+ headers$/)
    .last()
    .click()
  await headers.waitFor()
  for (const [name, expected] of [
    ['curl', /-H 'authorization: Bearer demo-pro'[\s\S]*--data-raw '\{"name":"Ada",.*7\}'$/],
    [
      'fetch',
      /await fetch\('http:[\s\S]*body: '\{"name":"Ada","categoryId":9223372036854775807\}'/,
    ],
  ] as const) {
    await page.getByRole('button', { name: `Copy as ${name}` }).click()
    await page.getByText(`Copied ${name}.`).waitFor()
    assert.match(await clipboard(page), expected)
  }

  // The repeated request is folded with its equal, and opens.
  await page.getByRole('button', { name: 'Send again' }).click()
  await page
    .getByRole('button', { name: /201 POST .* 2 times demo-pro node .*298 of 300 left/ })
    .waitFor()
  await page.getByText('"id": 43').waitFor()

  // New requests wait while one is open, so that nothing moves under the reader.
  await call('GET', '/pets', 'demo-free')
  await page.getByRole('button', { name: 'Show 1 new' }).click()
  await page.getByRole('button', { name: /200 GET \/v1\/pets demo-free/ }).waitFor()
  assert.equal(await rows(page), 2)
  await page.getByRole('button', { name: 'Fold equal' }).click()
  assert.equal(await rows(page), 3)
  await page.getByRole('button', { name: 'Pause' }).click()
  await call('GET', '/pets', 'demo-free')
  await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
  assert.equal(await rows(page), 3)
  await page.locator('.requests').getByRole('button', { name: 'Resume' }).click()
  await page.getByText('4 requests').waitFor()

  // Only what is equal is folded: these are from two programs.
  await page.getByRole('button', { name: 'Fold equal' }).click()
  for (const agent of ['curl/8.5.0', 'curl/8.5.0', 'Mozilla/5.0 (X11)']) {
    await fetch(`${baseUrl}/nowhere`, { headers: { 'user-agent': agent } })
  }
  await page.getByRole('button', { name: /401 GET \/v1\/nowhere no key browser/ }).waitFor()
  await page.getByRole('button', { name: /401 GET \/v1\/nowhere 2 times no key curl/ }).waitFor()
})

test('console page - beginners see commands that work, and keys, the base URL and links do as well', async t => {
  const { page, origin, baseUrl } = await opened(t)
  const copy = page.getByRole('button', { name: 'Copy the command' })
  const commands: string[] = []
  for (let step = 0; step < 3; step++) {
    await copy.nth(step).click()
    await page.getByText('Copied').waitFor({ state: 'attached' })
    commands.push(await clipboard(page))
    await page.getByText('Copied').waitFor({ state: 'detached' })
  }
  for (const command of commands) await sendCurl(command)
  await page.getByRole('button', { name: /200 GET/ }).waitFor()
  await page.getByRole('button', { name: /201 POST/ }).waitFor()
  const mistake = page.getByRole('button', { name: /400 GET \/v1\/pets\?limit=1000/ })
  await mistake.getByText('invalid_request limit must be an integer from 1 to 100.').waitFor()
  assert.equal(await copy.count(), 0)

  await page.getByRole('link', { name: 'Start' }).click()
  for (const [name, text] of [
    ['Copy the key demo-pro', 'demo-pro'],
    ['Copy the base URL', baseUrl],
  ] as const) {
    await page.getByRole('button', { name }).click()
    await page.getByText('Copied').waitFor({ state: 'attached' })
    assert.equal(await clipboard(page), text)
    await page.getByText('Copied').waitFor({ state: 'detached' })
  }
  for (const link of await page.locator('main a[href^="/"]').all()) {
    assert.equal((await fetch(`${origin}${await link.getAttribute('href')}`)).status, 200)
  }
})

test('console page - requests are filtered, saved and linked; the address has the filters', async t => {
  const { page, call, origin, console } = await opened(t)
  await call('POST', '/pets', 'demo-pro', '{"name":"Ada Lovelace","categoryId":1}')
  await call('GET', '/pets?limt=3', 'demo-pro')
  await call('GET', '/pets/none', 'demo-free')
  await call('GET', '/nowhere', 'wrong')
  await page.getByText('4 requests', { exact: true }).waitFor()
  const search = page.getByRole('searchbox', { name: 'Search' })
  for (const [text, expected] of [
    ['did you mean', '1 of 4 requests'],
    ['not_found', '1 of 4 requests'],
    ['GET /v1/pets', '2 of 4 requests'],
    ['nothing', '0 of 4 requests'],
  ] as const) {
    await search.fill(text)
    await page.getByText(expected, { exact: true }).waitFor()
  }
  await page.getByRole('button', { name: 'Show all' }).click()
  for (const [name, option, expected] of [
    ['Key', 'demo-pro', 2],
    ['Key', 'invalid key', 1],
    ['Operation', 'listPets', 1],
    ['Operation', 'Other', 1],
    ['Status', '2xx', 2],
    ['Status', '5xx or no response', 0],
  ] as const) {
    const select = page.locator('.fields').getByLabel(name)
    await select.selectOption(option)
    assert.equal(await rows(page), expected, `${name} ${option}`)
    await select.selectOption({ index: 0 })
  }
  await page.locator('.fields').getByLabel('Status').selectOption('4xx')
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save HAR' }).click()
  const download = await downloading
  assert.equal(download.suggestedFilename(), 'requests.har')
  const { log } = JSON.parse(await readFile(await download.path(), 'utf8'))
  const saved = log.entries.map(({ response }: { response: { status: number } }) => response.status)
  assert.deepEqual(saved, [404, 401])

  await page.getByRole('button', { name: /404/ }).click()
  await page.locator('.detail').getByText('not_found').first().waitFor()
  assert.equal(new URL(page.url()).hash, '#activity?status=refused&request=3')
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Copied the link.').waitFor()
  assert.equal(await clipboard(page), `${origin}/#activity?request=3`)

  const { page: other } = await openedAt(t, console, 'activity?status=ok&request=3')
  const pinned = other.getByRole('region', { name: 'Request 3' })
  await pinned.getByText('not_found').first().waitFor()
  await other.getByText('2 of 4 requests', { exact: true }).waitFor()
  await other.getByRole('button', { name: 'Clear' }).click()
  await other.getByText('No request matches these filters.').waitFor()
  await call('GET', '/pets', 'demo-free')
  await other.getByText('1 of 1 request', { exact: true }).waitFor()
})

test('console page - rows are walked with the arrows, and left with Escape', async t => {
  const { page, call } = await opened(t)
  for (const path of ['/pets/1', '/pets/2', '/pets/3']) await call('GET', path, 'demo-free')
  await page.getByText('3 requests', { exact: true }).waitFor()
  const focused = () => page.evaluate('document.activeElement.textContent')
  await page.keyboard.press('/')
  await page.keyboard.type('pets/')
  assert.equal(await page.getByRole('searchbox', { name: 'Search' }).inputValue(), 'pets/')
  await page.locator('button.row').first().focus()
  for (const [key, path] of [
    ['ArrowDown', '/v1/pets/2'],
    ['End', '/v1/pets/1'],
    ['ArrowDown', '/v1/pets/1'],
    ['ArrowUp', '/v1/pets/2'],
    ['Home', '/v1/pets/3'],
  ] as const) {
    await page.keyboard.press(key)
    assert.match(String(await focused()), new RegExp(path), key)
  }
  await page.keyboard.press('Enter')
  await page.getByText('Copy as curl').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await page.getByText('Copy as curl').waitFor({ state: 'detached' })
  assert.match(String(await focused()), /\/v1\/pets\/3/)
})

test('console page - a request is edited and sent again', async t => {
  const { page, call } = await opened(t, ['--control'])
  await call('POST', '/pets', 'demo-pro', '{"name":"Ada"}')
  await page.getByRole('button', { name: /400 POST/ }).click()
  await page.getByRole('button', { name: 'Edit and resend' }).click()
  const form = page.getByRole('form', { name: 'Edit and resend' })
  await form.getByLabel('Body').fill('{"name":"Ada","categoryId":9223372036854775807}')
  await form.getByLabel('Path and query').fill('/_control/reset')
  await form.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText('target must begin with /v1/.').waitFor()
  await form.getByLabel('Path and query').fill('/v1/pets?again')
  const headers = await form.getByLabel('Headers').inputValue()
  await form.getByLabel('Headers').fill(`${headers}\nX-Test`)
  await form.getByRole('button', { name: 'Send' }).click()
  await form.getByText('The header X-Test has no colon').waitFor()
  await form.getByLabel('Headers').fill(headers)
  await form.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('button', { name: /201 POST \/v1\/pets\?again demo-pro/ }).waitFor()
  await page.getByText('"categoryId": 9223372036854775807').first().waitFor()

  // From a success to a failure, and from a failure to another one like it.
  await page.getByRole('button', { name: 'Fail the next one' }).click()
  await page.getByText('Armed for the next createPet of demo-pro.').waitFor()
  const body = '{"name":"Bo","categoryId":1}'
  assert.equal((await call('POST', '/pets', 'demo-pro', body)).status, 503)
  assert.equal((await call('POST', '/pets', 'demo-pro', body)).status, 201)
})

test('console page - of many animals, those from an id on are shown and found', async t => {
  const { page, call } = await opened(t, ['--seed', await manyAnimals(t)], 'animals')
  await page.getByText('1,000 animals from this id on').waitFor()
  const cell = (name: string) => page.getByRole('table').getByRole('cell', { name, exact: true })
  await cell('Animal 1').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await cell('Animal 1001').waitFor()
  assert.match(page.url(), /#animals\?from=1001$/)
  await page.getByRole('textbox', { name: 'From id' }).fill('2400')
  await page.getByText('101 animals from this id on').waitFor()
  await page.getByRole('searchbox', { name: 'Name' }).fill('ANIMAL 245')
  await page.getByText('10 of 101 animals').waitFor()
  await call('POST', '/pets', 'demo-pro', '{"name":"Animal 245, the last","categoryId":1}')
  await cell('Animal 245, the last').waitFor()
})

test('console page - the chart is five minutes at every width', async t => {
  for (const width of [360, 1280]) {
    const { page, call } = await opened(t, [], 'activity', { viewport: { width, height: 800 } })
    for (let n = 0; n < 3; n++) await call('GET', '/pets', 'demo-pro')
    await call('GET', '/pets/none', 'demo-pro')
    await page.getByRole('img', { name: 'last five minutes: 3 2xx, 1 4xx, 0 429' }).waitFor()
    const minutes = await page.locator('.minute').allTextContents()
    assert.deepEqual(minutes, ['now', '1 min', '2 min', '3 min', '4 min', '5 min'])
    assert.equal(await page.locator('.bar').count(), 60)
    const legend = await page.locator('.legend b').allTextContents()
    assert.deepEqual(legend, ['3', '1', '0', '0', '0'])
    await page.getByRole('button', { name: '4xx' }).click()
    await page.getByText('1 of 4 requests', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.locator('.bar').first().click({ force: true })
    await page.getByText('0 of 4 requests', { exact: true }).waitFor()
    await page.locator('.bar:has(path[d^=M])').last().click()
    await page.getByText(/^[1-4] of 4 requests$/).waitFor()
  }
})

test('console page - a ban is watched to its end on the virtual clock', async t => {
  const { page, call } = await opened(t, AT_NOON)
  const budget = page.getByRole('region', { name: 'Requests left' })
  await budget.getByText('4 idle keys').click()
  await budget.getByText('demo-free: 60 a minute, 1,000 a day').waitFor()
  for (let n = 0; n < 91; n++) await call('GET', '/pets', 'demo-free')
  await budget.getByText('0 of 60', { exact: true }).waitFor()
  await budget.getByText('3 idle keys').waitFor()
  await budget.getByText('demo-free: banned for 5 min, level 1').waitFor()
  await page.getByText('api_key_banned Banned for 5 min.').first().waitFor()

  await page.getByRole('button', { name: '+1 min' }).click()
  await budget.getByText('demo-free: banned for 4 min, level 1').waitFor()
  await page.getByRole('button', { name: '+1 s', exact: true }).click()
  await budget.getByText('demo-free: banned for 3 min 59 s, level 1').waitFor()
  await budget.getByRole('button', { name: 'Skip to the end of the ban of demo-free' }).click()
  await budget.getByText('banned').waitFor({ state: 'detached' })
  await page.locator('.clock').getByText('12:05:00').waitFor()
  assert.equal((await call('GET', '/pets', 'demo-free')).status, 200)
  await budget.getByText('59 of 60').waitFor()
  await budget.getByText('Minutes reset in 1 min,').waitFor()
})

test('console page - every button of the clock moves it', async t => {
  const { page } = await opened(t, AT_NOON)
  const clock = page.locator('.clock')
  const steps = [
    ['+1 s', '12:00:01', '1 Jan 2030'],
    ['Next reset', '12:01:00', '1 Jan 2030'],
    ['+1 min', '12:02:00', '1 Jan 2030'],
    ['+1 day', '12:02:00', '2 Jan 2030'],
    ['End of getPet', '00:00:00', '5 Dec 2030'],
  ] as const
  for (const [name, time, date] of steps) {
    await page.getByRole('button', { name, exact: true }).click()
    await clock.filter({ hasText: time }).filter({ hasText: date }).waitFor()
  }
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Frozen', { exact: true }).waitFor({ state: 'detached' })
  await clock.filter({ hasText: /00:\d\d:(?!00)\d\d/ }).waitFor()
  await page.getByRole('button', { name: 'Freeze' }).click()
  await page.getByText('Frozen', { exact: true }).waitFor()
})

test('console page - an int64 goes through the form exactly, and errors are those of the API', async t => {
  const { page, call } = await opened(t, [], 'animals')
  await page.getByRole('cell', { name: 'Miss Moneypenny' }).waitFor()
  const add = page.getByRole('button', { name: 'Add animal' })
  const form = page.getByRole('region', { name: 'Add an animal' })
  await form.getByLabel('Name').fill('Ada "L." 🐾')
  await form.getByLabel('Category id').fill('1.5')
  await add.click()
  const problem = form.getByRole('alert')
  await problem.getByText('400 invalid_request').waitFor()
  await problem.getByText('categoryId must be an integer').waitFor()
  await form.getByLabel('Category id').fill('-9223372036854775808')
  await form.getByLabel('Status').selectOption('pending')
  await add.click()
  await page.getByRole('row', { name: '42 Ada "L." 🐾 -9223372036854775808 pending' }).waitFor()
  assert.equal(await problem.textContent(), '')
  const answer = await call('GET', '/pets/42', 'demo-free')
  assert.match(await answer.text(), /"categoryId":-9223372036854775808,"status":"pending"/)
  // Neither the list nor the form has cost a request.
  assert.equal(answer.headers.get('x-ratelimit-remaining'), '59')

  await page.getByText('42 animals', { exact: true }).waitFor()
  await page.locator('.fields').getByLabel('Status').selectOption('sold')
  await page.getByRole('cell', { name: 'Biscuit' }).waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'Rufus' }).waitFor()
  await call('POST', '/pets', 'demo-free', '{"name":"Bo","categoryId":1,"status":"sold"}')
  await page.getByRole('cell', { name: 'Bo', exact: true }).waitFor()
})

test('console page - faults are armed, listed, used up and cleared', async t => {
  const { page, call } = await opened(t, ['--control'], 'test')
  await page.getByText('No fault is armed.').waitFor()
  const faults = page.getByRole('region', { name: 'Faults' })
  await faults.getByLabel('Status', { exact: true }).fill('429')
  await faults.getByLabel('Retry-After, s').fill('7')
  await faults.getByRole('combobox', { name: 'Operation', exact: true }).selectOption('listPets')
  await faults.getByRole('combobox', { name: 'Key', exact: true }).selectOption('demo-pro')
  await faults.getByRole('button', { name: 'Arm' }).click()
  await faults.getByText('listPets, demo-pro').waitFor()
  await faults.getByText('1 left').waitFor()
  const struck = await call('GET', '/pets', 'demo-pro')
  assert.deepEqual([struck.status, struck.headers.get('retry-after')], [429, '7'])
  await page.getByText('No fault is armed.').waitFor()

  await faults.getByRole('combobox', { name: 'Fault', exact: true }).selectOption('trickle')
  await faults.getByLabel('Per piece').fill('x')
  await faults.getByRole('button', { name: 'Arm' }).click()
  await faults.getByRole('alert').getByText('400 invalid_request').waitFor()
  await faults.getByLabel('Per piece').fill('1ms')
  await faults.getByLabel('Bytes').fill('4000')
  await faults.getByRole('button', { name: 'Arm' }).click()
  await faults.getByText(/bytes 4000.*interval 1/).waitFor()
  assert.equal((await call('GET', '/pets', 'demo-pro')).status, 200)
  await page.getByText('No fault is armed.').waitFor()

  await faults.getByRole('combobox', { name: 'Fault', exact: true }).selectOption('status')
  await faults.getByRole('combobox', { name: 'When', exact: true }).selectOption('after')
  await faults.getByText('More conditions').click()
  await faults.getByLabel('Until').fill('1d')
  await faults.getByLabel('Request header').fill('X-Never')
  await faults.getByRole('button', { name: 'Arm' }).click()
  await faults.getByText(/demo-pro, with X-Never, .*after it has run, .*until \d/).waitFor()
  const note = page.getByRole('article').filter({ hasText: 'fault.unused' })
  await note.getByText('key demo-pro').waitFor()
  await faults.getByLabel('Request header').fill('')
  await faults.getByRole('button', { name: 'Arm' }).click()
  await faults.getByRole('listitem').nth(1).waitFor()
  assert.equal((await call('GET', '/pets', 'demo-pro')).status, 503)
  await faults.getByText('always, 1 so far').waitFor()
  const other = faults.getByRole('listitem').filter({ hasText: 'with X-Never' })
  await other.getByRole('button', { name: 'Remove' }).click()
  await other.waitFor({ state: 'detached' })
  await faults.getByText('always, 1 so far').waitFor()
  await faults.getByRole('button', { name: 'Clear all' }).click()
  await page.getByText('No fault is armed.').waitFor()
  await faults.getByRole('button', { name: 'Outage for 30 s' }).click()
  await faults.getByText(/every operation, every key, status 503, .*until/).waitFor()
})

test('console page - the verdict names rule, evidence and fix, and a reset forgets it', async t => {
  const { page, call } = await opened(t, ['--control'], 'test')
  await page.getByText('Nothing to judge yet.').waitFor()
  await call('GET', '/pets/7', 'demo-free')
  const finding = page.getByRole('article').filter({ hasText: 'deprecated.called' })
  await finding.getByText('key demo-free').waitFor()
  await finding.getByText(/^Fix: .*GET \/pets/).waitFor()
  await finding.getByRole('link', { name: '#1' }).click()
  await page.locator('.detail').getByText('"id": 7').waitFor()
  await page.getByRole('button', { name: /GET \/v1\/pets\/7/ }).waitFor()
  await page.getByRole('link', { name: 'Test 1 finding' }).waitFor()
  await page.locator('.detail').getByRole('link', { name: 'deprecated.called' }).click()
  await page.getByRole('button', { name: 'Reset', exact: true }).click()
  await page.getByText('Nothing to judge yet.').waitFor()
})

test('console page - a snapshot is downloaded, and restored by an upload', async t => {
  const { page, call } = await opened(t, ['--control'], 'test')
  await call('POST', '/pets', 'demo-free', '{"name":"Ada","categoryId":9223372036854775807}')
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download snapshot' }).click()
  const path = await (await downloading).path()
  assert.match(await readFile(path, 'utf8'), /9223372036854775807/)
  await page.getByRole('button', { name: 'Reset', exact: true }).click()
  await page.getByRole('status').getByText('Reset').waitFor()
  assert.equal((await call('GET', '/pets/42', 'demo-free')).status, 404)
  await page.getByLabel('Restore snapshot').setInputFiles(path)
  await page.getByText('Snapshot restored').waitFor()
  assert.equal((await call('GET', '/pets/42', 'demo-free')).status, 200)
})

test('console page - worlds are created, watched separately and deleted', async t => {
  const { page, call, origin } = await opened(t, AT_NOON, 'test')
  await page.getByRole('button', { name: 'New world' }).click()
  await page.getByText('State of w1').waitFor()
  assert.equal(new URL(page.url()).hash, '#test/w1')
  await call('GET', '/pets', 'demo-free')
  const headers = { authorization: 'Bearer w1-free' }
  await page.getByRole('link', { name: 'Activity' }).click()
  await page.getByText('No requests yet.').waitFor()
  for (let n = 0; n < 3; n++) await fetch(`${origin}/worlds/w1/v1/pets?n=${n}`, { headers })
  await page
    .getByRole('button', { name: /GET \/worlds\/w1\/v1\/pets\?n=2 .* 57 of 60 left/ })
    .waitFor()
  assert.equal(await rows(page), 3)
  await page.getByRole('button', { name: '+1 day' }).click()
  await page.locator('.clock').getByText('2 Jan 2030').waitFor()

  await page.getByLabel('World').selectOption('main')
  await page.locator('.clock').getByText('1 Jan 2030').waitFor()
  await page.getByText('1 request', { exact: true }).waitFor()
  await page.goto(`${origin}/#test/w1`)
  await page.getByRole('button', { name: 'Delete w1' }).click()
  await page.getByText('State', { exact: true }).waitFor()
  await page.getByLabel('World').waitFor({ state: 'detached' })
  assert.equal((await fetch(`${origin}/worlds/w1/v1/pets`, { headers })).status, 404)
})

test('console page - an answer that a later one has overtaken changes nothing', async t => {
  const { page, call } = await opened(t, ['--control', ...AT_NOON], 'test')
  const faults = firstHeld(page, /_control\/faults$/)
  await page.getByRole('button', { name: 'Arm' }).click()
  const armed = await faults
  await call('GET', '/pets', 'demo-free')
  await armed.overtaken
  await page.getByText('No fault is armed.').waitFor()
  await armed.release()
  assert.equal(await page.getByText('No fault is armed.').count(), 1)
})

test('console page - of 10,000 requests it draws at most 100, and nothing moves', async t => {
  const { page, origin } = await opened(t, ['--rate-limiting=off'])
  await page.evaluate(`
    window.shifts = []
    new PerformanceObserver(list => {
      for (const { sources } of list.getEntries()) {
        window.shifts.push(...sources.map(({ node }) => (node?.parentElement?.outerHTML ?? node?.textContent ?? 'removed').slice(0, 200)))
      }
    }).observe({ type: 'layout-shift' })
  `)
  const headers = { authorization: 'Bearer demo-free' }
  const pool = new Pool(origin, { connections: 4, pipelining: 25 })
  t.after(() => pool.destroy())
  const worker = async () => {
    for (let n = 0; n < 100; n++) {
      const { body } = await pool.request({ method: 'GET', path: '/v1/pets?limit=1', headers })
      await body.dump()
    }
  }
  await Promise.all(Array.from({ length: 100 }, worker))
  await page.getByRole('img', { name: ': 10000 2xx, 0 4xx' }).waitFor()
  const summary = (await page.locator('.summary').textContent()) ?? ''
  const [, shown = '', left = ''] =
    /^([\d,]+) requests, ([\d,]+) more not shown$/.exec(summary) ?? []
  assert.equal(Number(shown.replace(',', '')) + Number(left.replace(',', '')), 10_000)
  assert.deepEqual(await page.evaluate('window.shifts'), [])
  // All of them are equal.
  assert.equal(await rows(page), 1)
  await page.getByRole('button', { name: 'Fold equal' }).click()
  await page.getByRole('button', { name: 'Show 100 more' }).waitFor()
  assert.ok((await rows(page)) <= 100)
})

test('console page - an interrupted stream resumes where it was', async t => {
  const server = await started(t, [])
  const proxy = await breakable(t, new URL(server.origin).port)
  const address = Object.assign(new URL(server.console), { port: proxy.port }).href
  const { page } = await openedAt(t, address, 'activity')
  await server.call('GET', '/pets?limit=1', 'demo-free')
  await page.getByText('1 request', { exact: true }).waitFor()
  proxy.cut()
  await page.getByText('Reconnecting').waitFor()
  for (let n = 2; n < 6; n++) await server.call('GET', `/pets?limit=${n}`, 'demo-free')
  proxy.restore()
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByText('5 requests', { exact: true }).waitFor()
  const targets = await page.locator('button.row .path').allTextContents()
  assert.deepEqual(
    targets,
    [5, 4, 3, 2, 1].map(n => `/v1/pets?limit=${n}`),
  )
})

test('console page - after a restart, a divider separates what the server no longer has', async t => {
  process.env['ADOPTION_STORE_CONTROL_TOKEN'] = 'a-token_of-24-characters'
  t.after(() => delete process.env['ADOPTION_STORE_CONTROL_TOKEN'])
  const flags = ['--control', '--port', String(await freePort())]
  const before = await started(t, flags)
  const { page } = await openedAt(t, before.console, 'activity')
  await before.call('GET', '/pets/7', 'demo-free')
  await before.call('GET', '/pets?old', 'demo-free')
  await page.getByText('2 requests', { exact: true }).waitFor()
  before.stop()
  await page.getByText('The server does not answer.').waitFor()
  const after = await started(t, flags)
  await page.getByText('Before the server restarted').waitFor()
  await after.call('GET', '/pets?new', 'demo-free')
  await page.getByText('3 requests', { exact: true }).waitFor()
  const targets = page.locator('.rows .path, .divider')
  assert.deepEqual(await targets.allTextContents(), [
    '/v1/pets?new',
    'Before the server restarted: it no longer has these requests.',
    '/v1/pets?old',
    '/v1/pets/7',
  ])
  // Its numbers begin anew: the old ones open nothing, and are not accused of what the new ones did.
  assert.equal(await page.locator('button.row:enabled').count(), 1)
  await page.locator('.rows .chip').getByText('name.unknown').waitFor()
  assert.equal(await page.locator('.rows .chip').count(), 1)
  await page.getByRole('button', { name: 'Clear' }).click()
  await after.call('GET', '/pets?newer', 'demo-free')
  await page.getByText('1 request', { exact: true }).waitFor()
  assert.deepEqual(await targets.allTextContents(), ['/v1/pets?newer'])
})

test('console page - a tab keeps the token out of its address and of cookies, and one without it asks for the address', async t => {
  const { console: address, origin, page } = await opened(t)
  assert.doesNotMatch(page.url(), /token/)
  assert.deepEqual(await page.context().cookies(), [])
  await page.goto(`${origin}/`)
  await page.getByText('Live', { exact: true }).waitFor()

  const tab = await page.context().newPage()
  await tab.goto(`${origin}/`)
  await tab.getByLabel('Address').fill(origin)
  await tab.getByRole('button', { name: 'Open the console' }).click()
  await tab.getByText('This address has no').waitFor()
  await assertAccessible(tab, 'closed')
  await tab.getByLabel('Address').fill(address)
  await tab.getByRole('button', { name: 'Open the console' }).click()
  await tab.getByText('Live', { exact: true }).waitFor()
})

/** 2,500 animals in a file, a third of them sold. */
async function manyAnimals(t: TestContext): Promise<string> {
  const path = join(temporaryFolder(t), 'seed.json')
  const pets = Array.from({ length: 2_500 }, (_, at) => ({
    name: `Animal ${at + 1}`,
    categoryId: at,
    status: (['available', 'pending', 'sold'] as const)[at % 3],
  }))
  await writeFile(path, JSON.stringify(pets))
  return path
}

async function sendCurl(command: string): Promise<void> {
  const [, url = ''] = /'(http[^']*)'/.exec(command) ?? []
  const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)]
  const [, body] = /--data-raw '([^']*)'/.exec(command) ?? []
  await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: Object.fromEntries(headers.map(([, name, value]) => [name, value])),
    ...(body !== undefined && { body }),
  })
}

/** The first response to GET, held back until a later one has overtaken it. */
async function firstHeld(page: Page, address: RegExp) {
  const [route, response] = await new Promise<[Route, APIResponse]>(resolve => {
    let isFirst = true
    void page.route(address, async route => {
      if (!isFirst || route.request().method() !== 'GET') return route.continue()
      isFirst = false
      return resolve([route, await route.fetch()])
    })
  })
  const overtaken = page
    .waitForResponse(later => address.test(later.url()) && later.request().method() === 'GET')
    .then(later => later.finished())
    .then(() => drawn(page))
  return {
    overtaken,
    async release() {
      await route.fulfill({ response })
      await (await route.request().response())?.finished()
      await drawn(page)
    },
  }
}

/** After what has arrived is on the page. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate('new Promise(resolve => setTimeout(resolve))')
  await page.evaluate('new Promise(requestAnimationFrame)')
}

async function clipboard(page: Page): Promise<string> {
  return String(await page.evaluate('navigator.clipboard.readText()'))
}

function rows(page: Page): Promise<number> {
  return page.locator('button.row').count()
}

/** A connection to the server that can be cut and restored. */
async function breakable(t: TestContext, port: string) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(socket => {
    if (isCut) return socket.destroy()
    const upstream = connect(Number(port), '127.0.0.1')
    for (const one of [socket, upstream]) {
      sockets.add(one.on('error', () => {}).on('close', () => sockets.delete(one)))
    }
    socket.pipe(upstream).pipe(socket)
    return undefined
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    cut()
    server.close()
  })
  return {
    port: String((server.address() as AddressInfo).port),
    cut,
    restore() {
      isCut = false
    },
  }
}
