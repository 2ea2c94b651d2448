import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import type { JsonFileOptions } from '../../../adapters/stores/json-file/index.js'
import type { PetStorage } from '../../../src/ports.js'
import { gate, until } from '../../support/waiting.js'
import { faults, openWatched, REX, stored, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()

test('json file - inserts wait for a compaction, reads do not, and a crash during it loses nothing', async () => {
  const held = gate()
  let isHeld = false
  const { path, storage, calls, idle } = await opened({}, call =>
    isHeld && call === 'rename document' ? held.passed : undefined,
  )
  await insert(storage, 'a', 'b')
  isHeld = true
  idle()
  await until(() => calls.at(-1) === 'rename document')
  const waiting = storage.insert({ ...REX, name: 'c' })
  assert.equal((await storage.find(2))?.name, 'b')
  assert.deepEqual(await stored(path), ['a', 'b'])
  held.open()
  assert.equal((await waiting).id, 3)
  assert.deepEqual(await stored(path), ['a', 'b', 'c'])
  await storage.close()
  assert.deepEqual(await stored(path), ['a', 'b', 'c'])
  assert.deepEqual(beside(path), [])
})

test('json file - when idle, a large document is compacted only for a share of it', async () => {
  const { path, storage, calls, idle } = await opened()
  await storage.restore({ pets: [{ id: 1, ...REX, name: 'x'.repeat(2_000_000) }], nextId: 2 })
  const compactions = () => calls.filter(call => call === 'rename pets.json.journal').length
  const before = compactions()
  await insert(storage, 'y'.repeat(200_000))
  idle()
  await insert(storage, 'a')
  assert.equal(compactions(), before)
  await insert(storage, 'z'.repeat(50_000))
  idle()
  await until(() => !fs.existsSync(`${path}.journal`))
  assert.equal(compactions(), before + 1)
  await insert(storage, 'b')
  await storage.close()
  assert.equal(compactions(), before + 2)
})

test('json file - a failed compaction is reported, and a later one completes it', async () => {
  const errors: string[] = []
  const disk = faults()
  const onError = ({ message }: Error) => void errors.push(message)
  const { path, storage, idle } = await opened({ onError }, disk.before)
  await insert(storage, 'a', 'b')
  disk.fail('rename document', 'EBUSY')
  idle()
  await until(() => errors.length > 0)
  assert.deepEqual(errors, [
    `${path} could not be compacted: EBUSY: planted by a test; the journal keeps all animals`,
  ])
  await insert(storage, 'c')
  assert.deepEqual(await stored(path), ['a', 'b', 'c'])
  disk.work()
  idle()
  await until(() => beside(path).length < 2)
  assert.deepEqual(await stored(path), ['a', 'b', 'c'])
  await storage.close()
  assert.deepEqual(beside(path), [])
})

test('json file - without onError, a background failure is a process warning', async t => {
  const warnings: string[] = []
  const { emitWarning } = process
  t.after(() => Object.assign(process, { emitWarning }))
  Object.assign(process, { emitWarning: (warning: Error) => warnings.push(warning.message) })
  const disk = faults()
  const { storage, idle } = await opened({}, disk.before)
  await insert(storage, 'a')
  disk.fail('rename document', 'EBUSY')
  idle()
  await until(() => warnings.length > 0)
  disk.work()
  await storage.close()
  assert.match(warnings[0] as string, /could not be compacted/)
})

function opened(options: JsonFileOptions = {}, before?: Parameters<typeof openWatched>[2]) {
  return openWatched(folder(), options, before)
}

async function insert(storage: PetStorage, ...names: readonly string[]): Promise<void> {
  for (const name of names) await storage.insert({ ...REX, name })
}

/** The files beside the document and its lock. */
function beside(path: string): string[] {
  const names = fs.readdirSync(join(path, '..'))
  return names.filter(name => !['pets.json', 'pets.json.lock'].includes(name))
}
