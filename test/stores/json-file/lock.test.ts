import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import {
  type Disk,
  type JsonFileStorage,
  jsonFileStorage,
} from '../../../adapters/stores/json-file/index.js'
import { NODE_DISK } from '../../../adapters/stores/kit/disk.js'
import { gate } from '../../support/waiting.js'
import { diskError, watchedDisk } from './disk-faults.js'
import { hideHolder, never, REX, stored, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()

/** Of the places where a process may be paused, every fourth by default. */
const STEP = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 1 : 4

const CHANGES: Record<string, (storage: JsonFileStorage) => Promise<unknown>> = {
  'an insert': storage => storage.insert({ ...REX, name: 'theirs' }),
  'a compaction': storage => storage.close(),
  'a restore': storage => storage.restore({ pets: [], nextId: 1 }),
}

for (const [what, change] of Object.entries(CHANGES)) {
  for (const begin of ['an empty journal', 'a journal']) {
    test(`json file - paused anywhere in ${what} with ${begin}, a process that lost the lock changes nothing`, async () => {
      for (let pauseAt = 1; ; pauseAt += STEP) {
        const path = join(folder(), 'pets.json')
        let left = Number.POSITIVE_INFINITY
        const paused = gate()
        const resumed = gate()
        const disk = watchedDisk(call => {
          // A call that is synchronous cannot wait in this test.
          if (/Sync/.test(call) || --left > 0) return undefined
          left = Number.POSITIVE_INFINITY
          paused.open()
          return resumed.passed
        })
        const loser = jsonFileStorage(path, { whenIdle: never, disk })
        await loser.ready()
        if (begin === 'a journal') await loser.insert(REX)
        left = pauseAt
        const changed = change(loser).then(
          () => true,
          () => false,
        )
        const isPaused = await Promise.race([
          paused.passed.then(() => true),
          changed.then(() => false),
        ])
        if (!isPaused) break

        hideHolder(path)
        const winner = jsonFileStorage(path, { whenIdle: never })
        const before = (await winner.dump()).pets.map(({ name }) => name)
        await winner.insert({ ...REX, name: 'first' })
        resumed.open()
        const isAcknowledged = await changed
        await winner.insert({ ...REX, name: 'second' })
        assert.deepEqual(await stored(path), [...before, 'first', 'second'], `call ${pauseAt}`)
        if (what === 'an insert' && isAcknowledged) assert.ok(before.includes('theirs'))
        await loser.close().catch(() => {})
        await winner.close()
        assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'], `call ${pauseAt}`)
      }
    })
  }
}

for (const begin of ['an empty journal', 'a journal']) {
  test(`json file - an insert that failed with ${begin} because the lock was removed stays unstored`, async () => {
    const path = join(folder(), 'pets.json')
    const storage = jsonFileStorage(path, { whenIdle: never })
    await storage.ready()
    if (begin === 'a journal') await storage.insert({ ...REX, name: 'acknowledged' })
    const acknowledged = await stored(path)
    fs.rmSync(`${path}.lock`, { recursive: true })
    const lost = {
      name: 'JsonFileError',
      message: `${path} has lost its lock: ${path}.lock was removed or taken over by another process; make sure that only one process uses the file, then restart this one`,
    }
    await assert.rejects(storage.insert({ ...REX, name: 'first' }), lost)
    await assert.rejects(storage.insert({ ...REX, name: 'second' }), lost)
    assert.deepEqual(await stored(path), acknowledged)
    if (begin === 'a journal') await assert.rejects(storage.close(), lost)
    else await storage.close()
    assert.deepEqual(await stored(path), acknowledged)
  })
}

test('json file - the lock of a dead process is taken over where no folder of it can be renamed, as on overlayfs', async () => {
  const path = join(folder(), 'pets.json')
  await jsonFileStorage(path, { whenIdle: never }).ready()
  hideHolder(path)
  const [owner = ''] = fs.readdirSync(`${path}.lock`)
  fs.writeFileSync(join(`${path}.lock`, owner, 'document'), 'unfinished')
  // Another one died while it took the lock over.
  fs.mkdirSync(join(`${path}.lock`, '2147483647-1-0123456789ab'))
  const rename: Disk['rename'] = async (from, to) => {
    if (from.endsWith(owner)) throw diskError('EXDEV')
    await NODE_DISK.rename(from, to)
  }
  const storage = jsonFileStorage(path, { disk: { ...NODE_DISK, rename } })
  assert.equal((await storage.insert(REX)).id, 1)
  await storage.close()
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
})

test('json file - a foreign file in the lock is named', async () => {
  const path = join(folder(), 'pets.json')
  fs.mkdirSync(`${path}.lock`)
  fs.writeFileSync(join(`${path}.lock`, '.DS_Store'), '')
  await assert.rejects(jsonFileStorage(path).ready(), {
    message: `${path} cannot be locked: ${path}.lock/.DS_Store is in the way; remove it`,
  })
})
