/**
 * `node durable/opening.mjs document|journal|sqlite ANIMALS`: prints how many ms, and how many of
 * CPU time, it took to open as many animals in a new process, from a document, from the journal left
 * by a crash, or from a SQLite file whose driver is loaded, and the memory of the process afterwards.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeBatch } from '../../../dist/adapters/json-file/batch.js'
import { jsonFileStorage } from '../../../dist/adapters/json-file/index.js'
import { loadDriver } from '../../../dist/adapters/sqlite/driver.js'
import { sqliteStorage } from '../../../dist/adapters/sqlite/index.js'
import { result } from '../harness/children.mjs'
import { animals } from '../harness/workload.mjs'

const [left, size, filled] = process.argv.slice(2)
const openStorage = left === 'sqlite' ? sqliteStorage : jsonFileStorage

if (filled) console.log(JSON.stringify(await open(filled)))
else {
  const folder = mkdtempSync(join(tmpdir(), 'opening-'))
  const path = join(folder, 'animals.json')
  await fill(path)
  console.log(JSON.stringify(await result(['durable/opening.mjs', left, size, path])))
  rmSync(folder, { recursive: true })
}

async function fill(path) {
  if (left === 'sqlite') {
    const storage = await sqliteStorage(path)
    await storage.restore({ pets: animals(Number(size)), nextId: Number(size) + 1 })
    return storage.close()
  }
  const lines = animals(Number(size)).map(animal => JSON.stringify(animal))
  if (left === 'journal') writeFileSync(`${path}.journal`, journalOf(lines))
  else writeFileSync(path, `{"pets":[\n${lines.join(',\n')}\n],"nextId":${lines.length + 1}}\n`)
}

async function open(path) {
  // Loaded beforehand, as the JSON parser is part of Node.
  if (left === 'sqlite') (await loadDriver('SQLite'))(':memory:').close()
  const cpu = process.cpuUsage()
  const start = performance.now()
  const storage = await openStorage(path)
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const mib = process.memoryUsage.rss() / 2 ** 20
  if ((await storage.find(Number(size))) === undefined) throw new Error('Some animals are missing')
  await storage.close()
  return { ms, cpuMs: (user + system) / 1000, mib }
}

/** As 64 callers leave it. */
function journalOf(lines) {
  const batches = []
  for (let at = 0; at < lines.length; at += 64) {
    batches.push(encodeBatch(`${lines.slice(at, at + 64).join('\n')}\n`))
  }
  return Buffer.concat(batches)
}
