import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { ROOT_URL } from './support/paths.js'

// biome-ignore lint/suspicious/noExplicitAny: the exports of each subpath
type Module = Record<string, any>
type ErrorClass = (new (...given: never[]) => Error) & { readonly prototype: Error }

const require = createRequire(new URL('package.json', ROOT_URL))
const { exports } = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'))
const SUBPATHS = Object.keys(exports).filter(subpath => !subpath.endsWith('.json'))
const nameOf = (subpath: string) => `animal-adoption-store${subpath.slice(1)}`

/** A call of each subpath with an invalid option; undefined where there is none to pass. */
const INVALID: Readonly<Record<string, ((module: Module) => unknown) | undefined>> = {
  '.': ({ createStore }) => createStore({ storage: 5 }),
  './http': ({ listen }) => listen({}, { port: 'eighty' }),
  './fetch': ({ toFetchHandler }) => toFetchHandler({}, { adress: 5 }),
  './memory': undefined,
  './json-file': ({ jsonFileStorage }) => jsonFileStorage('pets.json', { idle: 5 }),
  './sqlite': ({ sqliteStorage }) => sqliteStorage('pets.sqlite', { timeoutMs: 5 }),
  './indexeddb': ({ indexedDbStorage }) => indexedDbStorage('pets', { timeout: 0 }),
  './postgres': ({ postgresStorage }) => postgresStorage({}),
  './redis': ({ redisRateLimitStore }) => redisRateLimitStore({}),
  './client': ({ createClient }) => createClient({ baseUrl: 5 }),
  './console': ({ withConsole }) => withConsole({}, { token: 5 }),
  './openapi': ({ openApiDocument }) => openApiDocument({ title: 5 }),
  './docs': ({ withDocs }) => withDocs({}, { title: 5 }),
  './verify': ({ verify }) => verify({ baseUrl: 5 }),
  './test-double': ({ createTestDouble }) => createTestDouble({ clock: 'noon' }),
  './judge': ({ judge }) => judge({ baseUrl: 5 }),
  './storage-suite': undefined,
}

for (const subpath of SUBPATHS) {
  test(`errors - ${subpath} exports the OptionError that it throws, to import and to require`, async () => {
    const modules: Module[] = [await import(nameOf(subpath)), require(nameOf(subpath))]
    assert.ok(subpath in INVALID)
    const call = INVALID[subpath]
    for (const module of call ? modules : []) {
      assert.equal(typeof module['OptionError'], 'function')
      await assert.rejects(async () => call?.(module), module['OptionError'])
    }
  })
}

test('errors - what a test double throws can be caught by a class that it exports', async () => {
  const {
    ApiError,
    RecordingError,
    createTestDouble,
    openRecording,
  } = require('animal-adoption-store/test-double')
  await assert.rejects(createTestDouble().seed([{}]), ApiError)
  await assert.rejects(openRecording('{}'), RecordingError)
})

test('errors - each class is one over all of require, and instanceof holds across import and require', async () => {
  const required: Module = Object.assign({}, ...SUBPATHS.map(subpath => require(nameOf(subpath))))
  const names = new Set<string>()
  for (const subpath of SUBPATHS) {
    const imported: Module = await import(nameOf(subpath))
    for (const [name, imports] of Object.entries(imported)) {
      if (!(imports?.prototype instanceof Error)) continue
      names.add(name)
      const requires: ErrorClass = require(nameOf(subpath))[name]
      assert.equal(requires, required[name], `${name} of ${subpath}`)
      assert.notEqual(requires, imports)
      assert.ok(Object.create(imports.prototype) instanceof requires, name)
      assert.ok(Object.create(requires.prototype) instanceof imports, name)
      assert.equal(imports.prototype.toJSON.call(new Error('why')).message, 'why')
    }
  }
  assert.ok(names.size >= 16, [...names].join())
})

test('errors - instanceof tells classes apart: other errors, kinds and subclasses', async () => {
  const { ApiError, OptionError }: Module = await import(nameOf('.'))
  const { ApiError: required } = require(nameOf('.'))
  const { RateLimitError } = await import(nameOf('./client'))
  const Own = class extends (ApiError as new (code: string, message: string) => Error) {}
  const own = new Own('gone', 'It is gone')
  const api = new required('gone', 'It is gone')
  assert.ok(own instanceof Own && own instanceof ApiError && own instanceof required)
  assert.ok(
    !(api instanceof Own) && !(api instanceof OptionError) && !(api instanceof RateLimitError),
  )
  const limited = new RateLimitError('rate_limit_exceeded', 'Wait', { retryAt: 0 })
  assert.ok(limited instanceof required)
  for (const other of [new Error('x'), {}, null, undefined, 'ApiError', { name: 'ApiError' }]) {
    assert.ok(!(other instanceof ApiError))
  }
})

test('errors - a store that is required answers what a storage that is imported throws', async () => {
  const { createStore } = require('animal-adoption-store')
  const { memoryStorage } = await import(nameOf('./memory'))
  const { ApiError } = await import(nameOf('.'))
  const insert = () =>
    Promise.reject(new ApiError('storage_unavailable', 'Full', { retryAfter: 7 }))
  const store = createStore({ storage: { ...memoryStorage(), insert }, apiKeys: {} })
  await assert.rejects(store.createPet({ name: 'Ada', categoryId: 1 }), { message: 'Full' })
})
