import './node-timers.js'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scenarioOf } from './generate.js'
import type { PlannedEvent } from './scenario.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'
import { Violation } from './violation.js'
import { runWorld } from './world.js'

test('simulate - 5,000 events of a seed break no invariant', async () => {
  const { failure, steps } = await simulate(9, 5_000)
  assert.equal(failure?.outcome.violation, undefined)
  assert.ok(steps >= 5_000)
})

test('simulate - the same seed has the same trace, another seed another one', async () => {
  const [one, again, other] = [
    await simulate(5, 1_500),
    await simulate(5, 1_500),
    await simulate(10, 1_500),
  ]
  assert.deepEqual(one, again)
  assert.notEqual(one.digest, other.digest)
})

test('simulate - a scenario is plain data, and repeats its world after a round trip through a file', async () => {
  const scenario = scenarioOf('9/4')
  const repeated = JSON.parse(JSON.stringify(scenario))
  assert.deepEqual(repeated, scenario)
  assert.equal((await runWorld(repeated)).digest, (await runWorld(scenario)).digest)
})

test('simulate - a failure is shrunk to the events that it needs', async () => {
  const events = Array.from({ length: 100 }, (_, at): PlannedEvent => ({ at, kind: 'restart' }))
  const outcomeOf = (left: readonly PlannedEvent[]) => {
    const has = (at: number) => left.some(event => event.at === at)
    const violation = has(17) && has(58) ? new Violation('animals.kept', 'lost') : undefined
    const empty = { digest: '', counts: {}, trace: [], rest: new WeakRef({}) }
    return { ...empty, steps: left.length, violation }
  }
  const failure = { scenario: { ...scenarioOf('1/1'), events }, outcome: outcomeOf(events) }
  const { scenario } = await shrink(
    failure,
    async one => outcomeOf(one.events),
    () => false,
  )
  const left = scenario.events.map(({ at }) => at)
  assert.deepEqual(left, [17, 58])
})
