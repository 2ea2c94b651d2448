import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fleet, type Outcome, runFleet } from './fleet.js'

const SEEDS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? [1, 2, 3] : [1]

/** Each with what its time may be, as a multiple of the shortest possible. */
const FLEETS: readonly (readonly [
  fleet: Pick<Fleet, 'plan' | 'clients' | 'jobs'>,
  atMost: number,
  rejections: number,
])[] = [
  [{ plan: 'free', clients: 2, jobs: 150 }, 1.15, 10],
  [{ plan: 'free', clients: 10, jobs: 30 }, 1.3, 45],
  [{ plan: 'free', clients: 30, jobs: 10 }, 1.3, 130],
  [{ plan: 'pro', clients: 10, jobs: 120 }, 1.3, 130],
]

for (const [fleet, atMost, rejections] of FLEETS) {
  const { plan, clients, jobs } = fleet
  test(`fleet - ${clients} clients with ${jobs} jobs each share a ${plan} key`, async () => {
    for (const seed of SEEDS) {
      const outcome = await runFleet({ ...fleet, seed })
      const { done, rejected, seconds, optimum } = outcome
      assert.equal(done, clients * jobs)
      assertNoBan(outcome)
      assert.ok(rejected <= rejections, text(outcome))
      assert.ok(seconds <= atMost * optimum, text(outcome))
    }
  })
}

test('fleet - clients that join later get their share within a few windows', async () => {
  const fleet = { plan: 'free', clients: 30, jobs: 10, joinMs: 150_000 } as const
  for (const seed of SEEDS) {
    const outcome = await runFleet({ ...fleet, seed })
    assert.equal(outcome.done, 300)
    assertNoBan(outcome)
    assert.ok(outcome.seconds <= outcome.optimum + 120, text(outcome))
  }
})

test('fleet - where a caller that never waits gets the key banned, waitForBan completes every job', async () => {
  const options = { waitForBan: true }
  const neighbourMs = 800
  const fleet = { plan: 'free', clients: 3, jobs: 30, seed: 1, neighbourMs, options } as const
  const outcome = await runFleet(fleet)
  assert.ok(outcome.bans > 0)
  assert.equal(outcome.done, 90)
  // Each client learns of each ban from one response.
  assert.ok(outcome.banned <= 3 * outcome.bans, text(outcome))
})

function assertNoBan(outcome: Outcome): void {
  assert.deepEqual([outcome.bans, outcome.banned], [0, 0], text(outcome))
}

function text(outcome: Outcome): string {
  return JSON.stringify(outcome)
}
