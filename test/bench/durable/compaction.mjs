/**
 * `node durable/compaction.mjs ANIMALS`: prints the 99th percentile of inserts in ms, one caller,
 * without a compaction and while compactions run, and how long a compaction took.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NODE_DISK } from '../../../dist/adapters/json-file/disk.js'
import { jsonFileStorage } from '../../../dist/adapters/json-file/index.js'
import { animals, NEW_ANIMAL } from '../harness/workload.mjs'

const size = Number(process.argv[2])
const folder = mkdtempSync(join(tmpdir(), 'compaction-'))
const path = join(folder, 'animals.json')
let compact = () => {}
let isCompacting = false
const whenIdle = task => {
  compact = task
  return () => {}
}
const storage = await jsonFileStorage(path, { whenIdle, disk: watched(NODE_DISK) })
await storage.restore({ pets: animals(size), nextId: size + 1 })

const alone = await insertWhile(count => count < 2_000)
// Enough for a compaction when idle: an eighth of the document.
await insertMany(Math.ceil(size / 7))
const start = performance.now()
compact()
while (!isCompacting) await storage.insert(NEW_ANIMAL)
const during = await insertWhile(() => isCompacting)
const compaction = performance.now() - start
await storage.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ alone: p99(alone), during: p99(during), compaction }))

async function insertWhile(goesOn) {
  const times = []
  while (goesOn(times.length)) {
    const before = performance.now()
    await storage.insert(NEW_ANIMAL)
    times.push(performance.now() - before)
  }
  return times
}

async function insertMany(count) {
  for (let done = 0; done < count; done += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, () => storage.insert(NEW_ANIMAL)))
  }
}

/** Knows from its calls to the disk when the storage compacts. */
function watched(disk) {
  return {
    ...disk,
    open(path, flags, mode) {
      if (path.endsWith('/document')) isCompacting = true
      return disk.open(path, flags, mode)
    },
    async unlink(path) {
      await disk.unlink(path)
      if (path.endsWith('/removed')) isCompacting = false
    },
  }
}

function p99(times) {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)]
}
