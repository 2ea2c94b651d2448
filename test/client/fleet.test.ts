import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fleet, type Outcome, runFleet } from './fleet.js'

const SEEDS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? [1, 2, 3] : [1]

/** Each with what its time may be, as a multiple of the shortest possible. */
const FLEETS: readonly (readonly [Pick<Fleet, 'plan' | 'clients' | 'jobs'>, atMost: number])[] = [
  [{ plan: 'free', clients: 1, jobs: 300 }, 1.01],
  [{ plan: 'free', clients: 2, jobs: 150 }, 1.15],
  [{ plan: 'free', clients: 10, jobs: 30 }, 1.15],
  [{ plan: 'free', clients: 20, jobs: 15 }, 1.15],
  [{ plan: 'free', clients: 30, jobs: 10 }, 1.15],
  [{ plan: 'free', clients: 50, jobs: 6 }, 1.5],
  [{ plan: 'pro', clients: 10, jobs: 300 }, 1.15],
]

for (const [fleet, atMost] of FLEETS) {
  const { plan, clients, jobs } = fleet
  test(`fleet - ${clients} clients with ${jobs} jobs each share a ${plan} key`, async () => {
    for (const seed of SEEDS) {
      const outcome = await runFleet({ ...fleet, seed })
      const { done, rejected, seconds, optimum } = outcome
      assert.equal(done, clients * jobs)
      assertNoBan(outcome)
      assert.ok(rejected <= 0.1 * clients * jobs, text(outcome))
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

test('fleet - more clients than units are banned once, before they know of each other', async () => {
  const options = { waitForBan: true }
  const outcome = await runFleet({ plan: 'free', clients: 75, jobs: 4, seed: 1, options })
  assert.deepEqual([outcome.done, outcome.bans], [300, 1], text(outcome))
})

test('fleet - a caller that never waits keeps its share: nothing is sent into a ban', async () => {
  const fleet = { plan: 'free', clients: 1, jobs: 100, neighbourMs: 1_000 } as const
  for (const seed of SEEDS) {
    const outcome = await runFleet({ ...fleet, seed, options: { maxConcurrent: 10 } })
    assert.equal(outcome.done, 100)
    assertNoBan(outcome)
  }
})

test('fleet - where such a caller gets the key banned, waitForBan completes every job', async () => {
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
