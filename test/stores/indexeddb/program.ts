import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  IndexedDbError,
  type IndexedDbStorage,
  indexedDbRateLimitStore,
  indexedDbStorage,
} from '../../../adapters/stores/indexeddb/index.js'
import {
  type Database,
  type Factory,
  type Request,
  resultOf,
} from '../../../adapters/stores/indexeddb/platform.js'
import { storageSuite } from '../../../adapters/stores/kit/suite.js'
import { createStore } from '../../../src/store.js'
import { consumerOf, rateLimitSuite } from '../../limits/rate-limit-suite.js'
import { T0 } from '../../limits/rate-limit-vectors.js'
import { resolves } from '../../support/waiting.js'
import { once } from '../kit/once.js'

export { runAll as run } from '../../runtimes/node-test.js'
export { createStore, indexedDbRateLimitStore, indexedDbStorage }

const { indexedDB } = globalThis as unknown as {
  readonly indexedDB: Factory & { deleteDatabase(name: string): Request & Blockable }
}
interface Blockable {
  onblocked: (() => void) | null
}

const REX = { name: 'Rex', categoryId: 1 }
/** For machines under load. */
const PATIENT = { timeout: 60_000 }
const PLENTY = { perMinute: 50, perDay: 1_000 }
const names = new Map<IndexedDbStorage, string>()

storageSuite((name, run) => test(`indexeddb ${name}`, run), {
  create: () => open(newName()),
  reopen: async storage => {
    const name = names.get(storage as IndexedDbStorage) as string
    await (storage as IndexedDbStorage).close()
    return open(name)
  },
  idempotency: true,
})

rateLimitSuite('indexeddb', () => {
  const limits = indexedDbRateLimitStore(newName(), PATIENT)
  return { ...consumerOf(limits), close: limits.close }
})

test('indexeddb - connections assign each id once, without gaps', async () => {
  const name = newName()
  const storages = [open(name), open(name), open(name)]
  const pets = await Promise.all(
    Array.from({ length: 150 }, (_, n) => storages[n % 3]?.insert({ ...REX, name: `${n}` })),
  )
  assert.deepEqual(
    new Set(pets.map(pet => pet?.id)),
    new Set(Array.from({ length: 150 }, (_, n) => n + 1)),
  )
})

test('indexeddb - connections store a create that is repeated with its key once', async () => {
  const name = newName()
  const storages = [open(name), open(name)]
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => storages[n % 2]?.insertOnce(REX, once('k'), 0)),
  )
  assert.equal(new Set(answers.map(answer => answer?.pet.id)).size, 1)
  assert.equal(answers.filter(answer => !answer?.replayed).length, 1)
})

test('indexeddb - connections count one quota, beside animals', async () => {
  const name = newName()
  const storage = open(name)
  const limits = [indexedDbRateLimitStore(name, PATIENT), indexedDbRateLimitStore(name, PATIENT)]
  const decisions = await Promise.all(
    Array.from({ length: 80 }, (_, n) => {
      void storage.insert(REX)
      return limits[n % 2]?.consume('k', PLENTY, T0)
    }),
  )
  assert.equal(decisions.filter(decision => decision?.code === undefined).length, 50)
  assert.equal((await limits[0]?.inspect('k'))?.minuteCount, 50)
  assert.equal((await storage.dump()).pets.length, 80)
  await limits[0]?.reset('k')
  assert.equal(await limits[1]?.inspect('k'), undefined)
})

test('indexeddb - one of two connections seeds', async () => {
  const name = newName()
  const storages = [open(name), open(name)]
  const content = { pets: [{ id: 4, ...REX }], nextId: 9 }
  const seeded = await Promise.all(storages.map(storage => storage.restoreIfNew(content)))
  assert.deepEqual(seeded.toSorted(), [false, true])
  assert.deepEqual(await storages[0]?.dump(), content)
})

test('indexeddb - expired keys are dropped while others are added', async () => {
  const storage = open(newName())
  for (let number = 0; number < 60; number++) {
    await storage.insertOnce(REX, once(`${number}`, number + 10), number)
  }
  const { idempotencyKeys = [] } = await storage.dump()
  assert.equal(idempotencyKeys.length, 10)
})

test('indexeddb - an animal whose caller has gone is not stored', async () => {
  const storage = open(newName())
  await assert.rejects(
    storage.insert(REX, () => true),
    /hung up/,
  )
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
})

test('indexeddb - close finishes the calls in progress, and refuses later ones', async () => {
  const name = newName()
  const storage = open(name)
  const inserts = Array.from({ length: 5 }, () => storage.insert(REX))
  await Promise.all([storage.close(), storage.close()])
  const ids = (await Promise.all(inserts)).map(({ id }) => id)
  assert.deepEqual(ids, [1, 2, 3, 4, 5])
  await assert.rejects(storage.insert(REX), failure(name, /is closed$/))
  await assert.rejects(storage.ping(), failure(name, /is closed$/))
})

test('indexeddb - a deleted database is storage_unavailable, and is not created again', async () => {
  const name = newName()
  const storage = open(name)
  const store = createStore({ storage, apiKeys: { k: { id: 'k', plan: 'free' } } })
  const errors: unknown[] = []
  store.events.on('storage.failed', ({ error }) => errors.push(error))
  await store.createPet(REX)
  await deleted(name)
  for (let n = 0; n < 2; n++) {
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
    const body = JSON.stringify(REX)
    const request = { method: 'POST', path: '/v1/pets', query: '', headers, body }
    const answer = await store.handle(request)
    assert.equal(answer.status, 503)
    assert.match(String(answer.body), /"code":"storage_unavailable"/)
  }
  assert.equal(errors.length, 2)
  for (const error of errors) assert.match(String(error), /was deleted while it was open/)
  await assert.rejects(storage.ping(), failure(name, /was deleted/))
  // Somebody else creates it again.
  const other = open(name)
  await other.ping()
  await assert.rejects(storage.insert(REX), failure(name, /was deleted/))
  assert.equal((await other.insert(REX)).id, 1)
  await assert.rejects(async () => storage.list({ limit: 1 }), failure(name, /was deleted/))
})

test('indexeddb - opening a database that another page holds ends with an error', async () => {
  const name = newName()
  const storage = open(name)
  await storage.insert(REX)
  await storage.close()
  const held = await resultOf(indexedDB.open(name, 1))
  const deleting = deleted(name)
  await assert.rejects(open(name, { timeout: 60 }).ping(), failure(name, /holds it/))
  held.close()
  await deleting
  assert.deepEqual(await open(name).dump(), { pets: [], nextId: 1 })
})

test('indexeddb - a lock that does not become free ends a call in time, and nothing is stored', async () => {
  const name = newName()
  const storage = open(name)
  const impatient = open(name, { timeout: 1_000 })
  await storage.ping()
  // On a busy machine, its first calls may take too long.
  while (!(await resolves(impatient.ping())));
  const database = await resultOf(indexedDB.open(name, 1))
  const release = await lock(database)
  await Promise.all([
    assert.rejects(impatient.insert(REX), failure(name, /is locked by another page or worker/)),
    assert.rejects(async () => impatient.list({ limit: 1 }), failure(name, /is locked/)),
  ])
  await release()
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
  assert.equal((await storage.insert(REX)).id, 1)
})

test('indexeddb - the database of another program is refused, and left as it is', async () => {
  for (const version of [1, 2]) {
    const name = newName()
    const request = indexedDB.open(name, version)
    request.onupgradeneeded = () => request.result.createObjectStore('carts', {})
    const foreign = await resultOf(request)
    foreign.close()
    await assert.rejects(open(name).ping(), failure(name, /is a database of another program/))
    const again = await resultOf(indexedDB.open(name, version))
    assert.deepEqual([...again.objectStoreNames], ['carts'])
    again.close()
  }
})

test('indexeddb - a newer version of the package may upgrade the database while it is open', async () => {
  const name = newName()
  const storage = open(name)
  await storage.ping()
  const newer = await resultOf(indexedDB.open(name, 2))
  await assert.rejects(storage.insert(REX), failure(name, /has a newer version; reload the page/))
  newer.close()
})

function newName(): string {
  return `test ${crypto.randomUUID()}`
}

function open(name: string, options = PATIENT): IndexedDbStorage {
  const storage = indexedDbStorage(name, options)
  names.set(storage, name)
  return storage
}

function deleted(name: string): Promise<unknown> {
  return resultOf(indexedDB.deleteDatabase(name))
}

/** Keeps every other writer away until the returned function is called. */
async function lock(database: Database): Promise<() => Promise<void>> {
  const stores = [...database.objectStoreNames]
  const transaction = database.transaction(stores, 'readwrite', { durability: 'relaxed' })
  const ended = new Promise<void>(resolve => {
    transaction.oncomplete = () => resolve()
  })
  let isHeld = true
  const hold = async () => {
    while (isHeld) await resultOf(transaction.objectStore('ids').get('next'))
  }
  void hold()
  await resultOf(transaction.objectStore('ids').get('next'))
  return () => {
    isHeld = false
    return ended
  }
}

function failure(name: string, message: RegExp): (error: unknown) => boolean {
  return error =>
    error instanceof IndexedDbError && error.database === name && message.test(error.message)
}
