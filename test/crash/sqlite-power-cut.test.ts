import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutSqlite } from '../sqlite/availability.js'
import { HAS_STRACE } from './driver.js'
import { cutPower } from './sqlite-power-cut.js'

test('sqlite - hundreds of possible power cuts lose nothing acknowledged, and every file opens', {
  skip: HAS_STRACE ? withoutSqlite : 'strace is not installed',
}, async () => {
  const { problems, states, acknowledged, ...failures } = await cutPower(1, 8)
  assert.deepEqual(problems, [])
  assert.deepEqual(failures, { lost: 0, doubled: 0, missing: 0, refused: 0 })
  assert.ok(states > 100 && acknowledged > 500, `${states} states, ${acknowledged} inserts`)
})
