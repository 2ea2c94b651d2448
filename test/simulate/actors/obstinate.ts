import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker } from './rule-breaker.js'

const PAUSE = 2_000
const MOST_ATTEMPTS = 10
/** This many refusals in a row are more than a test of error handling. */
const HAMMERING = 5

/** Sends a request that is wrong again and again, as it is. */
export function obstinate(context: ActorContext): Actor {
  return ruleBreaker(context, async client => {
    let refusals = 0
    for (let attempts = 0; attempts < MOST_ATTEMPTS && refusals < HAMMERING; attempts++) {
      const { status, wait } = await client.send(['/pets?limit=0'])
      if (wait > 60_000) return false
      if (status === 400) refusals++
      await client.pause(Math.max(PAUSE, wait))
    }
    return refusals === HAMMERING
  })
}
