import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Disk, NODE_DISK } from '../../adapters/json-file/disk.js'
import { type JsonFileOptions, jsonFileStorage } from '../../adapters/json-file/index.js'
import { diskError } from './disk-faults.js'
import { hideHolder, movedOf, REX, stored, temporaryFolders, until } from './json-files.js'

const folder = temporaryFolders()

test('json file - a document edited while open is kept beside the new one, and reported', async () => {
  const { path, storage, errors } = await opened()
  await storage.insert(REX)
  fs.writeFileSync(path, '{"pets":[{"id":1,"name":"Tom","categoryId":2}]}')
  await storage.close()
  assert.deepEqual(await stored(path), ['Rex'])
  assert.match(fs.readFileSync(`${path}.conflict-1`, 'utf8'), /Tom/)
  assert.deepEqual(errors, [
    `${path} was changed by another program; its version is now ${path}.conflict-1`,
  ])
})

test('json file - every edited version is kept', async () => {
  const { path, storage, errors } = await opened()
  for (const number of [1, 2, 3]) {
    saveInPlace(path, `{"pets":[{"id":${number},"name":"edited","categoryId":1}]}`)
    await storage.insert({ ...REX, name: String(number) })
  }
  await storage.close()
  assert.deepEqual(await stored(path), ['1', '2', '3'])
  const kept = [1, 2, 3].filter(number => fs.existsSync(`${path}.conflict-${number}`))
  assert.equal(kept.length, errors.length)
  assert.match(fs.readFileSync(`${path}.conflict-${kept.length}`, 'utf8'), /"id":3,"name":"edited"/)
})

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
      const key = { scope: 'a', key: 'k', fingerprint: 'f', expiresAt: 9 }
      await assert.rejects(storage.insert(REX), { name: 'JsonFileError', message })
      await assert.rejects(storage.insertOnce(REX, key, 1), { message })
      await assert.rejects(storage.restore({ pets: [], nextId: 7 }), { message })
      compact()
      await new Promise(setImmediate)
      assert.deepEqual(errors, before === 0 ? [] : [message])
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

test('json file - closing writes the animals of a journal where the document is gone, and keeps another version', async () => {
  for (const move of ['moved away', 'replaced by a file that another program has renamed']) {
    const { path, storage, errors } = await opened()
    await storage.insert(REX)
    MOVES[move]?.(path)
    await assert.rejects(storage.insert(REX), { message: movedOf(path) })
    await storage.close()
    assert.deepEqual(await stored(path), ['Rex'])
    const conflict = `${path}.conflict-1`
    if (move === 'moved away') assert.deepEqual(errors, [])
    else assert.equal(fs.readFileSync(conflict, 'utf8'), TEXT)
  }
})

test('json file - closing where a folder or a pipe is in place of the document says how to go on', async t => {
  const fix = 'move that away and put the document back, as the journal has only the last animals'
  for (const [what, put] of [
    ['a folder', fs.mkdirSync],
    ['not a regular file', (path: string) => execFileSync('mkfifo', [path])],
  ] as const) {
    if (process.platform === 'win32' && what !== 'a folder') return t.diagnostic('no pipes here')
    const { path, storage } = await opened()
    await storage.insert(REX)
    fs.renameSync(path, `${path}.away`)
    put(path)
    const message = `${path} cannot be saved: it is ${what} now; ${fix}`
    await assert.rejects(storage.close(), { name: 'JsonFileError', message })
    fs.rmSync(path, { recursive: true })
    fs.renameSync(`${path}.away`, path)
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json', 'pets.json.journal'])
    assert.deepEqual(await stored(path), ['Rex'])
  }
})

test('json file - what replaced the document while nothing was inserted is read at the next opening', async () => {
  const { path, storage } = await opened()
  saveByRename(path, TEXT)
  await assert.rejects(storage.insert(REX), { message: movedOf(path) })
  await storage.close()
  assert.deepEqual(await stored(path), ['edited'])
})

test('json file - a file system that renumbers its files has not moved the document', async () => {
  let renumbered = 0n
  const statSync: Disk['statSync'] = (path, options) => {
    const found = NODE_DISK.statSync(path, options)
    if (!found || !path.endsWith('pets.json')) return found
    return Object.assign(Object.create(found), { ino: found.ino + renumbered })
  }
  const { storage } = await opened({ disk: { ...NODE_DISK, statSync } })
  await storage.insert(REX)
  renumbered = 7n
  await storage.ping()
  assert.equal((await storage.insert(REX)).id, 2)
  await storage.close()
})

test('json file - a compaction whose rename has just happened, or only seemed to fail, moves nothing', async () => {
  let afterRename = async () => {}
  const rename: Disk['rename'] = async (from, to) => {
    await NODE_DISK.rename(from, to)
    if (to.endsWith('pets.json')) await afterRename()
  }
  const { path, storage, compact, errors } = await opened({ disk: { ...NODE_DISK, rename } })
  for (const fails of [false, true]) {
    await storage.insert(REX)
    let isOver = false
    afterRename = async () => {
      isOver = true
      await storage.ping()
      await storage.insert(REX)
      if (fails) throw diskError('EIO')
    }
    // The one before may still be running.
    const begin = setInterval(compact, 0)
    await until(() => isOver && errors.length >= Number(fails))
    clearInterval(begin)
    afterRename = async () => {}
    await storage.insert(REX)
  }
  assert.deepEqual(errors, [
    `${path} could not be compacted: EIO: planted by a test; the journal keeps all animals`,
  ])
  await storage.close()
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.json'])
  assert.equal((await stored(path)).length, 6)
})

test('json file - readiness needs the lock too', async () => {
  const { path, storage } = await opened()
  hideHolder(path)
  await assert.rejects(storage.ping(), /has lost its lock/)
  await storage.close()
  await assert.rejects(storage.ping(), /is closed/)
})

test('json file - an edit while nothing is inserted is left alone, and read at the next opening', async () => {
  const { path, storage, errors } = await opened()
  saveInPlace(path, '{"pets":[{"id":1,"name":"Tom","categoryId":2}]}')
  await storage.close()
  assert.deepEqual(await stored(path), ['Tom'])
  assert.deepEqual(errors, [])
})

const SWAPS: Record<string, (path: string) => void> = {
  'the journal renamed'(path) {
    fs.renameSync(`${path}.journal`, `${path}.journal.bak`)
  },
  'the journal replaced by its copy'(path) {
    fs.copyFileSync(`${path}.journal`, `${path}.copy`)
    fs.renameSync(`${path}.copy`, `${path}.journal`)
  },
  'the journal removed while a hard link to it is left'(path) {
    fs.linkSync(`${path}.journal`, `${path}.link`)
    fs.unlinkSync(`${path}.journal`)
  },
}

for (const [what, swap] of Object.entries(SWAPS)) {
  test(`json file - with ${what}, no acknowledged insert is lost`, async () => {
    const { path, storage } = await opened()
    const acknowledged: string[] = []
    const insert = async (name: string) => {
      await storage.insert({ ...REX, name }).then(
        () => acknowledged.push(name),
        () => {},
      )
    }
    await insert('a')
    await insert('b')
    swap(path)
    for (const name of ['c', 'd', 'e']) {
      await insert(name)
      assert.deepEqual(await stored(path), acknowledged)
    }
    assert.deepEqual(acknowledged, ['a', 'b', 'd', 'e'])
    await storage.close()
    assert.deepEqual(await stored(path), acknowledged)
  })
}

for (const names of [[], ['a', 'b']]) {
  test(`json file - with the folder replaced by its copy after ${names.length} inserts, none is lost`, async () => {
    const { path, storage } = await opened()
    for (const name of names) await storage.insert({ ...REX, name })
    const data = join(path, '..')
    fs.cpSync(data, `${data}-copy`, { recursive: true })
    fs.renameSync(data, `${data}-old`)
    fs.renameSync(`${data}-copy`, data)
    await assert.rejects(storage.insert(REX), { message: movedOf(path) })
    assert.deepEqual(await stored(path), names)
    await storage.close()
    assert.deepEqual(await stored(path), names)
  })
}

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
  const storage = await jsonFileStorage(path, {
    whenIdle(task) {
      idle = task
      return () => {}
    },
    onError: ({ message }) => void errors.push(message),
    ...options,
  })
  return { path, storage, errors, compact: () => idle() }
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
