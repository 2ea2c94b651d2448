import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { parseDocument } from '../../../adapters/stores/json-file/parse-document.js'
import { type Disk, type FileStats, NODE_DISK } from '../../../adapters/stores/kit/disk.js'
import { createStore } from '../../../src/store.js'
import { MAIN } from '../../support/paths.js'
import { once } from '../kit/once.js'
import { never, REX, stored, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const FULL =
  'is full: document and journal hold at most 500 MB; continue in SQLite, see animal-adoption-store copy'

test('json file - inserts that would pass 500 MB are refused, and so is readiness a create before', async () => {
  const path = join(folder(), 'pets.json')
  const large = { ...REX, name: 'x'.repeat(900_000) }
  const storage = jsonFileStorage(path, { whenIdle: never, disk: larger(497_500_000) })
  const store = createStore({ storage, apiKeys: { k: { id: 'k', plan: 'pro' } } })
  const create = async (name: string) => {
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
    const body = JSON.stringify({ ...REX, name })
    return (await store.handle({ method: 'POST', path: '/v1/pets', query: '', headers, body }))
      .status
  }
  assert.equal(await create(large.name), 201)
  await storage.ping()
  assert.equal(await create(large.name), 201)
  const full = { name: 'JsonFileError', message: `${path} ${FULL}` }
  await assert.rejects(storage.ping(), full)
  assert.equal(await create(large.name), 503)
  await assert.rejects(storage.insert(large), full)
  // A smaller one fits.
  assert.equal(await create('Rex'), 201)
  assert.equal((await storage.list({ limit: 9 })).length, 3)
  await storage.close()
  assert.equal((await stored(path)).length, 3)
})

test('json file - a restore beyond 500 MB is refused, and nothing is changed', async () => {
  const path = join(folder(), 'pets.json')
  const storage = jsonFileStorage(path, { whenIdle: never })
  await storage.insert(REX)
  const name = 'x'.repeat(50_000_000)
  const pets = Array.from({ length: 11 }, (_, at) => ({ id: at + 1, ...REX, name }))
  await assert.rejects(storage.restore({ pets, nextId: 12 }), { message: `${path} ${FULL}` })
  assert.deepEqual(await stored(path), ['Rex'])
  await storage.close()
})

test('json file - a document is read in parts, whatever their size', async () => {
  const path = join(folder(), 'pets.json')
  const storage = jsonFileStorage(path, { whenIdle: never })
  for (let n = 0; n < 20; n++)
    await storage.insertOnce({ ...REX, name: ',\n{"id":é' }, once(`${n}`), 0)
  await storage.close()
  const bytes = fs.readFileSync(path)
  const whole = parseDocument(bytes)
  assert.equal(whole.pets.length, 20)
  for (let size = 40; size < bytes.length; size += 13) {
    assert.deepEqual(parseDocument(bytes, size % 2 === 0, size), whole, `${size} bytes`)
  }
})

test('json file - a document of long names opens in a small heap', async () => {
  const path = join(folder(), 'pets.json')
  const storage = jsonFileStorage(path, { whenIdle: never })
  const name = 'x'.repeat(900_000)
  const pets = Array.from({ length: 8 }, (_, at) => ({ id: at + 1, ...REX, name }))
  await storage.restore({ pets, nextId: 9 })
  await storage.close()
  // As somebody has written it, so that names are looked for twice.
  fs.writeFileSync(path, fs.readFileSync(path, 'utf8').replace(/,"crc32":"\w+"/, ''))
  const heap = ['--max-old-space-size=150']
  const { stdout, stderr } = spawnSync(process.execPath, [...heap, MAIN, 'check', path], {
    encoding: 'utf8',
  })
  assert.equal(stdout, `${path}: 8 animals, the next id is 9\n`, stderr)
})

/** A disk on which the document is larger by so many bytes. */
function larger(bytes: number): Disk {
  const grown = <T extends FileStats | undefined>(stats: T): T =>
    stats && Object.assign(stats, { size: stats.size + BigInt(bytes) })
  return {
    ...NODE_DISK,
    stat: async (...given) => grown(await NODE_DISK.stat(...given)),
    fstat: async (...given) => grown(await NODE_DISK.fstat(...given)),
    statSync: (...given) => grown(NODE_DISK.statSync(...given)),
  }
}
