import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type JsonFileOptions, jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { type Disk, NODE_DISK } from '../../../adapters/stores/kit/disk.js'
import { once } from '../kit/once.js'
import { diskError } from './disk-faults.js'
import { hideHolder, movedOf, REX, stored, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()

const TEXT = '{"pets":[{"id":1,"name":"edited","categoryId":1}]}'

const MOVES: Record<string, (path: string) => void> = {
  'moved away': path => fs.renameSync(path, `${path}.away`),
  'replaced by a file that another program has renamed'(path) {
    fs.renameSync(path, `${path}.away`)
    saveByRename(path, TEXT)
  },
  'replaced by a folder'(path) {
    fs.renameSync(path, `${path}.away`)
    fs.mkdirSync(path)
  },
}

for (const [what, move] of Object.entries(MOVES)) {
  for (const before of [0, 1]) {
    const journal = before === 0 ? 'no journal' : 'a journal'
    test(`json file - with ${journal}, a document that is ${what} is an error until it is put back`, async () => {
      const { path, storage, compact, errors } = await opened()
      const message = movedOf(path)
      for (let count = 0; count < before; count++) await storage.insert(REX)
      await storage.ping()
      move(path)
      await assert.rejects(storage.ping(), { name: 'JsonFileError', message })
      await assert.rejects(storage.insert(REX), { name: 'JsonFileError', message })
      await assert.rejects(storage.insertOnce(REX, once('k'), 1), { message })
      await assert.rejects(storage.restore({ pets: [], nextId: 7 }), { message })
      compact()
      await new Promise(setImmediate)
      assert.equal(errors.length, before)
      assert.equal((await storage.dump()).pets.length, before)
      fs.rmSync(path, { recursive: true, force: true })
      fs.renameSync(`${path}.away`, path)
      await storage.ping()
      assert.equal((await storage.insert(REX)).id, before + 1)
      await storage.close()
      assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
      assert.equal((await stored(path)).length, before + 1)
    })
  }
}

test('json file - closing leaves a journal whose document is gone, and the next opening refuses both', async () => {
  for (const move of Object.values(MOVES)) {
    const { path, storage } = await opened()
    await storage.insert(REX)
    move(path)
    await assert.rejects(storage.close(), { name: 'JsonFileError', message: movedOf(path) })
    const before = contentOf(path)
    await assert.rejects(jsonFileStorage(path).ready(), { name: 'JsonFileError' })
    assert.deepEqual(contentOf(path), before)
    fs.rmSync(path, { recursive: true, force: true })
    fs.renameSync(`${path}.away`, path)
    assert.deepEqual(await stored(path), ['Rex'])
  }
})

test('json file - a document edited before its journal was read is refused with both names', async () => {
  const { path, storage } = await opened()
  await storage.insert(REX)
  saveInPlace(path, TEXT)
  await assert.rejects(storage.insert(REX), { message: movedOf(path) })
  await assert.rejects(storage.close(), { message: movedOf(path) })
  const before = contentOf(path)
  const fix = 'put back the document that it belongs to, or remove the journal to lose its animals'
  const message = `${path} is not the document that ${path}.journal was written for; ${fix}`
  await assert.rejects(jsonFileStorage(path).ready(), { name: 'JsonFileError', message })
  assert.deepEqual(contentOf(path), before)
})

test('json file - what replaced the document while nothing was inserted is read at the next opening', async () => {
  const { path, storage } = await opened()
  saveByRename(path, TEXT)
  await assert.rejects(storage.insert(REX), { message: movedOf(path) })
  await storage.close()
  assert.deepEqual(await stored(path), ['edited'])
})

test('json file - a compaction whose rename only seems to fail moves nothing', async () => {
  let fails = false
  const rename: Disk['rename'] = async (from, to) => {
    await NODE_DISK.rename(from, to)
    if (fails && to.endsWith('pets.json')) throw diskError('EIO')
  }
  const { path, storage, compact, errors } = await opened({ disk: { ...NODE_DISK, rename } })
  await storage.insert(REX)
  fails = true
  compact()
  assert.equal((await storage.insert(REX)).id, 2)
  fails = false
  await storage.close()
  assert.deepEqual(errors, [])
  assert.deepEqual(await stored(path), ['Rex', 'Rex'])
})

test('json file - readiness needs the lock too', async () => {
  const { path, storage } = await opened()
  hideHolder(path)
  await assert.rejects(storage.ping(), /has lost its lock/)
  await storage.close()
  await assert.rejects(storage.ping(), /is closed/)
})

const SWAPS: Record<string, (path: string) => void> = {
  'the journal renamed'(path) {
    fs.renameSync(`${path}.journal`, `${path}.journal.bak`)
  },
  'the journal replaced by its copy'(path) {
    fs.copyFileSync(`${path}.journal`, `${path}.copy`)
    fs.renameSync(`${path}.copy`, `${path}.journal`)
  },
  'the journal cut'(path) {
    fs.truncateSync(`${path}.journal`, 20)
  },
  'the journal removed while a hard link to it is left'(path) {
    fs.linkSync(`${path}.journal`, `${path}.link`)
    fs.unlinkSync(`${path}.journal`)
  },
}

for (const [what, swap] of Object.entries(SWAPS)) {
  test(`json file - with ${what}, inserts are refused, and no acknowledged one is lost`, async () => {
    const { path, storage } = await opened()
    await storage.insert({ ...REX, name: 'a' })
    await storage.insert({ ...REX, name: 'b' })
    swap(path)
    const message = movedOf(`${path}.journal`)
    await assert.rejects(storage.ping(), { name: 'JsonFileError', message })
    await assert.rejects(storage.insert(REX), { name: 'JsonFileError', message })
    await storage.close()
    assert.deepEqual(await stored(path), ['a', 'b'])
  })
}

test('json file - with the folder replaced by its copy, no insert is lost', async () => {
  const { path, storage } = await opened()
  await storage.insert(REX)
  const data = join(path, '..')
  fs.cpSync(data, `${data}-copy`, { recursive: true })
  fs.renameSync(data, `${data}-old`)
  fs.renameSync(`${data}-copy`, data)
  await assert.rejects(storage.insert(REX), { message: movedOf(path) })
  await storage.close().catch(() => {})
  assert.deepEqual(await stored(path), ['Rex'])
})

test('json file - a compaction keeps the mode and owner of the document', async t => {
  if (process.getuid?.() !== 0) return t.skip('only root can give files away')
  const { path, storage } = await opened()
  fs.chownSync(path, 1000, 1001)
  fs.chmodSync(path, 0o664)
  await storage.insert(REX)
  assert.deepEqual(rights(`${path}.journal`), [0o664, 1000, 1001])
  await storage.close()
  assert.deepEqual(rights(path), [0o664, 1000, 1001])
})

test('json file - a compaction keeps the mode of the document, whatever the umask', async t => {
  const umask = process.umask(0o027)
  t.after(() => process.umask(umask))
  const { path, storage } = await opened()
  assert.equal(rights(path)[0], 0o640)
  fs.chmodSync(path, 0o606)
  await storage.insert(REX)
  await storage.close()
  assert.equal(rights(path)[0], 0o606)
})

async function opened(options: JsonFileOptions = {}) {
  const path = join(folder(), 'pets.json')
  const errors: string[] = []
  let idle = () => {}
  const storage = jsonFileStorage(path, {
    whenIdle(task) {
      idle = task
      return () => {}
    },
    onError: ({ message }) => void errors.push(message),
    ...options,
  })
  await storage.ready()
  return { path, storage, errors, compact: () => idle() }
}

/** All files of the folder. */
function contentOf(path: string): Record<string, string> {
  const above = join(path, '..')
  const files = fs.readdirSync(above, { withFileTypes: true }).filter(entry => entry.isFile())
  return Object.fromEntries(
    files.map(({ name }) => [name, fs.readFileSync(join(above, name), 'utf8')]),
  )
}

function saveInPlace(path: string, text: string): void {
  fs.writeFileSync(path, text)
}

function saveByRename(path: string, text: string): void {
  fs.writeFileSync(`${path}~`, text)
  fs.renameSync(`${path}~`, path)
}

function rights(path: string): number[] {
  const { mode, uid, gid } = fs.statSync(path)
  return [mode & 0o777, uid, gid]
}
