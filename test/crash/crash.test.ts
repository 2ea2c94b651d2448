import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { jsonFileStorage } from '../../adapters/json-file/index.js'
import { withoutSqlite } from '../sqlite/availability.js'
import { crash, LARGE_NAMES, RETRIES, SMALL_NAMES, SQLITE_FILE, type Workload } from './driver.js'

const KEPT: Record<string, readonly [Workload, kills: number, seed: number, least: number]> = {
  'acknowledged animals survive': [SMALL_NAMES, 20, 20, 100],
  'creates that are retried with their key are stored exactly once over': [RETRIES, 20, 3, 100],
  'a SQLite file keeps acknowledged animals, once each, over': [SQLITE_FILE, 20, 5, 100],
  'names of 900 KB, with a compaction after every second commit, survive': [LARGE_NAMES, 4, 7, 5],
}

for (const [what, [workload, kills, seed, least]] of Object.entries(KEPT)) {
  const skip = workload === SQLITE_FILE && withoutSqlite
  test(`crash - ${what} ${kills} kills`, { skip }, async () => {
    const { acknowledged, ...counts } = await crash(kills, seed, workload)
    assert.deepEqual(counts, { states: kills, lost: 0, doubled: 0, missing: 0, refused: 0 })
    assert.ok(acknowledged > least, `only ${acknowledged} were acknowledged`)
  })
}

test('crash - a compaction can be killed at each of its steps', async () => {
  const script = fileURLToPath(new URL('compaction.js', import.meta.url))
  const steps: string[] = []
  for (let step = 1; ; step++) {
    const parent = fs.mkdtempSync(join(tmpdir(), 'crash-compaction-'))
    const folder = join(parent, 'data')
    fs.mkdirSync(folder)
    const path = join(folder, 'pets.json')
    const { signal, status, stdout } = spawnSync(process.execPath, [script, path, String(step)])
    if (signal === null) {
      assert.equal(status, 0)
      fs.rmSync(parent, { recursive: true })
      break
    }
    steps.push(String(stdout).replace(/^existsSync .*/, 'existsSync'))

    const storage = await jsonFileStorage(path)
    const { pets } = await storage.dump()
    assert.deepEqual(
      pets.map(pet => `${pet.id} ${pet.name}`),
      ['1 a', '2 b', '3 c'],
      steps.at(-1),
    )
    assert.equal((await storage.insert({ name: 'd', categoryId: 1 })).id, 4)
    await storage.close()
    assert.deepEqual(fs.readdirSync(folder), ['pets.json'])
    fs.rmSync(parent, { recursive: true })
  }
  const write = ['open document', 'write', 'fsync', 'close', 'rename document', 'open data']
  for (const step of [...write, 'rename pets.json.journal', 'unlink removed']) {
    assert.ok(steps.includes(step), step)
  }
})
