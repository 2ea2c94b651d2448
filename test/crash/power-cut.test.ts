import assert from 'node:assert/strict'
import test from 'node:test'
import { simulate } from './simulate.js'

test('json file - thousands of possible power cuts lose nothing acknowledged, and every file opens', async () => {
  await survive(false)
})

test('json file - inserts that are repeated with their key after a power cut are stored once', async () => {
  await survive(true)
})

async function survive(retries: boolean): Promise<void> {
  const totals = { states: 0, acknowledged: 0, lost: 0, doubled: 0, missing: 0, refused: 0 }
  for (let seed = 1; seed <= 10; seed++) {
    const { problems, ...counts } = await simulate(seed, 64, retries)
    assert.deepEqual(problems, [], `seed ${seed}`)
    for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += counts[name]
  }
  const { states, acknowledged, ...failures } = totals
  assert.deepEqual(failures, { lost: 0, doubled: 0, missing: 0, refused: 0 })
  assert.ok(states > 2_000 && acknowledged > 10_000, `${states} states, ${acknowledged} inserts`)
}
