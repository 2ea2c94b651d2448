import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFileEngine } from './file-engine.js'
import { watchMemory } from './memory.js'
import { QUIET } from './network.js'
import type { PlannedEvent, Scenario } from './scenario.js'
import { runWorld } from './world.js'

const SECOND = 1_000

test('memory - a server that lives long keeps the keys that are in use, and not all there were', async () => {
  const limits = { perMinute: 1_000, perDay: 100_000, banAfter: 10 }
  const begin = Date.UTC(2030, 0, 1, 23, 30)
  const actor = {
    name: 'client 1',
    kind: 'our client with keys',
    limits,
    skew: 0,
    address: 'local',
    keys: 1,
  }
  const events = Array.from({ length: 1_300 }, (_, at): PlannedEvent => {
    const pet = { name: `${at}`, categoryId: '1', status: null }
    return { at: at * SECOND, kind: 'call', actor: 'client 1', call: { do: 'create', pet } }
  })
  const scenario: Scenario = {
    seed: 'long',
    events,
    setting: {
      ...{ begin, actors: [actor], weather: QUIET, anonymous: limits, idempotencyMs: 90 * SECOND },
      ...{
        pagination: false,
        defaultStatus: null,
        cors: false,
        keepsLimits: false,
        door: 'handle',
      },
    },
  }
  const { violation, counts } = await runWorld(scenario, createFileEngine)
  assert.equal(violation, undefined)
  assert.equal(counts['create'], 1_300)
})

test('memory - a finished world that something still refers to is reported', async () => {
  const memory = watchMemory()
  const kept = {}
  const worlds = Array.from({ length: 26 }, (_, at) => new WeakRef(at === 7 ? kept : {}))
  const found = []
  for (const world of worlds) found.push(await memory.ended(world))
  assert.match(found.at(-1)?.message ?? '', /^1 finished worlds? (is|are) still in memory/)
  assert.deepEqual(found.slice(0, -1).filter(Boolean), [])
  assert.deepEqual(kept, {})
})
