import type { Violation } from './violation.js'

/** What became of a world. */
export interface Outcome {
  /** How many events happened. */
  readonly steps: number
  readonly digest: string
  /** How often what happened, to see that something did. */
  readonly counts: Readonly<Record<string, number>>
  /** The first invariant that did not hold. */
  readonly violation: Violation | undefined
  /** Everything in this world refers to it, so it is collected when nothing is left of the world. */
  readonly rest: WeakRef<object>
  /** The last lines of the trace. */
  readonly trace: readonly string[]
}
