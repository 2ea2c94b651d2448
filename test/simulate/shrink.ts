import type { Failure } from './simulate.js'
import type { Outcome } from './world.js'
import type { Plan } from './worlds.js'

/**
 * Leaves out as many events as possible while the same invariant still fails: half of them at a time, then
 * a quarter, and so on down to single ones (delta debugging; Zeller and Hildebrandt 2002).
 *
 * @param isOver tells when to stop trying
 */
export async function shrink(
  failure: Failure,
  run: (plan: Plan) => Promise<Outcome>,
  isOver: () => boolean,
): Promise<Failure> {
  const invariant = failure.outcome.violation?.invariant
  let best = failure

  for (let size = best.plan.events.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < best.plan.events.length && !isOver(); ) {
      const { plan } = best
      const events = [...plan.events.slice(0, at), ...plan.events.slice(at + size)]
      const outcome = await run({ ...plan, events })
      if (failsLike(outcome)) best = { ...best, plan: { ...plan, events }, outcome }
      else at += size
    }
  }
  return best

  function failsLike({ violation, steps }: Outcome): boolean {
    return violation?.invariant === invariant && steps <= 2 * failure.outcome.steps
  }
}
