import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutSqlite } from '../stores/sqlite/availability.js'
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
