import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type JsonFileOptions, jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import type { PetStorage } from '../../../src/ports.js'
import { gate, until } from '../../support/waiting.js'
import { diskError, watchedDisk } from './disk-faults.js'
import {
  faults,
  hideHolder,
  never,
  openWatched,
  REX,
  storedIds,
  temporaryFolders,
} from './json-files.js'

const folder = temporaryFolders()

test('json file - inserts that wait together share one write and one sync', async () => {
  const { storage, calls } = await opened()
  // It creates the journal.
  await storage.insert(REX)
  calls.splice(0)
  await Promise.all(Array.from({ length: 64 }, () => storage.insert(REX)))
  assert.equal(calls.filter(call => call === 'writeSync').length, 1)
  assert.equal(calls.filter(call => call === 'fdatasync').length, 1)
})

test('json file - callers that continue after a sync share the next one', async () => {
  const { storage, calls } = await opened()
  const caller = async (_: unknown, way: number) => {
    for (let count = 0; count < 3; count++) {
      await storage.insert(REX)
      for (let step = 0; step < way; step++) await null
    }
  }
  await Promise.all(Array.from({ length: 64 }, caller))
  assert.equal(calls.filter(call => call === 'fdatasync').length, 3)
})

test('json file - reads never wait for the disk, and show an insert once it is synced', async () => {
  const reached = gate()
  const release = gate()
  const { storage } = await opened({}, call => {
    if (call !== 'fdatasync') return undefined
    reached.open()
    return release.passed
  })
  const inserting = storage.insert(REX)
  await reached.passed
  assert.deepEqual(await storage.list({ limit: 1 }), [])
  assert.equal(await storage.find(1), undefined)
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
  release.open()
  const rex = await inserting
  assert.deepEqual(await storage.list({ limit: 1 }), [rex])
})

test('json file - the journal is compacted when idle', async () => {
  const idle: (() => void)[] = []
  let calledOff = 0
  const whenIdle = (task: () => void) => {
    idle.push(task)
    return () => void calledOff++
  }
  const { storage, path } = await opened({ whenIdle })
  await storage.insert(REX)
  await storage.insert(REX)
  assert.deepEqual([idle.length, calledOff], [2, 1])
  idle[1]?.()
  await until(() => !fs.existsSync(`${path}.journal`))
  await storage.insert(REX)
  assert.equal(fs.readFileSync(path, 'utf8').match(/Rex/g)?.length, 2)
  assert.equal(fs.readFileSync(`${path}.journal`, 'utf8').match(/Rex/g)?.length, 1)
  await storage.close()
  assert.equal(calledOff, 3)
})

test('json file - a journal that has outgrown the document is compacted under load', async () => {
  const { storage, path, calls } = await opened()
  const compactions = () => calls.filter(call => call === 'rename pets.json.journal').length
  const large = { ...REX, name: 'x'.repeat(600_000) }
  const begin = compactions()
  for (const inserted of [2, 4]) {
    await storage.insert(large)
    assert.equal(compactions() - begin, inserted / 2 - 1)
    await storage.insert(large)
    // It holds the next insert up.
    await storage.insert(REX)
    assert.equal(compactions() - begin, inserted / 2)
    assert.ok(fs.statSync(`${path}.journal`).size < 1_000)
  }
})

test('json file - a failed compaction is not retried until as much again has been inserted', async () => {
  const disk = faults()
  const { storage, calls } = await opened({}, disk.before)
  const compactions = () => calls.filter(call => call === 'open document').length
  const large = { ...REX, name: 'x'.repeat(1_100_000) }
  await storage.insert(REX)
  calls.splice(0)
  disk.fail('open document', 'ENOSPC')
  await storage.insert(large)
  for (let count = 0; count < 10; count++) await storage.insert(REX)
  assert.equal(compactions(), 1)
  await storage.insert(large)
  await storage.insert(REX)
  assert.equal(compactions(), 2)
})

test('json file - the default timer does not keep a process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const storage = jsonFileStorage(join(folder(), 'pets.json'))
  const before = timers()
  await storage.insert(REX)
  assert.equal(timers(), before)
  await storage.close()
})

for (const [call, code] of [
  ['open journal', 'ENOSPC'],
  ['rename journal', 'EIO'],
  ['open data', 'EROFS'],
  ['fsync', 'EIO'],
  ['writeSync', 'ENOSPC'],
  ['fdatasync', 'EIO'],
] as const) {
  test(`json file - ${code} in ${call} rejects the insert without a trace`, async () => {
    const disk = faults()
    const { storage, path } = await opened({}, disk.before)
    disk.fail(call, code)
    await assert.rejects(Promise.all([storage.insert(REX), storage.insert(REX)]), { code })
    await assert.rejects(storage.insert(REX), { code })
    assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
    assert.deepEqual(await storedIds(path), [])
    disk.work()
    assert.deepEqual(await storage.insert(REX), { id: 1, ...REX })
    assert.deepEqual(await storedIds(path), [1])
    disk.fail(call, code)
    if (['writeSync', 'fdatasync'].includes(call))
      await assert.rejects(storage.insert(REX), { code })
    else assert.equal((await storage.insert(REX)).id, 2)
    assert.deepEqual(await storedIds(path), idsOf(await storage.dump()))
  })
}

for (const [call, code] of [
  ['rename document', 'EPERM'],
  ['open document', 'ENOSPC'],
] as const) {
  test(`json file - ${code} in ${call}, as on Windows while somebody views it, stops no insert`, async () => {
    const disk = faults()
    const { storage, path } = await opened({}, disk.before)
    disk.fail(call, code)
    for (const id of [1, 2]) assert.equal((await storage.insert(REX)).id, id)
    assert.deepEqual(await storedIds(path), [1, 2])
    disk.work()
    await storage.close()
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
    assert.deepEqual(await storedIds(path), [1, 2])
  })
}

test('json file - nothing is acknowledged while a failed write cannot be undone', async () => {
  const disk = faults()
  const { storage, path } = await opened({}, disk.before)
  await storage.insert(REX)
  disk.fail('fdatasync', 'EIO')
  disk.fail('ftruncate', 'EIO')
  await assert.rejects(storage.insert({ ...REX, name: 'lost' }), { code: 'EIO' })
  disk.work()
  disk.fail('ftruncate', 'EIO')
  await assert.rejects(storage.insert(REX), { code: 'EIO' })
  disk.work()
  assert.equal((await storage.insert(REX)).id, 2)
  assert.deepEqual(await storedIds(path), [1, 2])
  assert.doesNotMatch(fs.readFileSync(`${path}.journal`, 'utf8'), /lost/)
})

test('json file - a close that cannot compact rejects, and leaves the journal', async () => {
  const disk = faults()
  const { storage, path } = await opened({}, disk.before)
  await storage.insert(REX)
  disk.fail('rename document', 'EIO')
  await assert.rejects(storage.close(), { code: 'EIO' })
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json', 'pets.json.journal'])
  const again = jsonFileStorage(path)
  assert.deepEqual((await again.dump()).pets, [{ id: 1, ...REX }])
  await again.close()
})

for (const failing of ['one call fails', 'all calls from one on fail']) {
  test(`json file - an opening in which ${failing} leaves the lock to the next one, and so does its close`, async () => {
    for (let nth = 1; ; nth++) {
      const { storage, path } = await opened()
      await storage.insert(REX)
      hideHolder(path)
      const [owner = ''] = fs.readdirSync(`${path}.lock`)
      fs.writeFileSync(join(`${path}.lock`, owner, 'document'), 'unfinished')
      let left = nth
      const disk = watchedDisk(() => {
        left--
        if (left === 0 || (left < 0 && failing.startsWith('all'))) throw diskError('EIO')
      })
      const failed = jsonFileStorage(path, { whenIdle: never, disk })
      await failed.ready().catch(error => assert.equal(error.name, 'JsonFileError'))
      await failed.close().catch(() => {})
      const again = jsonFileStorage(path)
      assert.deepEqual((await again.dump()).pets, [{ id: 1, ...REX }], `call ${nth}`)
      await again.close()
      assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'], `call ${nth}`)
      if (left > 0) break
    }
  })
}

function opened(options: JsonFileOptions = {}, before?: Parameters<typeof openWatched>[2]) {
  return openWatched(folder(), { whenIdle: never, ...options }, before)
}

function idsOf({ pets }: Awaited<ReturnType<PetStorage['dump']>>): number[] {
  return pets.map(pet => pet.id)
}
