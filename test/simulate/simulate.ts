import { watchMemory } from './memory.js'
import type { Outcome } from './outcome.js'
import { hashOf } from './random.js'
import { type Plan, worldOf } from './worlds.js'

export interface SimulateOptions {
  readonly seed: number
  /** When enough events have happened, all worlds together. */
  readonly isEnough: (steps: number) => boolean
  /** The kinds of worlds, which take turns. */
  readonly kinds: readonly string[]
  /** Called after each world. */
  readonly onWorld?: (name: string, outcome: Outcome) => void
}

export interface Result {
  readonly steps: number
  readonly worlds: number
  /** The same for the same seed and steps, on every version of Node. */
  readonly digest: string
  readonly counts: Readonly<Record<string, number>>
  readonly failure: Failure | undefined
}

export interface Failure {
  readonly kind: string
  readonly plan: Plan
  readonly outcome: Outcome
}

/** Runs one world after the other until there were enough events, or one fails. */
export async function simulate(options: SimulateOptions): Promise<Result> {
  const { seed, isEnough, kinds, onWorld } = options
  const counts: Record<string, number> = {}
  let [steps, worlds, digest] = [0, 0, 0]
  let failure: Failure | undefined
  const memory = watchMemory()
  while (!failure && !isEnough(steps)) {
    const kind = kinds[worlds % kinds.length] as string
    const { plan, run } = worldOf(kind)
    const planned = plan(`${seed}/${worlds}`)
    const outcome = await run(planned)
    const violation = outcome.violation ?? (await memory.ended(outcome.rest))
    worlds++
    steps += outcome.steps
    digest = hashOf(`${digest} ${outcome.digest}`)
    for (const [what, count] of Object.entries(outcome.counts)) {
      counts[what] = (counts[what] ?? 0) + count
    }
    if (violation) failure = { kind, plan: planned, outcome: { ...outcome, violation } }
    onWorld?.(`${kind} ${planned.seed}`, outcome)
  }
  return { steps, worlds, digest: digest.toString(16).padStart(8, '0'), counts, failure }
}
