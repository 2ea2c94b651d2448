import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutSqlite } from '../stores/sqlite/availability.js'
import { HAS_STRACE } from './driver.js'
import { type PowerCutCounts, simulate } from './simulate.js'
import { cutPower } from './sqlite-power-cut.js'

test('json file - thousands of possible power cuts lose nothing acknowledged, and every file opens', async () => {
  await survive(10, seed => simulate(seed, 64), 2_000, 10_000)
})

test('json file - inserts that are repeated with their key after a power cut are stored once', async () => {
  await survive(10, seed => simulate(seed, 64, true), 2_000, 10_000)
})

test('sqlite - hundreds of possible power cuts lose nothing acknowledged, and every file opens', {
  skip: HAS_STRACE ? withoutSqlite : 'strace is not installed',
}, async () => {
  await survive(1, seed => cutPower(seed, 8), 100, 500)
})

for (const failingSync of [11, 13, 15, 17, 19]) {
  test(`sqlite - with counts in the same file, sync ${failingSync} fails and loses nothing that is acknowledged`, {
    skip: HAS_STRACE ? withoutSqlite : 'strace is not installed',
  }, async () => {
    await survive(1, seed => cutPower(seed, 4, failingSync), 50, 100)
  })
}

async function survive(
  rounds: number,
  run: (seed: number) => Promise<PowerCutCounts>,
  leastStates: number,
  leastInserts: number,
): Promise<void> {
  let [states, acknowledged] = [0, 0]
  for (let seed = 1; seed <= rounds; seed++) {
    const { problems, ...counts } = await run(seed)
    assert.deepEqual(problems, [], `seed ${seed}`)
    const { lost, doubled, missing, refused } = counts
    assert.deepEqual([lost, doubled, missing, refused], [0, 0, 0, 0], `seed ${seed}`)
    states += counts.states
    acknowledged += counts.acknowledged
  }
  assert.ok(
    states > leastStates && acknowledged > leastInserts,
    `${states} states, ${acknowledged} inserts`,
  )
}
