import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexedDbStorage } from '../../../adapters/stores/indexeddb/index.js'
import { withoutChromium as skip } from '../../browser/console-page.js'
import { bundled } from '../../runtimes/bundle.js'
import { openPage, runInChromium } from '../../runtimes/in-chromium.js'
import type { Result } from '../../runtimes/node-test.js'
import { claimedFor } from '../../runtimes/table.js'

const program = bundled('stores/indexeddb/program.ts')

test('indexeddb - the suites pass in a page, a worker and a service worker', { skip }, async t => {
  const outcomes = await runInChromium(t, await program)
  assert.deepEqual(claimedFor('test/stores/indexeddb/indexeddb.test.ts'), Object.keys(outcomes))
  for (const [place, outcome] of Object.entries(outcomes)) {
    const { passed, failed, skipped } = outcome as Result
    assert.deepEqual({ place, failed, skipped }, { place, failed: [], skipped: [] })
    assert.ok(passed > 70, `${passed} passed`)
    t.diagnostic(`${place}: ${passed} passed`)
  }
})

test('indexeddb - where there is no IndexedDB, opening says so', async () => {
  await assert.rejects(indexedDbStorage('pets').ping(), {
    name: 'IndexedDbError',
    message: 'pets cannot be opened: this runtime has no IndexedDB',
  })
})

test('indexeddb - a full database is storage_unavailable, and keeps what was acknowledged', {
  skip,
}, async t => {
  const page = await openPage(t, await program)
  const devtools = await page.context().newCDPSession(page)
  const { origin } = new URL(page.url())
  await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 3_000_000 })
  const seen = await page.evaluate(`(async () => {
    const { createStore, indexedDbStorage } = await import('/program.mjs')
    const storage = indexedDbStorage('pets')
    const store = createStore({ storage, apiKeys: {}, idempotency: { ttl: 1e6 } })
    const errors = []
    store.events.on('storage.failed', ({ error }) => errors.push(error.message))
    // The browser compresses what it stores.
    const noise = crypto.getRandomValues(new Uint16Array(30_000))
    const pet = { name: noise.join(''), categoryId: 1 }
    const stored = []
    const fill = async create => {
      for (let n = 0; n < 100; n++) {
        try {
          stored.push((await create(n)).id)
        } catch (error) {
          return error.code ?? error.message
        }
      }
    }
    const once = n => ({ scope: '', idempotencyKey: String(n), fingerprint: '', expiresAt: 1e9 })
    const codes = [
      await fill(() => store.createPet(pet)),
      await fill(async n => (await storage.insertOnce(pet, once(n), 1)).pet),
    ]
    const { pets, nextId } = await storage.dump()
    return { codes, errors, isKept: String(pets.map(({ id }) => id)) === String(stored), nextId, stored }
  })()`)
  const { stored, nextId, ...others } = seen as { stored: number[]; nextId: number }
  assert.ok(stored.length > 1)
  assert.equal(nextId, stored.length + 1)
  const full = "pets is full: the browser's quota is used up, or the disk is; free some space"
  assert.deepEqual(others, {
    codes: ['storage_unavailable', full],
    errors: [full],
    isKept: true,
  })
  await devtools.send('Storage.overrideQuotaForOrigin', { origin })
  assert.equal(
    await page.evaluate(`import('/program.mjs').then(async ({ indexedDbStorage }) =>
      (await indexedDbStorage('pets').insert({ name: 'Rex', categoryId: 1 })).id)`),
    nextId,
  )
})

test('indexeddb - a database that the user clears is an error, and a lost connection is opened again', {
  skip,
}, async t => {
  const page = await openPage(t, await program)
  const devtools = await page.context().newCDPSession(page)
  await page.evaluate(`import('/program.mjs').then(async ({ indexedDbStorage }) => {
    globalThis.storage = indexedDbStorage('pets')
    globalThis.insert = () => storage.insert({ name: 'Rex', categoryId: 1 }).then(
      ({ id }) => id,
      error => error.message,
    )
  })`)
  assert.equal(await page.evaluate('insert()'), 1)
  const { origin } = new URL(page.url())
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
  const message = 'pets was deleted while it was open; reload the page'
  assert.equal(await page.evaluate('insert()'), message)
  // Another page makes a new one.
  const other = `import('/program.mjs').then(async ({ indexedDbStorage }) =>
    (await indexedDbStorage('pets').insert({ name: 'Tom', categoryId: 1 })).id)`
  assert.equal(await page.evaluate(other), 1)
  for (let n = 0; n < 2; n++) assert.equal(await page.evaluate('insert()'), message)
  assert.equal(await page.evaluate(other), 2)
})

test('indexeddb - a reload is no fresh minute', { skip }, async t => {
  const page = await openPage(t, await program)
  const request = () =>
    page.evaluate(`import('/program.mjs').then(async library => {
      const store = library.createStore({
        storage: library.indexedDbStorage('pets'),
        rateLimitStore: library.indexedDbRateLimitStore('pets'),
        rateLimitStoreTimeout: 60_000,
        clock: () => 1_893_456_000_000,
        apiKeys: { k: { id: 'k', plan: 'enterprise', limits: { perMinute: 2, perDay: 9 } } },
      })
      return store.forKey('k').listPets().then(() => 200, ({ code }) => code)
    })`)
  const seen: unknown[] = []
  for (let n = 0; n < 3; n++) {
    seen.push(await request())
    await page.reload()
  }
  assert.deepEqual(seen, [200, 200, 'rate_limit_exceeded'])
})
