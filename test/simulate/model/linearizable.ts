/** One operation of a history. It takes effect at one instant between its begin and its end. */
export interface Operation<Input, Output> {
  readonly input: Input
  readonly output: Output
  readonly begin: number
  readonly end: number
}

/** A store that does one operation at a time. States are compared as JSON. */
export interface SequentialModel<State, Input, Output> {
  readonly initial: State
  /** The state after an operation with this output; undefined if it cannot have it. */
  step(state: State, input: Input, output: Output): State | undefined
}

/**
 * Whether some order of the operations explains all outputs: the search of Wing and Gong with the memory
 * of Lowe, as in Porcupine. It takes exponential time in the number of operations that overlap, and is
 * what the faster `PetHistory` is compared with.
 */
export function isLinearizable<State, Input, Output>(
  { initial, step }: SequentialModel<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
): boolean {
  const failed = new Set<string>()
  return search(initial, new Set(operations.keys()))

  function search(state: State, left: ReadonlySet<number>): boolean {
    if (left.size === 0) return true
    const place = JSON.stringify([state, [...left]])
    if (failed.has(place)) return false
    const all = [...left].map(at => [at, operations[at] as Operation<Input, Output>] as const)
    // Nothing may come before an operation that ended before its begin.
    const firstEnd = Math.min(...all.map(([, { end }]) => end))
    for (const [at, { begin, input, output }] of all) {
      const next = begin <= firstEnd ? step(state, input, output) : undefined
      if (next === undefined) continue
      if (search(next, new Set([...left].filter(other => other !== at)))) return true
    }
    failed.add(place)
    return false
  }
}
