import { scenarioOf } from './generate.js'
import { watchMemory } from './memory.js'
import { hashOf } from './random.js'
import type { Scenario } from './scenario.js'
import { type Outcome, runWorld } from './world.js'

export interface Failure {
  readonly scenario: Scenario
  readonly outcome: Outcome
  /** The options that repeat the run, where this world alone does not fail: what is left is that of all worlds. */
  readonly again?: string
}

/**
 * Runs one world after the other until that many events have happened, or one fails. The digest is the same for
 * the same seed and steps, on every version of Node.
 */
export async function simulate(seed: number, least: number) {
  const memory = watchMemory()
  const counts: Record<string, number> = {}
  let [steps, worlds, digest] = [0, 0, 0]
  let failure: Failure | undefined
  while (!failure && steps < least) {
    const scenario = scenarioOf(`${seed}/${worlds}`)
    const outcome = await runWorld(scenario)
    const left = outcome.violation ? undefined : await memory.ended(outcome.rest)
    const violation = outcome.violation ?? left
    worlds++
    steps += outcome.steps
    digest = hashOf(`${digest} ${outcome.digest}`)
    for (const [what, count] of Object.entries(outcome.counts)) {
      counts[what] = (counts[what] ?? 0) + count
    }
    if (violation) {
      failure = { scenario, outcome: { ...outcome, violation } }
      if (left) failure = { ...failure, again: `--seed ${seed} --steps ${steps}` }
    }
  }
  return { steps, worlds, digest: digest.toString(16).padStart(8, '0'), counts, failure }
}
