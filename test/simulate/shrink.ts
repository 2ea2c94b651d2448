import type { Scenario } from './scenario.js'
import type { Failure } from './simulate.js'
import type { Outcome } from './world.js'

/**
 * Leaves out as many events as possible while the same invariant still fails: half of them at a time, then
 * a quarter, and so on down to single ones (delta debugging; Zeller and Hildebrandt 2002).
 *
 * @param isOver tells when to stop trying
 */
export async function shrink(
  failure: Failure,
  run: (scenario: Scenario) => Promise<Outcome>,
  isOver: () => boolean,
): Promise<Failure> {
  const invariant = failure.outcome.violation?.invariant
  let best = failure

  for (let size = best.scenario.events.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < best.scenario.events.length && !isOver(); ) {
      const { events } = best.scenario
      const scenario = { ...best.scenario, events: events.toSpliced(at, size) }
      const outcome = await run(scenario)
      if (failsLike(outcome)) best = { ...best, scenario, outcome }
      else at += size
    }
  }
  return best

  function failsLike({ violation, steps }: Outcome): boolean {
    return violation?.invariant === invariant && steps <= 2 * failure.outcome.steps
  }
}
