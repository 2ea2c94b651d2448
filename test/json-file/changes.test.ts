import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { jsonFileStorage } from '../../adapters/json-file/index.js'
import { never, REX, stored, temporaryFolders } from './json-files.js'

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
  for (const edit of [saveInPlace, saveByRename]) {
    const { path, storage, errors } = await opened()
    for (const number of [1, 2, 3]) {
      edit(path, `{"pets":[{"id":${number},"name":"edited","categoryId":1}]}`)
      await storage.insert({ ...REX, name: String(number) })
    }
    await storage.close()
    assert.deepEqual(await stored(path), ['1', '2', '3'])
    const kept = [1, 2, 3].filter(number => fs.existsSync(`${path}.conflict-${number}`))
    assert.equal(kept.length, errors.length)
    assert.match(
      fs.readFileSync(`${path}.conflict-${kept.length}`, 'utf8'),
      /"id":3,"name":"edited"/,
    )
  }
})

test('json file - an edit while nothing is inserted is left alone, and read at the next opening', async () => {
  const { path, storage, errors } = await opened()
  saveInPlace(path, '{"pets":[{"id":1,"name":"Tom","categoryId":2}]}')
  await storage.close()
  assert.deepEqual(await stored(path), ['Tom'])
  assert.deepEqual(errors, [])
})

const SWAPS: Record<string, (path: string) => void> = {
  'the folder replaced by its copy'(path) {
    const data = join(path, '..')
    fs.cpSync(data, `${data}-copy`, { recursive: true, preserveTimestamps: true })
    fs.renameSync(data, `${data}-old`)
    fs.renameSync(`${data}-copy`, data)
  },
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

test('json file - no insert is lost when its folder is replaced while the journal is empty', async () => {
  const { path, storage } = await opened()
  SWAPS['the folder replaced by its copy']?.(path)
  await storage.insert({ ...REX, name: 'a' })
  assert.deepEqual(await stored(path), ['a'])
  await storage.close()
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

async function opened() {
  const path = join(folder(), 'pets.json')
  const errors: string[] = []
  const onError = ({ message }: Error) => void errors.push(message)
  const storage = await jsonFileStorage(path, { whenIdle: never, onError })
  return { path, storage, errors }
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
