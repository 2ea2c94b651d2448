/**
 * `node durable/opening.mjs document|journal ANIMALS`: prints how long it took to open as many
 * animals, from a document or from the journal that a crash left, first thing in this process.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonFileStorage } from '../../../dist/adapters/json-file/index.js'
import { animals } from '../harness/workload.mjs'

const [left, size] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'opening-'))
const path = join(folder, 'animals.json')
const lines = animals(Number(size)).map(animal => JSON.stringify(animal))
if (left === 'journal') writeFileSync(`${path}.journal`, `${lines.join('\n')}\n`)
else writeFileSync(path, `{"pets":[\n${lines.join(',\n')}\n],"nextId":${lines.length + 1}}\n`)

const start = performance.now()
const storage = await jsonFileStorage(path)
const ms = performance.now() - start
if ((await storage.dump()).nextId !== Number(size) + 1) throw new Error('Some animals are missing')
await storage.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ ms }))
