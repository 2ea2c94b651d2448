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

test('simulate - a scenario repeats its world after a round trip through a file, another seed has another one', async () => {
  const scenario = scenarioOf('5/1')
  const repeated = JSON.parse(JSON.stringify(scenarioOf('5/1')))
  assert.deepEqual(repeated, scenario)
  const { digest } = await runWorld(scenario)
  assert.equal((await runWorld(repeated)).digest, digest)
  assert.notEqual((await runWorld(scenarioOf('10/1'))).digest, digest)
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
