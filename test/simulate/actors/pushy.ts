import type { Actor, ActorContext } from './actor.js'
import { ruleBreaker, untilRejected } from './rule-breaker.js'

const OTHERS = 3
const PAUSE = 500
const LEAST_WAIT = 30_000
/** With fewer, one of the others may be a ban. */
const LEAST_PATIENCE = 5

/** Goes on with other requests when one was rejected because nothing remains. */
export function pushy(context: ActorContext): Actor {
  return ruleBreaker(context, async client => {
    const { wait } = await untilRejected(client)
    const isSafe = context.setting.limits.banAfter >= LEAST_PATIENCE
    if (!isSafe || wait < LEAST_WAIT) return false
    let answers = 0
    for (let others = 0; others < OTHERS; others++) {
      await client.pause(PAUSE)
      const { status, code } = await client.send(client.next())
      if (code === 'api_key_banned') return false
      if (status !== undefined) answers++
    }
    return answers >= 2
  })
}
