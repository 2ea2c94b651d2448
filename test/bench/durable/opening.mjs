/**
 * `node durable/opening.mjs document|journal ANIMALS`: prints how many ms, and how many of CPU
 * time, it took to open as many animals, from a document or from the journal left by a crash, first
 * thing in this process.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeBatch } from '../../../dist/adapters/json-file/batch.js'
import { jsonFileStorage } from '../../../dist/adapters/json-file/index.js'
import { animals } from '../harness/workload.mjs'

const [left, size] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'opening-'))
const path = join(folder, 'animals.json')
const lines = animals(Number(size)).map(animal => JSON.stringify(animal))
if (left === 'journal') writeFileSync(`${path}.journal`, journalOf(lines))
else writeFileSync(path, `{"pets":[\n${lines.join(',\n')}\n],"nextId":${lines.length + 1}}\n`)

const cpu = process.cpuUsage()
const start = performance.now()
const storage = await jsonFileStorage(path)
const ms = performance.now() - start
const { user, system } = process.cpuUsage(cpu)
if ((await storage.dump()).nextId !== Number(size) + 1) throw new Error('Some animals are missing')
await storage.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000 }))

/** As 64 callers leave it. */
function journalOf(lines) {
  const batches = []
  for (let at = 0; at < lines.length; at += 64) {
    batches.push(encodeBatch(`${lines.slice(at, at + 64).join('\n')}\n`))
  }
  return Buffer.concat(batches)
}
