import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker } from './rule-breaker.js'

const PAUSE = 50
const MOST_ATTEMPTS = 10
/** Three equal pauses may be chance. */
const FEWEST_ATTEMPTS = 5

/** Repeats what failed at one pace. */
export function metronome(context: ActorContext): Actor {
  return ruleBreaker(context, async client => {
    const request = client.next()
    for (let attempts = 1; ; attempts++) {
      const { status, isLate } = await client.send(request)
      // How long it waits for a response is no pause.
      if (isLate) return false
      const hasFailed = status === undefined || status >= 500
      if (!hasFailed) return attempts >= FEWEST_ATTEMPTS
      if (attempts === MOST_ATTEMPTS) return true
      await client.pause(PAUSE)
    }
  })
}
