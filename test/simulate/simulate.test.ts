import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutSqlite } from '../stores/sqlite/availability.js'
import { shrink } from './shrink.js'
import { type Failure, simulate } from './simulate.js'
import { Violation } from './violation.js'
import { worldOf } from './worlds.js'

test('simulate - 8,000 events of a seed break no invariant', async () => {
  const { failure, steps } = await simulate({
    seed: 9,
    kinds: ['file', 'double'],
    isEnough: steps => steps >= 8_000,
  })
  assert.equal(failure?.outcome.violation, undefined)
  assert.ok(steps >= 8_000)
})

test('simulate - the same seed has the same trace, another seed another one', async () => {
  const run = (seed: number) =>
    simulate({ seed, kinds: ['file', 'double'], isEnough: steps => steps >= 1_500 })
  const [one, again, other] = [await run(5), await run(5), await run(10)]
  assert.deepEqual(one, again)
  assert.notEqual(one.digest, other.digest)
})

test('simulate - 12,000 events with SQLite break no invariant, and have one trace', {
  skip: withoutSqlite,
}, async () => {
  const run = () => simulate({ seed: 1, kinds: ['sqlite'], isEnough: steps => steps > 12_000 })
  const { failure, digest } = await run()
  assert.equal(failure?.outcome.violation, undefined)
  assert.equal((await run()).digest, digest)
})

test('simulate - a plan is plain data, and repeats its world after a round trip through a file', async () => {
  const { plan, run } = worldOf('file')
  const planned = plan('9/4')
  const repeated = JSON.parse(JSON.stringify(planned))
  assert.deepEqual(repeated, planned)
  assert.equal((await run(repeated)).digest, (await run(planned)).digest)
})

test('simulate - a failure is shrunk to the events that it needs', async () => {
  const events = Array.from({ length: 100 }, (_, at) => ({ at }))
  const outcomeOf = (left: readonly unknown[]) => {
    const has = (at: number) => left.some(event => (event as { at: number }).at === at)
    const violation = has(17) && has(58) ? new Violation('animals.kept', 'lost') : undefined
    return {
      steps: left.length,
      digest: '',
      counts: {},
      trace: [],
      violation,
      rest: new WeakRef({}),
    }
  }
  const failure: Failure = {
    kind: 'file',
    plan: { seed: '1/1', events },
    outcome: outcomeOf(events),
  }
  const run = async (plan: Failure['plan']) => outcomeOf(plan.events)
  const { plan } = await shrink(failure, run, () => false)
  assert.deepEqual(plan.events, [{ at: 17 }, { at: 58 }])
})
