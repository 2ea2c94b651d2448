import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Disk, NODE_DISK } from '../../adapters/json-file/disk.js'
import { jsonFileStorage } from '../../adapters/json-file/index.js'
import { never, REX, stored, temporaryFolders } from './json-files.js'

const folder = temporaryFolders()
const MiB = 1_048_576

test('json file - many large inserts at once are written in bounded batches', async () => {
  const { path, storage, writes } = await opened()
  const name = 'x'.repeat(900_000)
  const pets = await Promise.all(
    Array.from({ length: 12 }, (_, at) => storage.insert({ name: `${at}${name}`, categoryId: at })),
  )
  assert.deepEqual(
    pets.map(({ id }) => id),
    Array.from({ length: 12 }, (_, at) => at + 1),
  )
  assert.ok(writes.length >= 12)
  assert.ok(Math.max(...writes.map(({ length }) => length)) < 2 * MiB)
  assert.equal((await stored(path)).length, 12)
  await storage.close()
})

test('json file - only small batches are written synchronously, so that reads do not wait for large ones', async () => {
  const { storage, writes } = await opened()
  await storage.insert(REX)
  await storage.insert({ ...REX, name: 'x'.repeat(100_000) })
  await Promise.all(Array.from({ length: 2_000 }, () => storage.insert(REX)))
  assert.deepEqual(
    writes.map(({ call, length }) => [call, length < 65_536]),
    [
      ['writeSync', true],
      ['write', false],
      ['write', false],
    ],
  )
  await storage.close()
})

test('json file - a document is read and written in bounded pieces', async () => {
  const { path, storage } = await opened()
  const pets = Array.from({ length: 8 }, (_, at) => ({
    id: at + 1,
    ...REX,
    name: 'x'.repeat(500_000),
  }))
  await storage.restore({ pets, nextId: 9 })
  await storage.close()
  const pieces: number[] = []
  const disk: Disk = {
    ...NODE_DISK,
    read(file, bytes, offset, length, position) {
      pieces.push(length)
      return NODE_DISK.read(file, bytes, offset, length, position)
    },
    write(file, bytes, offset, length, position) {
      pieces.push(length)
      return NODE_DISK.write(file, bytes, offset, length, position)
    },
    readFile(path) {
      assert.doesNotMatch(path, /pets\.json/)
      return NODE_DISK.readFile(path)
    },
  }
  const again = await jsonFileStorage(path, { whenIdle: never, disk })
  await again.insert(REX)
  await again.close()
  assert.ok(pieces.length > 16)
  assert.ok(Math.max(...pieces) < MiB, `a piece of ${Math.max(...pieces)} bytes`)
})

test('json file - opening takes little more memory than the animals', () => {
  const path = join(folder(), 'pets.json')
  const count = 40_000
  const line = (id: number) => `{"id":${id},"name":"${'x'.repeat(400)} ${id}","categoryId":1}`
  const lines = Array.from({ length: count }, (_, at) => line(at + 1))
  fs.writeFileSync(path, `{"pets":[\n${lines.join(',\n')}\n],"nextId":${count + 1}}\n`)
  const module = new URL('../../adapters/json-file/index.js', import.meta.url)
  const program = `
    const { jsonFileStorage } = await import('${module}')
    const { NODE_DISK } = await import('${new URL('disk.js', module)}')
    const used = () => {
      gc()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = used()
    let peak = 0
    let reads = 0
    const read = (...given) => {
      if (++reads % 8 === 0) peak = Math.max(peak, used())
      return NODE_DISK.read(...given)
    }
    const storage = await jsonFileStorage(${JSON.stringify(path)}, { disk: { ...NODE_DISK, read } })
    console.log((peak - before) / (used() - before), reads)
    await storage.close()
  `
  const node = ['--expose-gc', '--input-type=module', '--eval', program]
  const { stdout, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8' })
  assert.equal(stderr, '')
  const [share, reads] = stdout.split(' ').map(Number) as [number, number]
  assert.ok(reads >= 60 && share > 0.8 && share < 1.5, stdout)
})

/** `writes` are those since the opening. */
async function opened() {
  const path = join(folder(), 'pets.json')
  const writes: { call: string; length: number }[] = []
  const disk: Disk = {
    ...NODE_DISK,
    write(file, bytes, offset, length, position) {
      writes.push({ call: 'write', length })
      return NODE_DISK.write(file, bytes, offset, length, position)
    },
    writeSync(file, bytes, offset, length, position) {
      writes.push({ call: 'writeSync', length })
      return NODE_DISK.writeSync(file, bytes, offset, length, position)
    },
  }
  const storage = await jsonFileStorage(path, { whenIdle: never, disk })
  writes.splice(0)
  return { path, storage, writes }
}
