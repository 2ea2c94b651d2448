import { watchMemory } from './memory.js'
import { hashOf } from './random.js'
import type { Outcome } from './world.js'
import { type Plan, worldOf } from './worlds.js'

export interface SimulateOptions {
  readonly seed: number
  /** When enough events have happened, all worlds together. */
  readonly isEnough: (steps: number) => boolean
  /** The kinds of worlds, which take turns. */
  readonly kinds: readonly string[]
}

export interface Failure {
  readonly kind: string
  readonly plan: Plan
  readonly outcome: Outcome
  /** The options that repeat the run, where this world alone does not fail: what is left is that of all worlds. */
  readonly again?: string
}

/**
 * Runs one world after the other until there were enough events, or one fails. The digest is the same for
 * the same seed and steps, on every version of Node.
 */
export async function simulate({ seed, isEnough, kinds }: SimulateOptions) {
  const memory = watchMemory()
  const counts: Record<string, number> = {}
  let [steps, worlds, digest] = [0, 0, 0]
  let failure: Failure | undefined
  while (!failure && !isEnough(steps)) {
    const kind = kinds[worlds % kinds.length] as string
    const { plan, run } = worldOf(kind)
    const planned = plan(`${seed}/${worlds}`)
    const outcome = await run(planned)
    const left = outcome.violation ? undefined : await memory.ended(outcome.rest)
    const violation = outcome.violation ?? left
    worlds++
    steps += outcome.steps
    digest = hashOf(`${digest} ${outcome.digest}`)
    for (const [what, count] of Object.entries(outcome.counts)) {
      counts[what] = (counts[what] ?? 0) + count
    }
    if (violation) {
      failure = { kind, plan: planned, outcome: { ...outcome, violation } }
      const again = [`--seed ${seed} --steps ${steps}`, ...kinds.map(kind => `--world ${kind}`)]
      if (left) failure = { ...failure, again: again.join(' ') }
    }
  }
  return { steps, worlds, digest: digest.toString(16).padStart(8, '0'), counts, failure }
}
