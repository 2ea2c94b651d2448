import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { basename, join } from 'node:path'
import test from 'node:test'
import {
  type Disk,
  JsonFileError,
  jsonFileStorage,
} from '../../../adapters/stores/json-file/index.js'
import { NODE_DISK } from '../../../adapters/stores/kit/disk.js'
import { openElsewhere, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const MODULE = new URL('../../../adapters/stores/json-file/index.js', import.meta.url)

test('json file - a path that is no regular file of its own is refused, and left as it is', async () => {
  await refuses(folder(), 'is a folder; name a file in it')
  const dangling = join(folder(), 'pets.json')
  fs.symlinkSync('missing.json', dangling)
  await refuses(dangling, 'is a symbolic link to a missing file; remove the link')
  const linked = given()
  fs.linkSync(linked, join(linked, '..', 'other.json'))
  await refuses(linked, 'has 2 hard links, of which only one could be updated; use a copy of it')
})

test('json file - a document that appears while it is opened is not taken for a symbolic link', async () => {
  const path = given()
  let isFirst = true
  const realpath: Disk['realpath'] = async asked => {
    if (!isFirst) return NODE_DISK.realpath(asked)
    isFirst = false
    throw Object.assign(new Error('It is missing'), { code: 'ENOENT' })
  }
  const storage = jsonFileStorage(path, { disk: { ...NODE_DISK, realpath } })
  await storage.ready()
  await storage.close()
})

test('json file - a pipe is refused', { timeout: 20_000 }, async t => {
  const path = join(folder(), 'pets.json')
  if (spawnSync('mkfifo', [path]).status !== 0) return t.skip('there is no mkfifo')
  await refuses(path, 'is not a regular file')
})

test('json file - a document that this process may not write is refused', t => {
  const path = given()
  fs.chmodSync(path, 0o444)
  fs.chmodSync(join(path, '..'), 0o777)
  fs.chmodSync(join(path, '..', '..'), 0o755)
  fs.chmodSync(join(path, '..', '..', '..'), 0o755)
  const outcome = openElsewhere(path, MODULE, 'jsonFileStorage')
  if (outcome === undefined) return t.skip('another user may not run these tests')
  assert.equal(outcome, `${path} must be readable and writable; change its permissions`)
})

test('json file - a real bind mount is refused', t => {
  const path = given()
  const outcome = openElsewhere(path, MODULE, 'jsonFileStorage', 'mount --bind "$1" "$1"')
  if (outcome === undefined) return t.skip('this user may not mount files')
  assert.match(outcome, /pets\.json is mounted by itself and cannot be replaced; mount its folder/)
})

/** Refused in one line, and without a trace. */
async function refuses(path: string, reason: string): Promise<void> {
  const before = fs.readdirSync(join(path, '..'))
  await assert.rejects(jsonFileStorage(path).ready(), error => {
    assert.ok(error instanceof JsonFileError)
    assert.equal(error.message, `${path} ${reason}`)
    return true
  })
  assert.deepEqual(fs.readdirSync(join(path, '..')), before)
  assert.ok(before.includes(basename(path)))
}

function given(): string {
  const path = join(folder(), 'pets.json')
  fs.writeFileSync(path, '{"pets":[]}')
  return path
}
