import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { blocksOf } from '../../support/pages.js'
import { assertPrinted } from '../../support/printed.js'
import { once } from '../kit/once.js'
import { diskError, watchedDisk } from './disk-faults.js'
import { batchFor, never, REX, sealed, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const REX_1 = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}'
const KEY_1 =
  '{"scope":"web","idempotencyKey":"k1","fingerprint":"0123456789abcdef","expiresAt":1000,"petId":1}'

test('json file keys - the document lists them after its pets, and has no such field without any', async () => {
  const { path, storage } = await opened()
  await storage.insertOnce(REX, once('k1'), 0)
  await storage.close()
  const document = `{"pets":[\n${REX_1}\n],"nextId":2,"idempotencyKeys":[\n${KEY_1}\n]}\n`
  assert.equal(fs.readFileSync(path, 'utf8'), sealed(document))
  const again = jsonFileStorage(path)
  await again.restore({ pets: [], nextId: 1 })
  await again.close()
  assert.equal(fs.readFileSync(path, 'utf8'), sealed('{"pets":[],"nextId":1}\n'))
})

test('json file keys - the page shows journal and document as they are written', async () => {
  const [journal = '', document = ''] = blocksOf('adapters/stores/json-file/README.md', 'text')
  const plain = await opened()
  await plain.storage.insert({ ...REX, categoryId: 7 })
  const lines = fs.readFileSync(`${plain.path}.journal`, 'utf8')
  assertPrinted(lines.replace(/ +$/gm, ''), journal)
  await plain.storage.close()
  const keyed = await opened()
  const key = { ...once('8e03978e'), fingerprint: '5f0c', expiresAt: 1_893_542_400_000 }
  await keyed.storage.insertOnce(REX, key, 0)
  await keyed.storage.close()
  const written = fs.readFileSync(keyed.path, 'utf8')
  assertPrinted(written.slice(written.indexOf('],"nextId"')), document)
})

test('json file keys - a repeated key in one batch is stored once, and rejected with it', async () => {
  let full = false
  const disk = watchedDisk(call => {
    if (full && call === 'fdatasync') throw diskError('ENOSPC')
  })
  const { storage } = await opened({ disk })
  full = true
  const both = () => [
    storage.insertOnce(REX, once('k1'), 0),
    storage.insertOnce(REX, once('k1'), 0),
  ]
  await Promise.all(both().map(insert => assert.rejects(insert, { code: 'ENOSPC' })))
  full = false
  const [first, second] = await Promise.all(both())
  assert.deepEqual([first?.pet.id, first?.replayed], [1, false])
  assert.deepEqual([second?.pet.id, second?.replayed], [1, true])
  assert.equal((await storage.dump()).pets.length, 1)
})

test('json file keys - a clock that goes back while expired keys are dropped loses no animal', async () => {
  let others: Promise<unknown>[] = []
  const disk = watchedDisk(call => {
    if (call !== 'fdatasync' || others.length > 0) return
    const fresh = Array.from({ length: 999 }, (_, at) => ({ ...once(`n${at}`), expiresAt: 9_000 }))
    others = fresh.map(key => storage.insertOnce(REX, key, 2_000))
    others.push(storage.insertOnce(REX, once('k1'), 0))
  })
  const { path, storage } = await opened({ disk })
  await storage.insertOnce(REX, once('k1'), 0)
  await Promise.all(others)
  await storage.insert(REX)
  const reopened = await crashed(path)
  assert.deepEqual((await reopened.dump()).pets, (await storage.dump()).pets)
  await reopened.close()
})

test('json file keys - a replay needs no disk, and is answered while the disk fails', async () => {
  let full = false
  const disk = watchedDisk(call => {
    if (full && call === 'fdatasync') throw diskError('ENOSPC')
  })
  const { storage } = await opened({ disk })
  await storage.insertOnce(REX, once('k1'), 0)
  full = true
  const [replay, fresh] = await Promise.allSettled([
    storage.insertOnce(REX, once('k1'), 0),
    storage.insertOnce(REX, once('k2'), 0),
  ])
  assert.deepEqual([replay.status, fresh.status], ['fulfilled', 'rejected'])
})

test('json file keys - in a handwritten document, keys of missing pets are dropped', async () => {
  const orphan = KEY_1.replace('"petId":1', '"petId":9').replace('k1', 'k9')
  const path = given(`{"pets": [${REX_1}], "idempotencyKeys": [${orphan}, ${KEY_1}]}`)
  const storage = jsonFileStorage(path)
  assert.deepEqual((await storage.dump()).idempotencyKeys, [JSON.parse(KEY_1)])
  assert.equal((await storage.insertOnce(REX, once('k9'), 0)).replayed, false)
  await storage.close()
})

test('json file keys - a document with wrong keys is refused and left as it is', async () => {
  for (const [keys, reason] of [
    ['{}', '`idempotencyKeys` must be an array'],
    ['[{"scope":"web"}]', '`idempotencyKeys[0].idempotencyKey` is required'],
    [`[${KEY_1.replace('}', ',"x":1}')}]`, 'has the unknown field `x`'],
  ] as const) {
    const content = `{"pets":[${REX_1}],"nextId":2,"idempotencyKeys":${keys}}`
    const path = given(content)
    await assert.rejects(jsonFileStorage(path).ready(), error => {
      assert.ok((error as Error).message.includes(reason), (error as Error).message)
      return true
    })
    assert.equal(fs.readFileSync(path, 'utf8'), content)
  }
})

test('json file keys - a key that could not be read again is rejected', async () => {
  const { storage } = await opened()
  const wrong = { ...once('k1'), expiresAt: Number.NaN }
  await assert.rejects(storage.insertOnce(REX, wrong, 0), /`expiresAt` must be a number/)
  const idempotencyKeys = [{ ...wrong, petId: 1 }]
  const snapshot = { pets: [{ id: 1, ...REX }], nextId: 2, idempotencyKeys }
  await assert.rejects(storage.restore(snapshot), /`expiresAt` must be a number/)
  assert.deepEqual(await storage.dump(), { pets: [], nextId: 1 })
})

test('json file keys - a key line that does not follow its pet is damage', async () => {
  const { path, storage } = await opened()
  await storage.insertOnce(REX, once('k1'), 0)
  const document = fs.readFileSync(path)
  for (const lines of [`${KEY_1}\n${REX_1}\n`, `${REX_1}\n${KEY_1}\n${KEY_1}\n`]) {
    fs.writeFileSync(
      `${path}.journal`,
      batchFor(document, lines) + batchFor(document, `${REX_1}\n`),
    )
    await assert.rejects(crashed(path).ready(), /line 1 does not begin an intact batch/)
  }
})

async function opened(options: Parameters<typeof jsonFileStorage>[1] = {}) {
  const path = join(folder(), 'pets.json')
  const storage = jsonFileStorage(path, { whenIdle: never, ...options })
  await storage.ready()
  return { path, storage }
}

function given(content: string): string {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(path, content)
  return path
}

/** The storage of a process that finds the files as they are now. */
function crashed(path: string) {
  const copy = join(folder(), 'pets.json')
  for (const name of fs.readdirSync(join(path, '..'))) {
    if (!name.endsWith('.lock')) fs.copyFileSync(join(path, '..', name), join(copy, '..', name))
  }
  return jsonFileStorage(copy, { whenIdle: never })
}
