import fs from 'node:fs'
import { jsonFileStorage } from '../../adapters/json-file/index.js'
import { watchedDisk } from '../json-file/disk-faults.js'

/**
 * Run by a test: inserts three pets, then compacts, and kills itself before the nth call to the disk of
 * the compaction, whose name it prints.
 */
const [, , path, dieAt] = process.argv
if (path !== undefined) {
  let left = Number.POSITIVE_INFINITY
  const disk = watchedDisk(call => {
    if (--left > 0) return
    fs.writeSync(1, call)
    process.kill(process.pid, 'SIGKILL')
  })
  const storage = await jsonFileStorage(path, { disk })
  for (const name of ['a', 'b', 'c']) await storage.insert({ name, categoryId: 1 })
  left = Number(dieAt)
  await storage.close()
}
